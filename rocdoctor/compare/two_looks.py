"""Two looks at one machine, cut down to what both know from the same source: only that can have changed between them.

A tool that answers only once, another tool in its place or a GPU that sleeps changes what is known, not the machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rocdoctor.compare.gpu_matching import Key, match
from rocdoctor.compare.snapshot import GpuState, Snapshot, SnapshotTable, snapshot
from rocdoctor.compare.traits import of_gpu, of_machine, packages
from rocdoctor.insight.links.pcie_path import slot_links
from rocdoctor.model.evidence import Fact, Known, value_or
from rocdoctor.model.facts import Gpu, Machine
from rocdoctor.model.lazy_re import regex

# Numbers of cards, sensors and places on a bus: the same file of another device is the same source.
_NUMBERS = regex(r"\b[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\b|\d{1,20}")
# Each says by itself whether every link is known.
_OF_LINKS = ("fabric_peers", "islands")
_OF_PATH = ("pcie_width", "pcie_speed_gt_s", "pcie_capable_gt_s")


@dataclass(frozen=True, slots=True)
class TwoLooks:
    """The GPUs of both looks, paired by bus address (by order where a look lacks addresses), as the new look has them.

    ``gone`` and ``new``: those that the other look does not have, though it shows every GPU.
    """

    before: Machine
    now: Machine
    pairs: tuple[tuple[Gpu, Gpu], ...]
    gone: tuple[Gpu, ...]
    new: tuple[Gpu, ...]

    @property
    def renumbered(self) -> bool:
        """Whether the number of a GPU means another one than before."""
        return any(old.index != gpu.index for old, gpu in self.pairs) or bool(self.gone or self.new)

    def sides(self) -> tuple[Snapshot, Snapshot]:
        """Both looks with the same GPUs in the same order, and no trait that only one knows."""
        old, new = snapshot("before", self.before, ()), snapshot("now", self.now, ())
        shared = _shared(of_machine(self.before), of_machine(self.now))
        if self.renumbered:
            shared.discard("islands")
        states = [{one.index: one for one in side.gpus} for side in (old, new)]
        gpus: tuple[list[GpuState], list[GpuState]] = ([], [])
        for a, b in self.pairs:
            keys = _shared(of_gpu(self.before, a), of_gpu(self.now, b))
            if path_known(a) != path_known(b):
                keys.difference_update(_OF_PATH)
            if a.firmware.keys() != b.firmware.keys():
                keys.discard("firmware")
            if self.gone or self.new:
                keys.discard("fabric_peers")
            for to, of, gpu in zip(gpus, states, (a, b), strict=True):
                to.append(replace(of[gpu.index], traits=_only(of[gpu.index].traits, keys)))
        tables = {"package"} if same_source(packages(self.before), packages(self.now)) else set[str]()
        tables |= {"ROCm package"} if same_source(self.before.rocm_packages, self.now.rocm_packages) else set[str]()
        first, second = (
            replace(side, gpus=tuple(each), traits=_only(side.traits, shared), tables=_tables(side.tables, tables))
            for side, each in zip((old, new), gpus, strict=True)
        )
        return first, second


def two_looks(before: Machine, now: Machine) -> TwoLooks:
    """Which GPU is which: one at another address is not taken for the same."""
    found = match(before.gpus, now.gpus, _key, _key)
    moved = {id(old) for old, _ in found.moved}
    pairs = [one for one in found.pairs if id(one[0]) not in moved]
    gone = [*found.gone, *(old for old, _ in found.moved)] if now.gpus_complete else []
    new = [*found.new, *(gpu for _, gpu in found.moved)] if before.gpus_complete else []
    in_order = sorted(pairs, key=lambda one: one[1].index)
    return TwoLooks(before, now, tuple(in_order), tuple(gone), tuple(new))


def same_source(before: Fact[object], now: Fact[object]) -> bool:
    """Whether both are known, and the same kind of question told them."""
    if not isinstance(before, Known) or not isinstance(now, Known):
        return False
    return _source(before) == _source(now)


def _source(fact: Known[object]) -> str:
    return _NUMBERS.sub("#", fact.source.question)


def _key(gpu: Gpu) -> Key:
    return Key(value_or(gpu.bdf, None), value_or(gpu.pci_id, None))


def _shared(before: Mapping[str, Fact[str]], now: Mapping[str, Fact[str]]) -> set[str]:
    """The traits that both looks know in the same way."""
    return {key for key, fact in now.items() if key in _OF_LINKS or same_source(before[key], fact)}


def path_known(gpu: Gpu) -> list[tuple[object, ...]]:
    """What is known of the links on the way to a GPU, without the figures."""
    return [
        (
            one.upper.bdf if one.upper else "",
            *(
                isinstance(fact, Known)
                for fact in (one.width, one.capable_width, one.speed_gt_s, one.capable_speed_gt_s)
            ),
            one.both_ends,
        )
        for one in slot_links(gpu)
    ]


def _only(traits: Mapping[str, str | None], keys: set[str]) -> dict[str, str | None]:
    return {key: value if key in keys else None for key, value in traits.items()}


def _tables(tables: Mapping[str, SnapshotTable], shared: set[str]) -> dict[str, SnapshotTable]:
    return {name: one for name, one in tables.items() if name == "module parameter" or name in shared}
