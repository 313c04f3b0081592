"""The parsed form of a table that is kept beside it: of this very file, or not used."""

from __future__ import annotations

import marshal
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rocdoctor.host.masking import any_digits
from rocdoctor.knowledge import load
from rocdoctor.knowledge.messages import program_errors
from rocdoctor.parsers.logs.literal_table import literals_of


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    path = tmp_path / "cards.yaml"
    path.write_text("cards: [one, two]\n")
    return path


def _kept(table: Path) -> list[Path]:
    return sorted((table.parent / "__pycache__").glob("*"))


def _no_parsing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(text: str, loader: Any = None) -> load.Table:
        raise AssertionError("parsed again")

    monkeypatch.setattr(load, "parse", refuse)


def test_a_table_is_parsed_once(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load.read_table(table)
    assert [path.suffix for path in _kept(table)] == [".table"]
    _no_parsing(monkeypatch)
    assert load.read_table(table) == first == {"cards": ["one", "two"]}


def test_a_changed_table_is_parsed_again(table: Path) -> None:
    load.read_table(table)
    table.write_text("cards: [one, six]\n")  # as long as before
    os.utime(table, ns=(1, 1))
    assert load.read_table(table) == {"cards": ["one", "six"]}
    assert load.read_table(table) == {"cards": ["one", "six"]}


@pytest.mark.parametrize("junk", [b"", b"junk", b"\xe9\x00\x00\x00\x00", b"i\x07\x00\x00\x00", b"("])
def test_a_damaged_kept_form_is_not_used(table: Path, junk: bytes) -> None:
    load.read_table(table)
    for path in _kept(table):
        path.write_bytes(junk)
    assert load.read_table(table) == {"cards": ["one", "two"]}


@pytest.mark.parametrize("mode", [0o666, 0o664])
def test_what_others_can_change_is_not_used(table: Path, mode: int) -> None:
    load.keep(table, "code", (1,), "kept")
    assert load.recalled(table, "code", (1,)) == "kept"
    for path in _kept(table):
        path.chmod(mode)
    assert load.recalled(table, "code", (1,)) is None


def test_nothing_is_kept_where_others_can_put_a_link(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mode was set by name: a link put there made a file of root readable for everybody."""
    folder = table.parent / "__pycache__"
    folder.mkdir()
    for mode in (0o777, 0o775):
        folder.chmod(mode)
        load.keep(table, "code", (1,), "kept")
        assert _kept(table) == []
    folder.chmod(0o755)
    monkeypatch.setattr(os, "chmod", lambda *_: pytest.fail("a name is followed"))
    load.keep(table, "code", (1,), "kept")
    assert [path.stat().st_mode & 0o777 for path in _kept(table)] == [0o644]


def test_neither_a_link_nor_a_fifo_is_a_kept_form(table: Path) -> None:
    """A FIFO that was opened would never come back."""
    load.keep(table, "code", (1,), "kept")
    (kept,) = _kept(table)
    kept.rename(table.parent / "elsewhere")
    kept.symlink_to(table.parent / "elsewhere")
    assert load.recalled(table, "code", (1,)) is None
    kept.unlink()
    os.mkfifo(kept)
    holds_it_open = os.open(kept, os.O_RDWR)  # so that a break of this is a failure and no hang
    os.write(holds_it_open, (table.parent / "elsewhere").read_bytes())
    assert load.recalled(table, "code", (1,)) is None
    os.close(holds_it_open)


def test_without_memory_for_a_kept_form_things_are_made_as_if_none_were_kept(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load.keep(table, "code", (1,), "kept")
    assert load.recalled(table, "code", (1,)) == "kept"

    def full(*_: object) -> bytes:
        raise MemoryError

    monkeypatch.setattr(marshal, "loads", full)
    assert load.recalled(table, "code", (1,)) is None
    assert load.read_table(table) == {"cards": ["one", "two"]}
    monkeypatch.setattr(marshal, "dumps", full)
    load.keep(table, "code", (2,), "not kept")


def test_the_folder_is_for_its_owner_to_write(table: Path) -> None:
    before = os.umask(0)
    try:
        load.read_table(table)
    finally:
        os.umask(before)
    assert (table.parent / "__pycache__").stat().st_mode & 0o022 == 0


def test_nothing_is_written_where_python_must_not_write(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    load.read_table(table)
    assert not _kept(table)


def test_nothing_is_written_beside_the_table_of_somebody_else(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    load.read_table(table)
    assert not _kept(table)


def test_a_table_that_cannot_be_kept_is_read_all_the_same(table: Path) -> None:
    table.write_text("day: 2026-01-02\n")
    assert str(load.read_table(table)["day"]) == "2026-01-02"
    assert not _kept(table)


def test_what_is_no_table_is_refused(table: Path) -> None:
    table.write_text("- a list\n")
    with pytest.raises(load.TableError):
        load.read_table(table)
    assert not _kept(table)


def test_what_is_kept_beside_a_file_is_made_again_when_its_stamp_differs(table: Path) -> None:
    made: list[int] = []

    def make() -> tuple[str, int]:
        made.append(len(made))
        return ("value", len(made))

    assert load.kept(table, "literals", (1, "a"), make) == ("value", 1)
    assert load.kept(table, "literals", (1, "a"), make) == ("value", 1)
    assert load.kept(table, "literals", (2, "a"), make) == ("value", 2)
    assert made == [0, 1]


def test_nothing_is_made_that_cannot_be_kept(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert load.kept(table, "literals", (1,), lambda: 1 / 0) is None


def test_kept_literals_are_those_of_the_tables() -> None:
    kept = program_errors.message_literals()
    made = literals_of(program_errors.message_signatures())
    assert len(kept) == len(made) > 3000
    for one, two in zip(kept, made, strict=True):
        assert (one.text, one.key, one.kind) == (two.text, two.key, two.kind)
        assert replace(one.wording, source="", verified=False) == replace(two.wording, source="", verified=False)


def test_kept_expressions_of_digits_are_those_of_the_tables() -> None:
    any_digits._expressions.cache_clear()
    made = any_digits.made_expressions()
    assert any_digits._expressions() == made and len(made[0]) > 20
