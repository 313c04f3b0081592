"""Every kind of planted fault, with the right rank and layer: by what the fault does, never by what we print.

The rows stand in ``kinds.txt``. A row is ``FAULT  AT  MODE  WORLDS  LAYERS  [BESIDE]``. AT: the guilty rank (``last``:
the one with the highest number; ``all``: every rank). LAYERS: the right one first, then what nobody can tell from it by
numbers alone. BESIDE: other ranks that may be named, since it cannot be told at which end of a way it went wrong. A
leading ``!`` marks a fault that needs ranks of its own, because it leaves something behind.

- ``device``: what one rank computes or holds by itself is wrong: a kernel, a bit in memory, its own optimizer's step.
- ``collectives``: what an exchange brings, or what it takes from a rank, is wrong.
- ``framework``: what the code above decides is wrong (order, splitting, scaling, types, what is left out), also a
  kernel that is wrong on all ranks alike; an error or an end that the process makes by itself.
- ``configuration``: memory, disk, limits, a process that is stopped or kept from work.
- ``none``: ended from outside by a signal; who sent it, no layer knows.

A step of an optimizer that is wrong on one rank alone may be its code or its device. A mean may be made by the library
or by the framework above it, which is also who hands a part of one rank to another.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).parent
_ROWS = (_HERE / "kinds.txt").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Planted:
    """One row for one number of ranks; ``layers``: what may be said, the right one first (empty: no layer at all).

    ``fault`` is as ``kit.planted`` takes it.
    """

    fault: str
    rank: int | str
    mode: str
    world: int
    layers: tuple[str, ...]
    beside: tuple[int, ...] = ()
    alone: bool = False

    @property
    def name(self) -> str:
        """Without the file that it stands in."""
        return self.fault.rpartition(":")[2]


def kinds(rows: str = _ROWS) -> list[Planted]:
    """All rows, one for each number of ranks."""
    found = []
    for line in filter(None, map(str.strip, rows.splitlines())):
        alone = line.startswith("!")
        fault, at, mode, worlds, layers, *beside = line.removeprefix("!").split()
        path, mark, name = fault.rpartition(":")
        for world in map(int, worlds.split(",")):
            rank = world - 1 if at == "last" else at if at == "all" else int(at)
            many = tuple("" if one == "none" else one for one in layers.split("/"))
            others = tuple(world - 1 if one == "last" else int(one) for part in beside for one in part.split(","))
            full = f"{_HERE / path}:{name}" if mark else fault
            found.append(Planted(full, rank, mode, world, many, others, alone))
    return found
