"""Which nodes to take out and which to bring back, within bounds. Pure: what is known in, few calls out.

The bounds: never more of our drains at once than the cap (a share of the nodes that we may touch, in all and of each
kind, rounded down, and never more than ``most``); never fewer nodes left in service than ``floor``; no more in an hour
than the rate. What others drained is never touched; what we drained comes back only as long as its reason is word for
word ours, after a record that speaks for it and is younger than the drain and than the node's boot.

Suspects, which are to be tested and not drained, can be set aside: by a reservation or a taint of their own, within the
same bounds, and in half of the cap at most, so that they keep no sick node in service. They come back by the same rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Literal

from rocdoctor.fleet.verdicts import FleetVerdict, NodeVerdict
from rocdoctor.model.lazy_re import regex

PREFIX = "rocdoctor: "
_HOUR_S = 3600
_MOST_CHECK = 40
_REASON = regex(r"([A-Za-z0-9._-]{1,40}) \[([a-z]{1,12})\] (\d{8}T\d{4}Z)")
# The value of a label or taint of Kubernetes, which is a name for Slurm too.
_LABEL = regex(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class ActionLimits:
    """``share`` of the nodes may be out for us at once, ``rate`` of them may go in an hour (one may always).

    ``suspects``: nodes to test are set aside too. The usual values are our judgement.
    """

    share: float = 0.05
    most: int | None = None
    floor: int = 0
    rate: float = 0.02
    suspects: bool = False


@dataclass(frozen=True, slots=True)
class EngineNode:
    """A node as the scheduler knows it. ``out``: it starts no jobs, for whatever reason; ``gpus``: it has some.

    ``aside``: the reasons for which it stands in reservations or taints for suspects, which do not make it ``out``.
    """

    name: str
    out: bool
    reason: str
    gpus: bool
    aside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Drained:
    """One of our own drains, as the journal has it. ``aside``: it was set aside as a suspect, not drained."""

    node: str
    reason: str
    at: int
    aside: bool = False


@dataclass(frozen=True, slots=True)
class EngineCall:
    """One call of the engine for several nodes with one reason.

    aside: a suspect is kept from new jobs; return: the reverse, after which ``left`` still stand aside for that reason.
    """

    action: Literal["drain", "resume", "aside", "return"]
    nodes: tuple[str, ...]
    reason: str
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ActionPlan:
    """What is to be done, who would be next, and whose drains by others were left alone."""

    calls: tuple[EngineCall, ...]
    held: tuple[tuple[str, str], ...]
    foreign: tuple[str, ...]
    cap: int
    ours: int


def reason_of(one: NodeVerdict, at: int) -> str:
    """At most 80 characters: the check by which the manual and ``fleet why`` explain it, and the round."""
    first = one.first
    stamp = datetime.fromtimestamp(at, timezone.utc).strftime("%Y%m%dT%H%MZ")
    return f"{PREFIX}{first.check[:_MOST_CHECK]} [{first.node_class}] {stamp}"


def label_of(reason: str) -> str:
    """A reason of ours in the signs that names and values of engines may have; "" if it is none of ours."""
    found = _REASON.fullmatch(reason.removeprefix(PREFIX)) if reason.startswith(PREFIX) else None
    label = ".".join(found.groups()) if found else ""
    return label if _LABEL.fullmatch(label) else ""


def reason_in(label: str) -> str:
    """The reason that ``label_of`` made this of; "" for what it would not have made."""
    words = label.rsplit(".", 2)
    reason = f"{PREFIX}{words[0]} [{words[1]}] {words[2]}" if len(words) == 3 else ""
    return reason if reason and label_of(reason) == label else ""


def plan(
    found: FleetVerdict,
    engine: Sequence[EngineNode],
    journal: Sequence[Drained],
    limits: ActionLimits,
    now: int,
    booted: Mapping[str, int] | None = None,
) -> ActionPlan:
    """The calls of this moment. ``journal`` has all our drains, ``booted`` when nodes booted, as far as it is known."""
    ours, parted = _of_us(journal, aside=False), _of_us(journal, aside=True)
    by_name = {one.name: one for one in engine}
    mine = {name for name, one in by_name.items() if one.out and name in ours and one.reason == ours[name].reason}
    apart = {name for name, one in by_name.items() if name in parted and parted[name].reason in one.aside}
    boots = booted or {}
    back = [name for name in sorted(mine) if _well(found, ours[name], boots.get(name))]
    returned = [name for name in sorted(apart) if _well(found, parted[name], boots.get(name))]
    calls = [EngineCall("resume", tuple(back), "")] if back else []
    calls += _returns([parted[name] for name in returned], engine)
    room = _Room(found, engine, limits, (mine - set(back)) | (apart - set(returned)), mine)
    room.apart = apart - set(returned)
    room.recent = sum(abs(now - one.at) < _HOUR_S for one in journal)  # a clock may have jumped ahead and back
    foreign = tuple(sorted(one.name for one in engine if one.out and one.reason and one.name not in mine))
    before = len(room.taken)
    calls += room.calls("drain", found.at)
    if limits.suspects:
        calls += room.calls("aside", now)
    return ActionPlan(tuple(calls), tuple(room.held), foreign, room.cap, before)


def _of_us(journal: Iterable[Drained], *, aside: bool) -> dict[str, Drained]:
    """The last of each node."""
    return {one.node: one for one in journal if one.aside is aside}


class _Room:
    """How many nodes may still go. ``taken``: those that are out or aside for us; ``held``: who waits, and why."""

    def __init__(
        self,
        found: FleetVerdict,
        engine: Sequence[EngineNode],
        limits: ActionLimits,
        taken: set[str],
        mine: set[str],
    ) -> None:
        self.found, self.limits, self.taken = found, limits, taken
        self.by_name = {one.name: one for one in engine}
        touchable = [
            one for one in engine if one.gpus and (not one.out or one.name in mine) and one.name in found.kinds
        ]
        self.cap = _cap(len(touchable), limits)
        self.hourly = max(1, int(limits.rate * len(touchable)))
        self.kinds = Counter(found.kinds[one.name] for one in touchable)
        self.used = Counter(found.kinds[name] for name in taken if name in found.kinds)
        self.serving = sum(one.gpus and not one.out and not one.aside for one in engine)
        self.apart, self.recent, self.gone = set[str](), 0, 0
        self.held: list[tuple[str, str]] = []

    def calls(self, action: Literal["drain", "aside"], at: int) -> list[EngineCall]:
        """The calls for those that may go, the worst first, with the time that stands in their reasons."""
        groups: dict[str, list[str]] = {}
        for one in self.found.nodes:
            node = self.by_name.get(one.node)
            wanted = one.proposal == ("drain" if action == "drain" else "test")
            if not wanted or node is None or node.out or (action == "aside" and node.aside):
                continue
            if why := self._why_not(node, action):
                self.held.append((one.node, why))
                continue
            groups.setdefault(reason_of(one, at), []).append(one.node)
            self._take(node, action)
        return [EngineCall(action, tuple(nodes), reason) for reason, nodes in groups.items()]

    def _why_not(self, node: EngineNode, action: str) -> str:
        kind, limits = self.found.kinds.get(node.name, ""), self.limits
        counted = node.name in self.taken  # a suspect that is to be drained takes no more room
        if not node.gpus:
            return "the scheduler knows no GPU there"
        if not counted and len(self.taken) >= self.cap:
            return f"at most {self.cap} may be out at once: --share, --most"
        if action == "aside" and len(self.apart) >= self.cap // 2:
            return f"at most {self.cap // 2} suspects may be aside at once: half of --share, --most"
        if not counted and self.used[kind] >= _cap(self.kinds[kind], limits):
            return "as many of its kind are out as may be at once: --share"
        if not node.aside and self.serving <= limits.floor:
            return f"{limits.floor} nodes are to stay in service: --floor"
        if self.recent + self.gone >= self.hourly:
            return f"at most {self.hourly} may be drained in an hour: --rate"
        return ""

    def _take(self, node: EngineNode, action: str) -> None:
        self.gone += 1
        self.serving -= not node.aside
        if node.name not in self.taken:
            self.used[self.found.kinds.get(node.name, "")] += 1
            self.taken.add(node.name)
        if action == "aside":
            self.apart.add(node.name)


def _returns(which: Sequence[Drained], engine: Sequence[EngineNode]) -> list[EngineCall]:
    """The calls that bring suspects back, one for each reason, with those that stay aside for the same."""
    groups: dict[str, list[str]] = {}
    for one in which:
        groups.setdefault(one.reason, []).append(one.node)
    return [
        EngineCall(
            "return",
            tuple(sorted(set(nodes))),
            reason,
            tuple(sorted(one.name for one in engine if reason in one.aside and one.name not in nodes)),
        )
        for reason, nodes in groups.items()
    ]


def _cap(nodes: int, limits: ActionLimits) -> int:
    share = int(limits.share * nodes + 1e-9)
    return share if limits.most is None else min(share, limits.most)


def _well(found: FleetVerdict, drained: Drained, booted: int | None) -> bool:
    """Whether a record that is younger than the drain, and than the node's last boot, speaks for the node.

    It has to tell that what the node was drained for is gone, and all else that would have been enough.
    """
    taken = found.heard.get(drained.node)
    if taken is None or taken <= drained.at or booted is None or taken < booted:
        return False
    if drained.node in found.unsettled:
        return False
    verdict = next((one for one in found.nodes if one.node == drained.node), None)
    return verdict is None or verdict.node_class == "different"


def undone(last: Iterable[Drained], engine: Sequence[EngineNode]) -> list[EngineCall]:
    """The calls that take back drains, of those whose reason is still word for word ours."""
    by_name = {one.name: one for one in engine}
    known = [one for one in last if one.node in by_name]
    drained = [one for one in known if not one.aside and by_name[one.node].out]
    nodes = {one.node for one in drained if by_name[one.node].reason == one.reason}
    apart = [one for one in known if one.aside and one.reason in by_name[one.node].aside]
    calls = [EngineCall("resume", tuple(sorted(nodes)), "")] if nodes else []
    return calls + _returns(apart, engine)
