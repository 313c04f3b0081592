"""Repeated smoke runs use the interpreter that they were started with, which has torch."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools import smoke_repeat


def test_without_a_name_it_is_the_interpreter_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    used: list[str] = []

    def perform(_: object, interpreter: str) -> Iterator[object]:
        used.append(interpreter)
        yield from ()

    monkeypatch.setattr(smoke_repeat, "perform", perform)
    monkeypatch.setattr(smoke_repeat, "interpreter_of_root", lambda which, *_: (which, ""))
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["smoke_repeat", "2"])
    assert smoke_repeat.main() == 0
    assert used == [sys.executable] * 2
    assert "0 false alarms" in capsys.readouterr().out
