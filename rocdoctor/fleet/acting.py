"""Which nodes to take out and which to bring back, within bounds. Pure: what is known in, few calls out.

The bounds: never more of our drains at once than the cap (a share of the nodes that we may touch, in all and of each
kind, rounded down, and never more than ``most``); never fewer nodes left in service than ``floor``; no more in an hour
than the rate. What others drained is never touched; what we drained comes back only as long as its reason is word for
word ours, after a record that speaks for it and is younger than the drain and than the node's boot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from rocdoctor.fleet.verdicts import FleetVerdict, NodeVerdict

PREFIX = "rocdoctor: "
_HOUR_S = 3600
_MOST_CHECK = 40


@dataclass(frozen=True, slots=True)
class ActionLimits:
    """``share`` of the nodes may be out for us at once, ``rate`` of them may go in an hour (one may always).

    The usual values are our judgement.
    """

    share: float = 0.05
    most: int | None = None
    floor: int = 0
    rate: float = 0.02


@dataclass(frozen=True, slots=True)
class EngineNode:
    """A node as the scheduler knows it. ``out``: it starts no jobs, for whatever reason; ``gpus``: it has some."""

    name: str
    out: bool
    reason: str
    gpus: bool


@dataclass(frozen=True, slots=True)
class Drained:
    """One of our own drains, as the journal has it."""

    node: str
    reason: str
    at: int


@dataclass(frozen=True, slots=True)
class EngineCall:
    """One call of the engine for several nodes with one reason."""

    action: str  # drain or resume
    nodes: tuple[str, ...]
    reason: str


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


def plan(
    found: FleetVerdict,
    engine: Sequence[EngineNode],
    journal: Sequence[Drained],
    limits: ActionLimits,
    now: int,
    booted: Mapping[str, int] | None = None,
) -> ActionPlan:
    """The calls of this moment. ``journal`` has all our drains, ``booted`` when nodes booted, as far as it is known."""
    ours = {one.node: one for one in journal}  # the last of each
    by_name = {one.name: one for one in engine}
    mine = {name for name, one in by_name.items() if one.out and name in ours and one.reason == ours[name].reason}
    touchable = [one for one in engine if one.gpus and (not one.out or one.name in mine) and one.name in found.kinds]
    back = [name for name in sorted(mine) if _well(found, ours[name], (booted or {}).get(name))]
    calls = [EngineCall("resume", tuple(back), "")] if back else []
    cap = _cap(len(touchable), limits)
    kinds = Counter(found.kinds[one.name] for one in touchable)
    left = mine - set(back)
    used = Counter(found.kinds[name] for name in left if name in found.kinds)
    serving = sum(one.gpus and not one.out for one in engine)
    recent = sum(one.at > now - _HOUR_S for one in journal)
    hourly = max(1, int(limits.rate * len(touchable)))
    groups: dict[str, list[str]] = {}
    held: list[tuple[str, str]] = []
    out, gone = len(left), 0
    for one in found.nodes:
        node = by_name.get(one.node)
        if one.proposal != "drain" or node is None or node.out:
            continue
        kind = found.kinds.get(one.node, "")
        why = (
            "the scheduler knows no GPU there"
            if not node.gpus
            else f"at most {cap} may be out at once: --share, --most"
            if out >= cap
            else "as many of its kind are out as may be at once: --share"
            if used[kind] >= _cap(kinds[kind], limits)
            else f"{limits.floor} nodes are to stay in service: --floor"
            if serving - gone <= limits.floor
            else f"at most {hourly} may be drained in an hour: --rate"
            if recent + gone >= hourly
            else ""
        )
        if why:
            held.append((one.node, why))
            continue
        groups.setdefault(reason_of(one, found.at), []).append(one.node)
        out, gone, used[kind] = out + 1, gone + 1, used[kind] + 1
    calls += [EngineCall("drain", tuple(nodes), reason) for reason, nodes in groups.items()]
    foreign = tuple(sorted(one.name for one in engine if one.out and one.reason and one.name not in mine))
    return ActionPlan(tuple(calls), tuple(held), foreign, cap, len(left))


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


def undone(last: Iterable[Drained], engine: Sequence[EngineNode]) -> EngineCall | None:
    """The call that takes back drains, of those whose reason is still word for word ours."""
    by_name = {one.name: one for one in engine}
    nodes = [
        one.node
        for one in last
        if one.node in by_name and by_name[one.node].out and by_name[one.node].reason == one.reason
    ]
    return EngineCall("resume", tuple(sorted(set(nodes))), "") if nodes else None
