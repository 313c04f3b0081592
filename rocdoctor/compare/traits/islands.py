"""Which GPUs reach each other over XGMI or NVLink."""

from __future__ import annotations

from rocdoctor.model.evidence import Fact, Known, Source, Unknown, value_or
from rocdoctor.model.facts import Gpu, GpuLink, Machine

_FAST = ("xgmi", "nvlink")
_GAP = Unknown("this evidence may not show every link between GPUs")


def _source(links: list[GpuLink]) -> Source:
    for link in links:
        for fact in (link.weight, link.hops, link.count):
            if isinstance(fact, Known):
                return fact.source
    return Source("links between GPUs")


def _fast(machine: Machine) -> list[GpuLink]:
    return [link for link in machine.links if link.type in _FAST]


def peers(machine: Machine, gpu: Gpu) -> Fact[int]:
    """How many other GPUs this one reaches over XGMI or NVLink; unknown where links may be missing in the evidence."""
    mine = [link for link in _fast(machine) if gpu.index in (link.a, link.b)]
    others = len({link.a + link.b - gpu.index for link in mine})
    if machine.links_complete or (others and others == len(_able(machine)) - 1):
        return Known(others, _source(mine))
    return _GAP


def _able(machine: Machine) -> list[Gpu]:
    return [gpu for gpu in machine.gpus if not value_or(gpu.integrated, False)]


def islands(machine: Machine) -> Fact[str]:
    """Groups of GPUs by index (``0-3; 4-7``), each joined within itself; ``none`` where no two are joined."""
    if len(_able(machine)) < 2:
        return Unknown("fewer than two GPUs")
    group = {gpu.index: {gpu.index} for gpu in _able(machine)}
    links = [link for link in _fast(machine) if link.a in group and link.b in group]
    for link in links:
        if group[link.a] is not group[link.b]:
            joined = group[link.a] | group[link.b]
            for index in joined:
                group[index] = joined
    found = sorted({tuple(sorted(one)) for one in group.values() if len(one) > 1})
    if not machine.links_complete and not (found and len(found[0]) == len(group)):
        return _GAP
    return Known("; ".join(_ranges(one) for one in found) or "none", _source(links))


def _ranges(numbers: tuple[int, ...]) -> str:
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
