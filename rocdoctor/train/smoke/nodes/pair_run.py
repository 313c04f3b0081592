"""A run of pair rounds over several nodes, seen from one of them: meet as for smoke tests, then lead or follow.

The meeting, its secret and the signed lines are those of smoke tests; nothing but measurements can be asked of a node.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from threading import Thread
from types import FrameType
from typing import Any, Protocol

from rocdoctor.model.printable import one_line
from rocdoctor.train.smoke.nodes import messages, rendezvous
from rocdoctor.train.smoke.nodes.findings import NodeFinding
from rocdoctor.train.smoke.nodes.interfaces import NCCL, bindable, interfaces, nccl_choice, toward
from rocdoctor.train.smoke.nodes.messages import OrderError, ProbeTarget
from rocdoctor.train.smoke.nodes.node_facts import NodeFacts, here, resolve, within
from rocdoctor.train.smoke.nodes.node_place import NodePlace
from rocdoctor.train.smoke.nodes.pair_probes import as_word, from_word, measure_pair
from rocdoctor.train.smoke.nodes.pair_results import PairResult
from rocdoctor.train.smoke.nodes.path_findings import face_of
from rocdoctor.train.smoke.nodes.path_probes import Responder, Stream, stream_of
from rocdoctor.train.smoke.nodes.polling import ready
from rocdoctor.train.smoke.nodes.secret import BEFOREHAND, VARIABLE, SecretError, left_for_others, make
from rocdoctor.train.smoke.nodes.signed_lines import Wire

_CAUSE = "network-interface-wrong"
_MOST_ROUND, _MOST_LIMIT_S = 63, 60.0
_REPORT_S = 3.0  # beyond the deadline of a pair, for what its nodes have to say of it
_RESOLVE_S = 4.0
_MOST_STREAMS = 64


class PairPlan(Protocol):
    """Who measures with whom."""

    def next(self, results: Sequence[PairResult], gone: Collection[int] = ()) -> list[tuple[int, int]]:
        """The pairs of the next round, none at the end."""
        ...


PairPlanner = Callable[[Sequence[int]], PairPlan]
"""Makes the plan once it is known who came."""


@dataclass(frozen=True, slots=True)
class PairOutcome:
    """What came of it on this node; all but ``code``, ``words`` and ``findings`` on node 0 alone.

    ``gone``: nodes that did not come, were lost or have no address to be measured at, with the reason. ``faces``: the
    interface that each node was measured at. ``rounds``: pairs and seconds of each.
    """

    code: int
    findings: tuple[NodeFinding, ...] = ()
    results: tuple[PairResult, ...] = ()
    gone: Mapping[int, str] = field(default_factory=dict)
    faces: Mapping[int, str] = field(default_factory=dict)
    rounds: tuple[tuple[int, float], ...] = ()
    words: str = ""


def pairs_over_nodes(
    place: NodePlace, wait_s: float, limit_s: float, planner: PairPlanner, say: rendezvous.Say
) -> PairOutcome:
    """Run this node's part; ``limit_s``: the deadline of a pair."""
    with contextlib.ExitStack() as stack:
        os.environ.pop(VARIABLE, None)
        before = signal.signal(signal.SIGTERM, _terminate)
        stack.callback(signal.signal, signal.SIGTERM, before)
        try:
            if place.node:
                return _follow(place, wait_s, say, stack)
            if not place.key:
                place = replace(place, key=make())
                stack.enter_context(left_for_others(place.run, place.key))
            wires, facts = rendezvous.host(place, wait_s, say, without_some=True)
            for wire in wires.values():
                stack.callback(wire.close)
            mine, responder = _answering(0, reached_at(wires.values()), stack)
            return PairLead(place, limit_s, wires, {0: mine, **facts}, responder).run(planner)
        except SecretError as problem:
            words = f"Node 0 cannot tell the others the secret of this run: {problem}."
            cause = "rendezvous-name-resolution"
            return PairOutcome(1, (NodeFinding("rendezvous", "error", cause, (0,), words, BEFOREHAND),))
        except rendezvous.MeetingError as problem:
            return PairOutcome(1, problem.findings)


