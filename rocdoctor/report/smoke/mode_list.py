"""The modes of the smoke tests, one by one: their names, the set that each is in, and what it proves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rocdoctor.report.document import Block, Fixed, Table
from rocdoctor.train.smoke.worker.mode import Mode


def document(modes: Sequence[Mode]) -> tuple[Block, ...]:
    """One line a mode."""
    lines = tuple(f"{one.name:<24} {_set(one):<6} {one.title}" for one in modes)
    rows = tuple((one.name, _set(one), one.title) for one in modes)
    return (Table(("mode", "set", "title"), rows, lambda _: (Fixed(lines),)),)


def as_json(modes: Sequence[Mode]) -> dict[str, Any]:
    """The same under ``rocdoctor.modes/1``."""
    rows = [{"mode": one.name, "set": _set(one), "title": one.title} for one in modes]
    return {"schema": "rocdoctor.modes/1", "modes": rows}


def _set(mode: Mode) -> str:
    return "full" if mode.full else "quick"
