"""What checks look at, found out by running them on a machine that takes note."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from rocdoctor.judging.check import Check
from rocdoctor.judging.running import run_check
from rocdoctor.model.facts import Gpu, Machine

_OF_TORCH = ("torch", "torch_index")


def look_at_torch(checks: Iterable[Check], machine: Machine) -> bool:
    """Whether one of the checks looks at anything that the import of torch tells, on this very machine."""
    seen: list[str] = []

    def note(name: str) -> None:
        if name in _OF_TORCH:
            seen.append(name)

    watched = _watched(Machine, machine, note)
    object.__setattr__(watched, "gpus", tuple(_watched(Gpu, gpu, note) for gpu in machine.gpus))
    return any(run_check(one, watched) and seen for one in checks)


def _watched(kind: type[Any], real: Any, note: Any) -> Any:
    """A copy of a record that tells which of its fields is read."""

    def read(self: Any, name: str) -> Any:
        note(name)
        return object.__getattribute__(self, name)

    made: Any = object.__new__(type(kind.__name__, (kind,), {"__slots__": (), "__getattribute__": read}))
    for one in fields(kind):
        object.__setattr__(made, one.name, getattr(real, one.name))
    return made