def reached_at(wires: Iterable[Wire]) -> str:
    """The address of this node at which most others reach it; one that comes another way must not make it unreachable.

    Of equals that of the first; ``wires`` is not empty.
    """
    return Counter(one.local_address() for one in wires).most_common(1)[0][0]


def _terminate(_number: int, _frame: FrameType | None) -> None:
    # A batch system tells the whole step, and who started us tells it again: what is being closed is not left half.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(143)


def _answering(node: int, reached: str, stack: contextlib.ExitStack) -> tuple[NodeFacts, Responder | None]:
    """This node with the address at which it is measured: that of NCCL's interface where one is named or is ib*."""
    faces = interfaces()
    choice = nccl_choice(os.environ, faces)
    named = os.environ.get(NCCL, "").strip() or (choice.interface or "").startswith("ib")
    address = (choice.address if named else None) or reached
    bare = NodeFacts(node, {}, faces, None, None, {}, here())
    token = secrets.token_hex(12)
    try:
        responder = Responder(address, token) if address else None
    except OSError:
        responder = None
    if responder is None:
        return bare, None
    stack.callback(responder.close)
    return replace(bare, data_address=address, data_port=responder.port, token=token), responder


def _follow(place: NodePlace, wait_s: float, say: rendezvous.Say, stack: contextlib.ExitStack) -> PairOutcome:
    addresses = within(_RESOLVE_S, lambda: resolve(place.host)) or ()
    reached = next((one for address in addresses if (one := toward(address))), "")
    mine, responder = _answering(place.node, reached, stack)
    wire = rendezvous.join(place, mine, wait_s, say)
    stack.callback(wire.close)
    return serve_pairs(wire, place.node, responder)


def serve_pairs(wire: Wire, node: int, responder: Responder | None) -> PairOutcome:
    """Measure with whom node 0 says, until it says that it is the end."""
    while True:
        ready([wire], 0.25)
        for word in wire.take():
            if "end" in word:
                code = word.get("code")
                words = one_line(str(word.get("words", ""))[:600])
                return PairOutcome(code if isinstance(code, int) and 0 <= code <= 3 else 1, words=words)
            if "do" in word:
                try:
                    _obey(wire, node, responder, word)
                except OrderError:
                    words = f"Node 0 gave node {node} an order that makes no sense, so node {node} has stopped."
                    fix = "Compare the versions of rocdoctor on both nodes."
                    return PairOutcome(1, (NodeFinding("lost", "error", _CAUSE, (0,), words, fix),))
                wire.heard = time.monotonic()  # what came meanwhile has not been read yet
        if wire.lost:
            words = "Node 0 closed the connection." if wire.closed else "Node 0 has not been heard of for some seconds."
            fix = "Look at node 0's report, whether node 0 still runs, and whether every hop on the way is up."
            return PairOutcome(1, (NodeFinding("lost", "error", _CAUSE, (0,), words, fix, "ip -s link"),))


def _obey(wire: Wire, node: int, responder: Responder | None, order: Mapping[str, Any]) -> None:
    number = messages.whole(order.get("round"), 0, _MOST_ROUND)
    if order["do"] == "pair":
        aims = messages.targets(order, bindable(wire.peer_address()))
        limit_s = messages.seconds(order.get("limit_s"))
        if len(aims) != 1 or limit_s > _MOST_LIMIT_S:
            raise OrderError
        wire.say(paired=as_word(measure_pair(node, aims[0], number, limit_s)), round=number)
    elif order["do"] == "came":
        came = responder.seen(number) if responder is not None else []
        wire.say(came=[[one.received_bytes, one.seconds, one.stalled] for one in came], round=number)
    else:
        raise OrderError


