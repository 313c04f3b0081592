"""Patterns and methods that are kept from run to run are those that Python would make anew."""

from __future__ import annotations

import ast
import dataclasses
import marshal
import re
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn, cast

import pytest
from textual.app import App

from rocdoctor.cli.commands import tui
from rocdoctor.cli.terminal import Terminal
from rocdoctor.host.masking.name_lists import any_of
from rocdoctor.host.masking.rules import load_tables
from rocdoctor.knowledge import kept_code
from rocdoctor.knowledge.kept_code import KeptCode, keep_used, use_kept_code, use_more_kept_code
from rocdoctor.model import lazy_re
from tests.kit import ROOT


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where code is kept in these tests: beside a folder of tables of its own."""
    made = tmp_path / "tables"
    made.mkdir()
    monkeypatch.setattr(kept_code, "knowledge_folder", lambda: made)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    return made


def _file(folder: Path) -> Path:
    (path,) = (folder.parent / "__pycache__").iterdir()
    return path


def _ours() -> Iterator[str | bytes]:
    """The patterns of the parsers and of masking."""
    for room in ("parsers", "host/masking"):
        for path in sorted((ROOT / "rocdoctor" / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "regex":
                    word = node.args[0]
                    if isinstance(word, ast.Constant) and isinstance(word.value, str | bytes):
                        yield word.value
    masking = load_tables()
    yield from (one.expression for one in masking.secrets)
    yield from (one.expression for one in masking.places)


def test_kept_patterns_are_those_of_re(folder: Path) -> None:
    texts = list(dict.fromkeys(_ours()))
    assert len(texts) > 300
    first = KeptCode("check")
    made = {text: first.pattern(text, re.IGNORECASE) for text in texts}
    first.keep()
    again = KeptCode("check")
    again.pattern("(?P<a>x)(?P<b>y)?")
    for text, one in made.items():
        kept, real = again.pattern(text, re.IGNORECASE), re.compile(text, re.IGNORECASE)
        assert kept == one == real, text
        assert (kept.groups, kept.groupindex, kept.flags) == (real.groups, real.groupindex, real.flags)
    found = KeptCode("check").pattern("(?P<a>x)(?P<b>y)?").search("-xy")
    assert found is not None and found.groupdict() == {"a": "x", "b": "y"} and found.lastgroup == "b"


def test_a_record_with_kept_methods_is_a_record(folder: Path) -> None:
    def made() -> type:
        return dataclasses.make_dataclass("One", [("a", int), ("b", str, "x")], frozen=True, slots=True)

    end = use_kept_code("check")
    made()
    end()
    end = use_kept_code("check")
    kept = made()
    end()
    assert not hasattr(dataclasses, "exec")
    plain = made()
    assert repr(kept(1)) == repr(plain(1)) and kept(1) == kept(1, "x") != kept(2) and hash(kept(1)) == hash(plain(1))
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(kept(1), "a", 2)  # noqa: B010
    methods = KeptCode("check")._methods
    assert methods and KeptCode("other")._methods == {}


def test_a_command_that_never_comes_back_keeps_its_parts(folder: Path) -> None:
    use_more_kept_code("behind")  # no command uses any
    assert lazy_re.compilers == [re.compile]
    end = use_kept_code("tui")
    assert lazy_re.regex("first").search("first")
    use_more_kept_code("behind")
    use_more_kept_code("behind")
    assert lazy_re.regex("second").search("second")
    dataclasses.make_dataclass("One", [("a", int)])
    keep_used()
    assert [text for text, _ in KeptCode("tui")._patterns] == ["first"]
    behind = KeptCode("tui-behind")
    assert [text for text, _ in behind._patterns] == ["second"] and behind._methods
    end()
    assert lazy_re.compilers == [re.compile] and not hasattr(dataclasses, "exec")


def test_the_screens_keep_what_they_compiled_before_their_process_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def ended(end: tui._End, code: int) -> NoReturn:
        done.append("end")
        raise SystemExit(code)

    monkeypatch.setattr(tui, "_show", lambda app, end: done.append("show"))
    monkeypatch.setattr(tui, "keep_used", lambda: done.append("keep"))
    monkeypatch.setattr(tui._End, "soon", lambda *_: done.append("guard"))
    monkeypatch.setattr(tui._End, "now", ended)
    monkeypatch.setattr(tui._End, "leave", lambda _: None)
    with pytest.raises(SystemExit):
        tui._shown(App(), tui._End(None, cast("Terminal", SimpleNamespace(drawn_on=nullcontext))))
    assert done == ["show", "guard", "keep", "end"]


def test_what_is_damaged_or_of_another_python_is_not_used(folder: Path) -> None:
    first = KeptCode("check")
    first.pattern("a(b)c")
    first.keep()
    path = _file(folder)
    stamp, (patterns, methods) = marshal.loads(path.read_bytes())
    path.write_bytes(marshal.dumps((("3.0", *stamp[1:]), (patterns, methods))))
    assert KeptCode("check")._patterns == {}
    path.write_bytes(marshal.dumps((stamp, ({("a(b)c", 0): (32, b"1234" * 9, 1, {}, (None, None))}, {}))))
    assert KeptCode("check").pattern("a(b)c") == re.compile("a(b)c")
    path.write_bytes(b"\0" * 100)
    assert KeptCode("check").pattern("a(b)c") == re.compile("a(b)c")
    with pytest.raises(re.error):
        KeptCode("check").pattern("(")


def test_no_word_of_the_evidence_is_kept(folder: Path) -> None:
    end = use_kept_code("check")
    kept: KeptCode = lazy_re.compilers[-1].__self__  # type: ignore[attr-defined]
    assert any_of(frozenset(("dora-krause", "gpu-node-17"))).search("on gpu-node-17")
    assert lazy_re.regex("plain").search("plain")
    end()
    assert [text for text, _ in kept._patterns] == ["plain"]
    assert b"krause" not in _file(folder).read_bytes()
