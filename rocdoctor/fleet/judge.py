"""One round: the records of a fleet and what is kept of earlier ones in, verdicts out. Pure, so it can be repeated.

Three guards keep healthy nodes in: a finding needs more than one record, by its class; what many nodes of a kind show
at once is news of the fleet and no evidence against any of them, also not later; what is not known never drains.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rocdoctor.fleet import statistics
from rocdoctor.fleet.classes import (
    CERTAIN,
    LIKELY,
    LOGGED,
    NET_SLOW,
    SILENT,
    SLOW,
    SPELLS,
    SWAPPED,
    UNANSWERED,
    NodeClass,
    class_of,
)
from rocdoctor.fleet.groups import Oddities, figure_group, kinds, more_ports, norm, same_board
from rocdoctor.fleet.memory import NET_RUNS, FigureLook, NodeMemory
from rocdoctor.fleet.memory import SPELLS as MOST_SPELLS
from rocdoctor.fleet.net.read_net import NetLook
from rocdoctor.fleet.record import NodeRecord, Sighting
from rocdoctor.fleet.verdicts import FleetFinding, FleetVerdict, NodeVerdict, Reason, gravity
from rocdoctor.judging.subjects import number_ranges

# All of these are our judgement; docs/fleet.md says what they reached in simulated fleets, and none was measured.
_COMMON_SHARE, _COMMON_FEWEST = 0.10, 3
_AHEAD_S, _FRESH_S, _OLD_S = 600, 900, 86400
_SILENT_ROUNDS = 3
_EVERYWHERE = "all kinds"
_MOST_DIFFERENT, _MOST_LATE = 12, 3

Memories = dict[str, NodeMemory]
Shown = dict[str, list[tuple[NodeClass, Sighting]]]


@dataclass(frozen=True, slots=True)
class Incoming:
    """What engines brought in one round: records by node, and of other nodes why there is none that can be read.

    ``forget``: nodes of which nothing is to be kept from earlier rounds; ``net``: what runs of pairs say of nodes.
    """

    records: Mapping[str, NodeRecord]
    problems: Mapping[str, str]
    forget: tuple[str, ...] = ()
    net: tuple[NetLook, ...] = ()


def judge(memories: Memories, incoming: Incoming, now: int) -> FleetVerdict:
    """The verdict of a round; ``memories`` are changed to what the next one starts from."""
    for node in incoming.forget:
        memories.pop(node, None)
    records, fresh = _that_count(memories, incoming, now)
    standing = dict(sorted({**records, **fresh}.items()))  # how many nodes show a thing is counted among all of these
    by_kind: dict[str, list[NodeRecord]] = {}
    found_kinds = kinds(standing.values(), {node: one.kind for node, one in memories.items() if one.kind})
    for node, one in standing.items():
        by_kind.setdefault(found_kinds[node], []).append(one)
    findings: list[FleetFinding] = []
    shown: Shown = {}
    for kind, members in sorted(by_kind.items()):
        among = norm(kind, members)
        findings += among.rollouts
        oddities = Oddities(among)
        for record in members:
            memory = memories[record.node]
            same = same_board(memory.kind, kind)  # another board has a past of its own
            had, ports = (memory.gpus, memory.nics) if same else (None, "")
            shown[record.node] = _sightings(record, oddities.of(record, had, ports), memory)
            if record.node in fresh:
                continue
            memory.kind = kind
            memory.gpus = max(len(record.gpus), had or 0) if record.complete else had
            memory.nics = more_ports(ports, record.traits.get("nics"))
            memory.ids = [gpu.id for gpu in record.gpus]
            memory.undecided = _undecided(record, oddities.undecided(record, had))
    common = _common(shown, found_kinds, set(records), findings)
    of_node = {node: frozenset(common[found_kinds[node]] | common[_EVERYWHERE]) for node in standing}
    for node, record in records.items():
        memory, forgotten = memories[node], of_node[node]
        evidence = [one for one in shown[node] if one[0] in ("certain", "likely")]
        memory.undecided = sorted({*memory.undecided, *(forgotten & {one.check for _, one in evidence})})
        memory.begin(record.boot, record.taken_at)
        memory.note(evidence, forgotten, record.taken_at)
        odd = [one for kind, one in shown[node] if kind == "different" and one.check not in forgotten]
        memory.different = [
            [one.check, one.message, *([one.cause, one.gpu] if one.cause or one.gpu is not None else [])]
            for one in odd[:_MOST_DIFFERENT]
        ]
    again = _figures(memories, records, found_kinds)
    findings += _unknowns(standing, memories)
    findings += _met(memories, incoming.net, now)
    nodes = [
        NodeVerdict(node, one.kind, _reasons(one, of_node.get(node, frozenset()), now), one.at)
        for node, one in memories.items()
    ]
    return FleetVerdict(
        now,
        len(memories),
        sum(not one.missed for one in memories.values()),
        tuple(sorted((one for one in nodes if one.reasons), key=lambda one: (gravity(one.reasons[0]), one.node))),
        tuple(findings),
        tuple(sorted(again)),
        {node: one.at for node, one in memories.items() if one.at is not None and not one.missed},
        {node: one.kind for node, one in memories.items() if one.kind},
        {node: one.boot for node, one in memories.items() if one.boot is not None and not one.missed},
        {node: tuple(one.unsettled) for node, one in memories.items() if one.unsettled},
    )


def _that_count(
    memories: Memories, incoming: Incoming, now: int
) -> tuple[dict[str, NodeRecord], dict[str, NodeRecord]]:
    """Records that are newer than what is known and not of the future; and those that still hold and are not new.

    The others cost their own node a round.
    """
    found: dict[str, NodeRecord] = {}
    problems = dict(incoming.problems)
    fresh: dict[str, NodeRecord] = {}
    for node, record in incoming.records.items():
        memory = memories.setdefault(node, NodeMemory())
        if record.taken_at > now + _AHEAD_S:
            problems.setdefault(node, f"its clock is {(record.taken_at - now) // 60} min ahead")
        elif record.taken_at == memory.at and now - record.taken_at <= _FRESH_S and not memory.missed:
            fresh[node] = record
        elif memory.at is not None and record.taken_at <= memory.at:
            problems.setdefault(node, "no record since the last one")
        elif now - record.taken_at > _OLD_S:  # of a node that was never heard: nor does that tell of now
            problems.setdefault(node, f"its record is {(now - record.taken_at) // 3600} h old")
        else:
            found[node] = record
    for node in problems:
        memories.setdefault(node, NodeMemory())
    for node, memory in memories.items():
        if node not in found and node not in fresh:
            memory.missed += 1
            memory.why = problems.get(node, "no record in this round")
    return dict(sorted(found.items())), fresh


def _undecided(record: NodeRecord, here: frozenset[str]) -> list[str]:
    """The checks that could drain a node and of which its record says nothing.

    A line of the log that has grown old says neither that the fault is there nor that it is gone.
    """
    told = {check for checks in record.unknown.values() for check in checks} & (CERTAIN | LIKELY)
    old = {one.check for one in record.findings if one.check in LOGGED and _class(one) == "different"}
    return sorted(told | old | here)


def _class(one: Sighting) -> NodeClass:
    return class_of(one.check, one.severity, one.confidence)


def _sightings(record: NodeRecord, odd: Sequence[Sighting], memory: NodeMemory) -> list[tuple[NodeClass, Sighting]]:
    shown = [*(one for one in record.findings if one.severity != "info"), *odd]
    found: list[tuple[NodeClass, Sighting]] = [(_class(one), one) for one in shown]
    now = [gpu.id for gpu in record.gpus]
    if memory.ids and len(memory.ids) == len(now) and None not in memory.ids and None not in now:
        new = [at for at, (a, b) in enumerate(zip(memory.ids, now, strict=True)) if a != b and b not in memory.ids]
        if new:
            several = len(new) > 1
            words = f"GPU{'s' * several} {number_ranges(new)} {'are' if several else 'is'} not the card{'s' * several} "
            words += f"{'they were' if several else 'it was'}."
            found.append(("different", Sighting(SWAPPED, "", "info", "certain", None, words)))
    return found


def _common(
    shown: Shown, kind_of: Mapping[str, str], new: set[str], findings: list[FleetFinding]
) -> dict[str, set[str]]:
    """The checks that so many nodes fail at once that the cause is not in the nodes, by kind.

    Among all nodes, or among the ``new`` records of this round: where an outage begins, those are the first to show it.
    """
    everyone, example = _Count(), dict[str, str]()
    newest = _Count()
    for node, found in shown.items():
        checks = {one.check for _, one in found}
        for count in (everyone, newest) if node in new else (everyone,):
            count.add(kind_of[node], checks)
            count.add(_EVERYWHERE, checks)
        for _, one in found:
            example.setdefault(one.check, one.message)
    common: dict[str, set[str]] = {kind: set() for kind in (*everyone.nodes, _EVERYWHERE)}
    for kind, check in sorted(everyone.checks):
        if everyone.common(kind, check) or newest.common(kind, check):
            common[kind].add(check)
    for kind, checks in sorted(common.items()):
        for check in sorted(checks):
            if kind != _EVERYWHERE and check in common[_EVERYWHERE]:
                continue
            count, nodes = (everyone, "nodes") if everyone.common(kind, check) else (newest, "nodes with a new record")
            many, size = count.checks[(kind, check)], count.nodes[kind]
            words = f"{check} on {many} of {size} {nodes} at once: a shared cause, so none is drained for it."
            words += f" {example[check]}"
            findings.append(FleetFinding("common", check, many, size, kind, words))
    return common


class _Count:
    """How many nodes there are of each kind, and how many fail each check."""

    def __init__(self) -> None:
        self.nodes: Counter[str] = Counter()
        self.checks: Counter[tuple[str, str]] = Counter()

    def add(self, kind: str, checks: Iterable[str]) -> None:
        """One more node."""
        self.nodes[kind] += 1
        self.checks.update((kind, check) for check in checks)

    def common(self, kind: str, check: str) -> bool:
        """Whether too many fail it."""
        return _is_common(self.checks[(kind, check)], self.nodes[kind])


def _is_common(count: int, among: int) -> bool:
    return count >= _COMMON_FEWEST and count > _COMMON_SHARE * among


def _figures(memories: Memories, records: Mapping[str, NodeRecord], kind_of: Mapping[str, str]) -> set[str]:
    """Keeps the figures of this round beside what is usual; the nodes that ought to measure again."""
    sweeps: dict[tuple[str, str], dict[str, Sequence[float | None]]] = {}
    for node, record in records.items():
        for name, values in record.figures.items():
            if statistics.is_rate(name):
                sweeps.setdefault((figure_group(kind_of[node], record), name), {})[node] = values
    again: set[str] = set()
    for (_, name), sweep in sweeps.items():
        among = _earlier(memories, sweep, name) or statistics.usual(sweep)
        if among is None:
            continue
        numbers = [among.node, among.node_spread, among.share, among.share_spread]
        low = {one.node for one in statistics.suspects(sweep, among)}
        for node, measured in sweep.items():
            kept = memories[node].figures
            if node in low:
                memories[node].measured(name, FigureLook(list(measured), numbers))
                again |= {node} if len(kept[name]) < statistics.LOOKS else set()
            else:
                kept.pop(name, None)  # a look that is as usual ends the suspicion
    return again


def _earlier(memories: Memories, sweep: statistics.Sweep, name: str) -> statistics.Usual | None:
    """What was usual in the look at all, where this is one at those alone that were suspected then."""
    looks = [looks for node in sweep if (looks := memories[node].figures.get(name))]
    return statistics.Usual(*looks[0][-1].usual) if len(looks) * 2 > len(sweep) else None


def _met(memories: Memories, looks: Sequence[NetLook], now: int) -> list[FleetFinding]:
    """Keeps what runs of pairs say of nodes that are known; of a run in which many are slow, nothing."""
    found: list[FleetFinding] = []
    runs: dict[int, list[NetLook]] = {}
    for one in looks:
        if one.node in memories:
            runs.setdefault(one.taken_at, []).append(one)
    for at, among in sorted(runs.items()):
        slow = sum(one.slow for one in among)
        if _is_common(slow, len(among)):
            words = f"{slow} of {len(among)} nodes of one run were slow with all partners: a shared cause."
            found.append(FleetFinding("common", NET_SLOW, slow, len(among), _EVERYWHERE, words))
            continue
        for one in among:
            memories[one.node].met(at, one.slow, one.message, now + _AHEAD_S)
    return found


def _slow(memory: NodeMemory) -> list[Reason]:
    found: list[Reason] = []
    for name, looks in sorted(memory.figures.items()):
        pairs: list[tuple[statistics.Sweep, statistics.Usual]] = [
            ({"": one.values}, statistics.Usual(*one.usual)) for one in looks
        ]
        for one in statistics.confirmed(pairs, ""):
            whole = one.gpu is None
            words = f"{name} is {(1 - one.share) * 100:.0f} % below {'its peers' if whole else 'its neighbours'}."
            found.append(Reason("slow", f"{SLOW}.{name}", "", one.gpu, words, len(looks), len(looks), True))
    return found


def _unknowns(records: Mapping[str, NodeRecord], memories: Memories) -> list[FleetFinding]:
    """Questions and checks that fail on many nodes, and nodes that are silent together."""
    found: list[FleetFinding] = []
    counts: Counter[str] = Counter()
    for record in records.values():
        counts.update({f"{question} ({why})" for question, why in record.unanswered.items() if why == "timeout"})
        counts.update(f"check {one} crashed" for one in record.unknown.get("the check crashed", ()))
    common = {what for what, count in counts.items() if _is_common(count, len(records))}
    for node, record in records.items():
        late = [question for question, why in record.unanswered.items() if why == "timeout"]
        memories[node].unanswered = [one for one in late if f"{one} (timeout)" not in common][:_MOST_LATE]
    for what, count in sorted(counts.items()):
        if what in common:
            words = f"{what} on {count} of {len(records)} nodes: it proves nothing, and no node is drained for it."
            found.append(FleetFinding("unknown", what, count, len(records), _EVERYWHERE, words))
    silent = sum(one.missed > 0 for one in memories.values())
    if _is_common(silent, len(memories)):
        words = f"{silent} of {len(memories)} nodes sent no record in this round: check what collects them."
        found.append(FleetFinding("silent", "no record", silent, len(memories), _EVERYWHERE, words))
    return found


def _reasons(memory: NodeMemory, forgotten: frozenset[str], now: int) -> tuple[Reason, ...]:
    """What speaks against a node; what many have now stays among it, and is not enough to act."""
    found: list[Reason] = []
    if memory.missed:
        quiet = memory.missed >= _SILENT_ROUNDS
        words = f"no usable record for {memory.missed} rounds: {memory.why}" if quiet else memory.why
        found.append(Reason("unknown", SILENT, "", None, words, memory.missed, memory.missed))
    else:  # what was seen before says nothing of a node that does not answer now
        kept = [one.reason for one in memory.trails.values() if one.stale or one.seen[-1] or sum(one.seen) > 1]
        found += [replace(one, ready=False) if one.check in forgotten else one for one in kept]
        found += _slow(memory)
        if looks := memory.slow_in_net(now):
            enough = len(looks) >= NET_RUNS
            found.append(Reason("slow", NET_SLOW, "", None, looks[-1][1], len(looks), len(looks), enough))
        for question in memory.unanswered:
            words = f"{question} gave no answer in time; why is not known."
            found.append(Reason("unknown", UNANSWERED, "", None, words))
        if len(memory.spells) >= MOST_SPELLS:
            words = f"{len(memory.spells)} separate spells of trouble in 7 days."
            found.append(Reason("lemon", SPELLS, "", None, words, len(memory.spells), len(memory.spells), True))
    for check, message, *place in memory.different:
        cause, gpu = place or ("", None)
        found.append(Reason("different", check, cause, gpu, message))
    return tuple(sorted(found, key=gravity))
