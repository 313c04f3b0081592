"""The modes of the smoke tests, one by one: their names, the set that each is in, and what it proves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rocdoctor.report.markdown import plain
from rocdoctor.train.smoke.worker.mode import Mode


def text(modes: Sequence[Mode]) -> str:
    """One line a mode."""
    return "".join(f"{one.name:<24} {_set(one):<6} {one.title}\n" for one in modes)


def markdown(modes: Sequence[Mode]) -> str:
    """The same as a table."""
    rows = [f"| {plain(one.name)} | {_set(one)} | {plain(one.title)} |" for one in modes]
    return "\n".join(["| mode | set | title |", "| --- | --- | --- |", *rows, ""])


def as_json(modes: Sequence[Mode]) -> dict[str, Any]:
    """The same under ``rocdoctor.modes/1``."""
    rows = [{"mode": one.name, "set": _set(one), "title": one.title} for one in modes]
    return {"schema": "rocdoctor.modes/1", "modes": rows}


def _set(mode: Mode) -> str:
    return "full" if mode.full else "quick"