class PairLead:
    """Node 0's part once all have come, or the time for that is over."""

    def __init__(
        self,
        place: NodePlace,
        limit_s: float,
        wires: Mapping[int, Wire],
        facts: Mapping[int, NodeFacts],
        responder: Responder | None,
    ) -> None:
        self.limit_s, self.wires, self.facts, self.responder = limit_s, wires, facts, responder
        marks = {one.here for one in facts.values()}
        self.alone = len(marks) == 1 and "" not in marks
        self.gone = {node: "did not finish in time" for node in range(place.nodes) if node not in facts}
        for node, one in facts.items():
            if not one.answers_at(self.alone):
                self.gone[node] = "has no address at which others reach it"
        self.results: list[PairResult] = []
        self.rounds: list[tuple[int, float]] = []

    def run(self, planner: PairPlanner) -> PairOutcome:
        """All rounds of the plan."""
        plan = planner([node for node in sorted(self.facts) if node not in self.gone])
        while (pairs := plan.next(self.results, self.gone)) and len(self.rounds) <= _MOST_ROUND:
            began = time.monotonic()
            self.results += self._round(pairs, len(self.rounds))
            self.rounds.append((len(pairs), time.monotonic() - began))
        for wire in self.wires.values():
            wire.say(end=1, code=0, words="")
        faces = {node: face.name for node, one in self.facts.items() if (face := face_of(one)) is not None}
        return PairOutcome(0, (), tuple(self.results), dict(self.gone), faces, tuple(self.rounds))

    def _round(self, pairs: Sequence[tuple[int, int]], number: int) -> list[PairResult]:
        for a, b in pairs:
            if a:
                target = asdict(self._target(b))
                self.wires[a].say(do="pair", targets=[target], round=number, limit_s=self.limit_s)
        own = [(a, b) for a, b in pairs if a == 0]
        mine: list[PairResult] = []
        worker = Thread(
            target=lambda: mine.extend(measure_pair(0, self._target(b), number, self.limit_s) for _, b in own),
            daemon=True,
        )
        worker.start()
        told = self._answers("paired", {a for a, _ in pairs if a}, number, self.limit_s + _REPORT_S)
        worker.join(self.limit_s + _REPORT_S)
        words: dict[int, Any] = {node: word for node, word in told.items() if isinstance(word, dict)}
        words |= {0: as_word(mine[0])} if mine else {}
        asked = {b for a, b in pairs if a in words and b}
        for b in asked:
            self.wires[b].say(do="came", round=number)
        came = {b: _streams(word) for b, word in self._answers("came", asked, number, _REPORT_S).items()}
        if self.responder is not None:
            came[0] = self.responder.seen(number)
        return [
            from_word(words[a], (a, b), number, came.get(b), self._speed(a, b))
            if a in words
            else PairResult(a, b, number, "silent", why=self.gone.get(a, "no report in time"))
            for a, b in pairs
        ]

    def _answers(self, name: str, nodes: set[int], number: int, limit_s: float) -> dict[int, Any]:
        """What nodes say under a name of this round; later than that, nothing is waited for."""
        found: dict[int, Any] = {}
        deadline = time.monotonic() + limit_s
        while nodes - found.keys() - self.gone.keys():
            rest = deadline - time.monotonic()
            if rest <= 0:
                break
            ready([wire for wire in self.wires.values() if not wire.closed], min(0.25, rest))
            for node, wire in self.wires.items():
                for word in wire.take():
                    if name in word and word.get("round") == number and node in nodes:
                        found[node] = word[name]
                if wire.lost:
                    how = "closed its connection" if wire.closed else "has not been heard of for some seconds"
                    self.gone.setdefault(node, how)
        return found

    def _target(self, b: int) -> ProbeTarget:
        other = self.facts[b]
        return ProbeTarget(b, other.data_address or "", other.data_port or 0, other.token)

    def _speed(self, a: int, b: int) -> int | None:
        """What the slower interface of the two says."""
        told = [
            face.speed_mbit_s if face is not None else None for face in map(face_of, (self.facts[a], self.facts[b]))
        ]
        known = [one for one in told if one]
        return min(known) if len(known) == 2 else None


def _streams(value: Any) -> list[Stream] | None:
    """The streams that a node says came to it; None for what has not their form."""
    if not isinstance(value, list) or len(value) > _MOST_STREAMS:
        return None
    found = [stream_of(*one) if isinstance(one, list) and len(one) == 3 else None for one in value]
    return [one for one in found if one is not None] if None not in found else None
