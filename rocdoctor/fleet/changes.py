"""What has changed between two rounds: verdicts of nodes, and what the nodes themselves are. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rocdoctor.compare.traits import OF_GPU, OF_MACHINE, Trait, same, shown
from rocdoctor.fleet.classes import ORDER
from rocdoctor.fleet.record import NodeRecord, Traits
from rocdoctor.fleet.verdicts import FleetVerdict, NodeVerdict
from rocdoctor.judging.subjects import number_ranges

Records = Mapping[str, NodeRecord]
_PROPOSALS = ("drain", "test", "none")


@dataclass(frozen=True, slots=True)
class VerdictChange:
    """A node that is judged otherwise than before; None where nothing spoke against it."""

    node: str
    before: NodeVerdict | None
    after: NodeVerdict | None

    @property
    def worse(self) -> bool:
        """Whether it is graver now."""
        return _gravity(self.after) < _gravity(self.before)


@dataclass(frozen=True, slots=True)
class TraitChange:
    """What changed on nodes in the same way, in words: ``what`` from ``before`` to ``after``."""

    what: str
    before: str
    after: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Changes:
    """Between the rounds of two times. ``rebooted``: nodes in another boot; ``came`` and ``gone``: by name.

    ``untold``: nodes of which one of the rounds has no record, so that what they are could not be compared.
    """

    since: int
    at: int
    verdicts: tuple[VerdictChange, ...]
    traits: tuple[TraitChange, ...]
    rebooted: tuple[str, ...]
    came: tuple[str, ...]
    gone: tuple[str, ...]
    untold: tuple[str, ...]

    @property
    def to_drain(self) -> tuple[str, ...]:
        """The nodes to drain that were not to be drained before."""
        new = [one for one in self.verdicts if _gravity(one.after)[0] == 0 != _gravity(one.before)[0]]
        return tuple(one.node for one in new)


def changes(before: FleetVerdict, after: FleetVerdict, old: Records, new: Records) -> Changes:
    """What is otherwise in the later round; ``old`` and ``new`` are the records that each brought."""
    was, now = ({one.node: one for one in found.nodes} for found in (before, after))
    known = before.kinds.keys() | was.keys()
    known_now = after.kinds.keys() | now.keys()
    judged = [
        VerdictChange(node, was.get(node), now.get(node))
        for node in sorted(known & known_now)
        if _sort(was.get(node)) != _sort(now.get(node))
    ]
    both = sorted(old.keys() & new.keys())
    groups: dict[tuple[str, str, str], list[str]] = {}
    for node in both:
        for change in _of_node(old[node], new[node]):
            groups.setdefault(change, []).append(node)
    listed = sorted(groups.items(), key=lambda one: (-len(one[1]), one[0]))
    return Changes(
        before.at,
        after.at,
        tuple(sorted(judged, key=lambda one: (not one.worse, _gravity(one.after), one.node))),
        tuple(TraitChange(*change, tuple(nodes)) for change, nodes in listed),
        tuple(node for node in both if _other(old[node].boot, new[node].boot)),
        tuple(sorted(known_now - known)),
        tuple(sorted(known - known_now)),
        tuple(sorted((known & known_now) - set(both))),
    )


def _gravity(one: NodeVerdict | None) -> tuple[int, int]:
    if one is None:
        return len(_PROPOSALS), len(ORDER)
    return _PROPOSALS.index(one.proposal), ORDER.index(one.node_class)


def _sort(one: NodeVerdict | None) -> tuple[str, str, str]:
    """What is said of a node: what to do, how sure it is and for what."""
    return ("none", "well", "") if one is None else (one.proposal, one.node_class, one.first.check)


def _other(a: str | None, b: str | None) -> bool:
    return a is not None and b is not None and a != b


def _of_node(old: NodeRecord, new: NodeRecord) -> Iterator[tuple[str, str, str]]:
    if old.traits is not new.traits:
        for trait in (one.trait for one in OF_MACHINE):
            yield from _of_trait(trait, old.traits, new.traits, trait.words)
    for title in sorted(old.tables.keys() & new.tables.keys()):
        if old.tables[title] != new.tables[title]:
            yield f"{title}s", "one set", "another"
    if not (old.complete and new.complete):
        return  # of a list that is not whole, nothing tells which GPU is which
    if len(old.gpus) != len(new.gpus):
        yield "GPUs on the bus", str(len(old.gpus)), str(len(new.gpus))
        return
    if swapped := [at for at, (a, b) in enumerate(zip(old.gpus, new.gpus, strict=True)) if _other(a.id, b.id)]:
        yield f"card of gpu {number_ranges(swapped)}", "one", "another"
    if old.gpu_traits is not new.gpu_traits and len(old.gpu_traits) == len(new.gpu_traits):
        yield from _of_gpus(old.gpu_traits, new.gpu_traits)


def _of_trait(trait: Trait, old: Traits, new: Traits, words: str) -> Iterator[tuple[str, str, str]]:
    a, b = old.get(trait.key), new.get(trait.key)
    if a is not None and b is not None and not same(trait, a, b):
        yield words, shown(trait, a), shown(trait, b)


def _of_gpus(old: Sequence[Traits], new: Sequence[Traits]) -> Iterator[tuple[str, str, str]]:
    for trait in (one.trait for one in OF_GPU):
        places: dict[tuple[str, str], list[int]] = {}
        for at, (a, b) in enumerate(zip(old, new, strict=True)):
            for _, before, after in _of_trait(trait, a, b, ""):
                places.setdefault((before, after), []).append(at)
        for (before, after), gpus in places.items():
            which = "all GPUs" if len(gpus) == len(new) else f"gpu {number_ranges(gpus)}"
            yield f"{trait.words} of {which}", before, after
