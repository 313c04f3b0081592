"""What is kept of each node from round to round: little, and plain enough to be written as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rocdoctor.fleet.classes import EVENTS, NETWORK, NodeClass
from rocdoctor.fleet.kinds import fits
from rocdoctor.fleet.record import Sighting
from rocdoctor.fleet.statistics import LOOKS
from rocdoctor.fleet.verdicts import Reason

# Our judgement; the half week of docs/fleet.md was simulated with these.
WINDOW = 5
_LIKELY_SEEN = 3
_NETWORK_S = 300
_SPELL_S = 7 * 24 * 3600
SPELLS = 8
NET_RUNS = 2
_ONE_EVENT_S = 120.0  # what goes wrong once may print for minutes


@dataclass(slots=True)
class Trail:
    """One finding of a node over its last records of this boot: ``seen`` as 0 and 1, ``times`` when it was there.

    ``stale``: the last record says nothing of it, as the last ``skipped`` ones do. ``logged_s``: of an event, when its
    last line was written; ``seen`` then are the times that it happened.
    """

    node_class: NodeClass
    check: str
    cause: str
    gpu: int | None
    message: str
    seen: list[int] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    looks: int = 1
    stale: bool = False
    skipped: int = 0
    logged_s: float | None = None

    def note(self, there: bool, at: int) -> None:
        """One more record that says whether it is there."""
        late = self.times and at - self.times[-1] > _SPELL_S
        if there and (late or (self.skipped >= WINDOW and self.check not in EVENTS)):
            self.seen = []  # what was so long ago is not to be added up with this
        self.stale, self.skipped = False, 0
        self.seen = [*self.seen, int(there)][-WINDOW:]
        if there:
            self.times = [*self.times, at][-WINDOW:]

    def logged(self, logged_s: float | None, at: int) -> None:
        """A record that shows a line of the log: the same line again, or one that bears no time, is nothing new."""
        self.stale = False
        before = self.logged_s
        if not self.times or (logged_s and before and logged_s > before + _ONE_EVENT_S):  # 0: a line without a time
            self.note(True, at)
        self.logged_s = logged_s if before is None or logged_s is None else max(logged_s, before)

    def skip(self) -> None:
        """One more record that says nothing of it."""
        self.stale, self.skipped = True, self.skipped + 1

    @property
    def over(self) -> bool:
        """Whether no record of the window shows it."""
        return not any(self.seen)

    @property
    def ready(self) -> bool:
        """Whether it has been seen often enough to act.

        In three of the last five records; what is certain also in two looks one after the other, and what is of the
        network twice within five minutes.
        """
        if self.stale or not self.seen or not self.seen[-1]:
            return False
        if sum(self.seen) >= _LIKELY_SEEN:
            return True
        if self.node_class == "certain":
            return self.looks >= 2 or self.seen[-2:] == [1, 1]
        return self.check in NETWORK and len(self.times) > 1 and self.times[-1] - self.times[-2] <= _NETWORK_S

    @property
    def reason(self) -> Reason:
        """It as a reason against the node."""
        return Reason(
            self.node_class, self.check, self.cause, self.gpu, self.message, sum(self.seen), len(self.seen), self.ready
        )


@dataclass(slots=True)
class FigureLook:
    """The figures of one measurement of a node, with what was usual in its group then (four numbers)."""

    values: list[float | None]
    usual: list[float]


@dataclass(slots=True)
class NodeMemory:
    """One node. ``at``: when its last record was taken; ``missed``: rounds since then without one that counts.

    ``undecided``: the checks of which that record says nothing. ``unsettled``: those that were once enough to act, in
    whatever boot, and that no record since has shown to be gone. ``in_row``: of checks that are certain, how many
    records in a row have failed them, in whatever boot and on whatever GPU: a node that restarts again and again has
    few records of each boot.
    """

    at: int | None = None
    boot: str | None = None
    kind: str = ""
    gpus: int | None = None
    nics: str = ""  # of all that it recorded, the ports that carry most
    ids: list[str | None] = field(default_factory=list)
    missed: int = 0
    why: str = ""
    trails: dict[str, Trail] = field(default_factory=dict)
    different: list[list[Any]] = field(default_factory=list)  # check and sentence, and of some cause and GPU
    unanswered: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    unsettled: list[str] = field(default_factory=list)
    sick: bool = False
    spells: list[int] = field(default_factory=list)
    figures: dict[str, list[FigureLook]] = field(default_factory=dict)
    net: list[list[Any]] = field(default_factory=list)  # when it was slow with all partners, and the sentence
    net_at: int = 0
    in_row: dict[str, int] = field(default_factory=dict)

    def begin(self, boot: str | None, at: int) -> None:
        """A record has come; what was seen in another boot proves nothing of this one."""
        if boot != self.boot:
            self.trails, self.boot = {}, boot
        if self.at is not None and at - self.at > _SPELL_S:
            self.in_row = {}
        self.at, self.missed, self.why = at, 0, ""

    def note(self, found: Sequence[tuple[NodeClass, Sighting]], forgotten: frozenset[str], at: int) -> None:
        """What a record shows. Of checks that are ``forgotten``, which many nodes fail now, it says nothing.

        Nor of those that are undecided, as long as it does not show them.
        """
        there: dict[str, tuple[NodeClass, Sighting]] = {}
        for node_class, one in found:
            if one.check in forgotten:
                continue
            _, other = there.setdefault(one.key, (node_class, one))
            if one.event and (one.logged_s or 0.0) > (other.logged_s or 0.0):
                there[one.key] = node_class, one  # several errors of one GPU: the last of them
        for key, (node_class, one) in there.items():
            trail = self.trails.setdefault(key, Trail(node_class, one.check, one.cause, one.gpu, one.message))
            trail.node_class, trail.message, trail.cause = node_class, one.message, one.cause
            trail.looks = 1 if one.event else one.looks
        for key, trail in list(self.trails.items()):
            if trail.check in forgotten or (key not in there and trail.check in self.undecided):
                trail.skip()
            elif key in there and there[key][1].event:
                trail.logged(there[key][1].logged_s, at)
            else:
                trail.note(key in there, at)
                if trail.over:
                    del self.trails[key]
        lasting = {one.check for node_class, one in there.values() if node_class == "certain" and not one.event}
        self.in_row = {check: min(self.in_row.get(check, 0) + 1, WINDOW) for check in lasting}
        for check, count in self.in_row.items():
            trails = [trail for key, trail in self.trails.items() if key in there and trail.check == check]
            if count >= WINDOW and not any(trail.ready for trail in trails):
                for trail in trails:
                    trail.seen = [1] * WINDOW
        left = {*self.undecided, *(one.check for _, one in found)}.intersection(self.unsettled)
        self.unsettled = sorted(left | {one.check for one in self.trails.values() if one.ready})
        if there and not self.sick:
            self.spells.append(at)
        self.sick = bool(there) or (self.sick and any(one.stale for one in self.trails.values()))
        self.spells = [one for one in self.spells if one > at - _SPELL_S]

    def measured(self, name: str, look: FigureLook) -> None:
        """One more measurement; as many are kept as a verdict needs."""
        self.figures[name] = [*self.figures.get(name, []), look][-LOOKS:]

    def met(self, at: int, slow: bool, message: str, now: int) -> None:
        """A newer run of pairs: one in which it was fast with somebody ends the suspicion."""
        if self.net_at < at <= now:
            self.net_at = at
            self.net = [*self.net, [at, message]][-NET_RUNS:] if slow else []

    def slow_in_net(self, now: int) -> list[list[Any]]:
        """The runs of the last week, one after the other, in which it was slow with all partners."""
        return [one for one in self.net if one[0] > now - _SPELL_S]


def as_state(memory: NodeMemory) -> dict[str, Any]:
    """A node as plain data, without what is as at the beginning."""
    return {key: value for key, value in asdict(memory).items() if value not in (None, "", 0, [], {}, False)}


def from_state(data: dict[str, Any]) -> NodeMemory:
    """The reverse of ``as_state``. Raises TypeError or ValueError for what is no such state."""
    trails = {key: Trail(**one) for key, one in data.get("trails", {}).items()}
    figures = {name: [FigureLook(**one) for one in looks] for name, looks in data.get("figures", {}).items()}
    found = NodeMemory(**{**data, "trails": trails, "figures": figures})
    if not fits(found) or not all(map(_tells, found.different)):
        raise TypeError("a field is from another kind")
    times = [one[0] for one in found.net if one]
    usual = [one.usual for looks in found.figures.values() for one in looks]
    if {*map(len, found.net)} - {2} or {*map(len, usual)} - {4} or {*map(type, times)} - {int}:
        raise TypeError("a field is from another kind")
    return found


def _tells(row: list[Any]) -> bool:
    """Whether it is a check and a sentence, with cause and GPU or without."""
    gpu = row[3] if len(row) == 4 else None
    return len(row) in (2, 4) and {*map(type, row[:3])} == {str} and (gpu is None or type(gpu) is int)
