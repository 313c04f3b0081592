"""The door to the terminal: nothing that is printed drives a terminal or a build log, and files stay what they are."""

from __future__ import annotations

import io
import json
import re
import sys
import tarfile
from pathlib import Path

import pytest

from rocdoctor.cli.main import run
from rocdoctor.host import output
from rocdoctor.host.evidence.capture import parse
from tests.report.made import HOSTILE

ORDERS = (
    "::error file=app.py,line=1::you lost",
    "  \t::stop-commands::token",
    "\u2003\u3000::add-mask::1",
    "text ##[error]you lost",
    "##vso[task.setvariable variable=PATH]/tmp",
    "###[warning]x",
    "##teamcity[testFailed]",
)
_ORDER = re.compile(r"(?m)^\s*::[^\n]*::|##\w*\[")


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("order", ORDERS)
def test_a_line_gives_a_build_service_no_order(order: str, capsys: pytest.CaptureFixture[str]) -> None:
    output.show(f"one\n{order}\n")
    output.line(f"\x1b[1m{order}")
    output.note(order)
    output.note(order, "")
    output.notes(f"{order}\n")
    shown = capsys.readouterr()
    assert not _ORDER.search(shown.out)
    assert not _ORDER.search(shown.err)
    assert shown.out.count("\n") == 3


def test_names_with_colons_stay_as_they_are() -> None:
    text = "::1 localhost\n  at::Tensor at::native::add\nstd::bad_alloc ## [x]\n"
    assert output.orderless(text) == text


@pytest.mark.parametrize("order", ORDERS)
def test_json_holds_an_order_as_a_value_but_prints_none(order: str, capsys: pytest.CaptureFixture[str]) -> None:
    value = {"value": order, order: ["\u202eabc", "\U000e0041", "\ud800", "\u2028"]}
    output.data(value)
    shown = capsys.readouterr().out
    assert not _ORDER.search(shown)
    assert not set(shown) & set("\u202e\U000e0041\u2028\ud800")
    assert json.loads(shown) == value


def test_a_terminal_gets_our_colours_and_no_other_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = _Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    output.show(f"\x1b[31;1merror\x1b[0m {HOSTILE}\x1b[8mhidden\n")
    assert screen.getvalue() == "\x1b[31;1merror\x1b[0m a\x1b[31mred\x1b[0mtxtzhidden\n"


def test_a_file_on_standard_output_is_exact_but_for_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "a \x1b[2Jb\u202ec\n::error::x\n"
    output.exact(text)
    assert capsys.readouterr().out == text
    screen = _Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    output.exact(text)
    assert screen.getvalue() == "a bc\n: :error::x\n"


def test_the_line_of_progress_and_notes_carry_no_sequence_of_others(capsys: pytest.CaptureFixture[str]) -> None:
    output.status(HOSTILE)
    output.status("")
    assert capsys.readouterr().err == "\r\x1b[Karedtxtz ...\r\x1b[K"
    output.note(f"{HOSTILE}\nsecond")
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert told.rstrip("\n").isprintable()


# -- whole commands


@pytest.fixture
def hostile_bundle(tmp_path: Path) -> Path:
    """A machine whose kernel log holds escape sequences, hidden characters and orders."""
    path = tmp_path / "bundle.txt"
    answers = "\n".join(("[    1.0] \x1b]52;c;ZXZpbA==\x1b\\\\ \x9b2J \u202eabc", *ORDERS, "ok"))
    path.write_text(f"rocdoctor capture 1\norigin: recorded\n\n-- run dmesg --\n{answers}\n", encoding="utf-8")
    return path


def test_a_bundle_is_shown_without_sequences_and_delivered_to_the_byte(
    hostile_bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["bundle", "--show", "--from", str(hostile_bundle)]) == 0
    shown = capsys.readouterr().out
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", shown)
    assert not _ORDER.search(shown)
    assert run(["bundle", "-o", "-", "--from", str(hostile_bundle)]) == 0
    whole = parse(capsys.readouterr().out.encode())
    assert whole.answers["run dmesg"].data == parse(hostile_bundle.read_bytes()).answers["run dmesg"].data


def test_a_packed_bundle_is_not_poured_over_a_terminal(
    hostile_bundle: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", _Terminal())
    assert run(["bundle", "--gzip", "-o", "-", "--from", str(hostile_bundle)]) == 2
    assert "terminal" in capsys.readouterr().err


def test_names_of_files_drive_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "a\x1b]0;t\x07\u202eb\n::error::c.sh"
    bad.write_text("export HSA_OVERRIDE_GFX_VERSION=99\n")
    pipe = tmp_path / "x\x1b[2J.tar"
    with tarfile.open(pipe, "w") as archive:
        archive.addfile(tarfile.TarInfo("sys/\x1b[2Jx"))
    for form in ("text", "json", "sarif", "markdown", "junit"):
        run(["lint", "--no-machine", "--format", form, str(bad), str(tmp_path / "gone\x1b[2J\n::error::x")])
    run(["check", "--from", str(pipe)])
    run(["check", "--from", str(tmp_path / "no\x1b[2J\n::error::x")])
    shown = capsys.readouterr()
    for stream in (shown.out, shown.err):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", stream)
        assert not _ORDER.search(stream)
