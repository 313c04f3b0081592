"""A file that the user named and that cannot be gone to is a line and status 2, whichever command it is given to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rocdoctor.cli.main import EXIT_BROKEN, EXIT_USAGE, run

_LONG = "a" * 5000
_MODEL = ("recommend", "--gpus", "8xMI300X", "--model")


@pytest.mark.parametrize(
    "line",
    [
        ("lint", "PLACE"),
        ("fix", "--undo", "PLACE"),
        ("fix", "--undo=PLACE"),
        (*_MODEL, "PLACE/config.json"),
        ("check", "--from", "EVIDENCE", "--checks", "PLACE"),
        ("read", "PLACE"),
        ("fleet", "judge", "PLACE"),
        ("bundle", "--from", "EVIDENCE", "-o", "PLACE"),
    ],
)
def test_it_is_said_and_nothing_broke(
    line: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ROCDOCTOR_DEBUG", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evidence").mkdir()
    (tmp_path / "evidence" / "dmesg.txt").write_text("[    0.000000] Linux version 6.8.0\n")
    words = [one.replace("PLACE", _LONG).replace("EVIDENCE", str(tmp_path / "evidence")) for one in line]
    assert run(words) == EXIT_USAGE
    said = capsys.readouterr().err
    assert "broke" not in said and said.count("\n") <= 2


def test_a_file_that_nobody_named_is_still_a_fault(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("ROCDOCTOR_DEBUG", raising=False)
    other = tmp_path / "other"

    def fails(*_: object) -> None:
        raise PermissionError(13, os.strerror(13), str(other))

    monkeypatch.setattr("rocdoctor.cli.commands.lint.run", fails)
    named = tmp_path / "a.sh"
    assert run(["lint", str(named)]) == EXIT_BROKEN
    assert "rocdoctor broke" in capsys.readouterr().err
    other = named
    assert run(["lint", str(named)]) == EXIT_USAGE
