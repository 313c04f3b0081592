"""Node 0's side while modes run: all ranks of all nodes as if they were one pool, so that they are judged alike."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rocdoctor.train.smoke.judge.late_rank import EVERY_S
from rocdoctor.train.smoke.nodes import messages
from rocdoctor.train.smoke.nodes.findings import NodeFinding
from rocdoctor.train.smoke.nodes.interfaces import NodeInterface
from rocdoctor.train.smoke.nodes.local_ranks import Local
from rocdoctor.train.smoke.nodes.polling import ready
from rocdoctor.train.smoke.nodes.signed_lines import SILENT_S, Wire
from rocdoctor.train.smoke.run.pool import MOST_STRETCHED, START_LIMIT_S, ModeRecord, RankRecord

_AFTER_FAILURE_S = 1.0
_LOOK_S, _STOP_S = 2.0, 5.0
_CAUSE = "network-interface-wrong"


@dataclass(frozen=True, slots=True)
class Member:
    """Another node: the connection to it, and how far its monotonic clock is ahead of ours in seconds."""

    wire: Wire
    ahead_s: float


class Team:
    """All nodes. ``findings``: what happened to the network meanwhile. ``mine`` tells the state of our interface."""

    def __init__(
        self,
        local: Local,
        members: Mapping[int, Member],
        per_node: int,
        hello: dict[str, Any],
        mine: Callable[[], NodeInterface | None],
        more: Mapping[str, str] | None = None,
    ) -> None:
        self._local = local
        self._members = members
        self._per_node = per_node
        self._mine = mine
        self._more = more
        self._generation = 0
        self._ranks: dict[int, RankRecord] = {}
        self._lost: dict[int, str] = {}
        self._starved: dict[int, float] = {}  # by node, how long its ranks have waited for a processor
        self.hello = hello
        self.peak_memory_bytes: int | None = None
        self.findings: list[NodeFinding] = []

    def start(self, world: int, backend: str, device: str, timeout_s: float, limit_s: float) -> ModeRecord:
        """Start torchrun on every node; the record tells which ranks came up. Ends an earlier set."""
        self.stop_ranks()
        self._generation += 1
        self._starved = {}
        self._ranks = {rank: RankRecord(rank, node=rank // self._per_node) for rank in range(world)}
        if self._lost:
            for one in self._ranks.values():
                one.result = {"state": "crashed", "kind": "lost-node", "message": next(iter(self._lost.values()))}
            return ModeRecord("start", 0.0, tuple(self._ranks.values()))
        plan = {"per_node": self._per_node, "backend": backend, "device": device, "timeout_s": timeout_s}
        self._say(do="start", **plan)
        self._local.start(self._per_node, backend, device, timeout_s, self._more)
        # Every rank imports torch for itself here, as those of a training job do.
        return self._wait("start", max(limit_s, START_LIMIT_S))

    def run(self, mode: str, limit_s: float, on_rank: Callable[[int, str], None] | None = None) -> ModeRecord:
        """Run one mode on all ranks and wait for them, at most ``limit_s`` and the time to look at silent ones."""
        for rank, old in self._ranks.items():
            self._ranks[rank] = RankRecord(rank, gpu=old.gpu, node=old.node)
        self._say(do="mode", mode=mode)
        self._local.order(mode)
        return self._wait(mode, limit_s, on_rank)

    @property
    def whole(self) -> bool:
        """All ranks are there and answered the last mode."""
        return (
            bool(self._ranks)
            and not self._lost
            and all(
                one.result is not None and not one.ended and one.result.get("state") != "crashed"
                for one in self._ranks.values()
            )
        )

    def stop_ranks(self) -> None:
        """End the ranks on all nodes and wait until they are gone."""
        self._say(do="stop")
        self._local.stop()
        for _, member in self._there():
            member.wire.wait(_STOP_S, "stopped")
            member.wire.heard = time.monotonic()
        self._ranks = {}

    def _say(self, **order: Any) -> None:
        for _, member in self._there():
            member.wire.say(**order, generation=self._generation)

    def _there(self) -> list[tuple[int, Member]]:
        return [(node, member) for node, member in self._members.items() if node not in self._lost]

    def _wait(self, mode: str, limit_s: float, on_rank: Callable[[int, str], None] | None = None) -> ModeRecord:
        began = time.monotonic()
        deadline = until = began + limit_s
        self._starved[0], next_look = self._local.starved_s(), began + EVERY_S
        before, extra_s = dict(self._starved), 0.0
        while any(one.result is None and not one.ended for one in self._ranks.values()):
            now = time.monotonic()
            if now >= next_look:
                self._starved[0], next_look = self._local.starved_s(), now + EVERY_S
            more_s = self._starved_since(before, limit_s) - extra_s
            if more_s > 0:
                extra_s, deadline, until = extra_s + more_s, deadline + more_s, until + more_s
            if now >= until:
                break
            for event in self._events(min(0.25, until - now)):
                one = self._take(event)
                if one is None:
                    continue
                if on_rank is not None:
                    on_rank(one.rank, str((one.result or {}).get("state", "crashed")))
                if one.ended or (one.result or {}).get("state") == "crashed":
                    until = min(until, time.monotonic() + _AFTER_FAILURE_S)
        wall_s = time.monotonic() - began
        self._look()
        return ModeRecord(mode, wall_s, tuple(self._ranks.values()), time.monotonic() >= deadline)

    def _starved_since(self, before: Mapping[int, float], limit_s: float) -> float:
        """By how much the deadline moves: the node whose ranks waited longest for a processor decides."""
        waited_s = max((now_s - before.get(node, 0.0) for node, now_s in self._starved.items()), default=0.0)
        return min(limit_s * (MOST_STRETCHED - 1.0), waited_s)

    def _events(self, rest_s: float) -> Iterator[dict[str, Any]]:
        waited: list[int | Wire] = [*self._local.handles()]
        waited += [member.wire for _, member in self._there() if not member.wire.closed]
        ready(waited, rest_s)
        yield from self._local.events()
        for node, member in self._there():
            for word in member.wire.take():
                if word.get("generation") != self._generation:
                    continue
                if "starved_s" in word:
                    with contextlib.suppress(messages.OrderError):
                        self._starved[node] = messages.seconds(word["starved_s"])
                elif "event" in word:
                    told = messages.event(word, node * self._per_node, self._per_node)
                    if told is not None:
                        at = told["at"]
                        yield {**told, "at": time.monotonic() if at is None else at - member.ahead_s}
            if member.wire.lost:
                self._lose(node, member.wire)
                yield {"event": "lost", "rank": node * self._per_node}

    def _take(self, found: dict[str, Any]) -> RankRecord | None:
        rank = found.get("rank")
        one = self._ranks.get(rank) if isinstance(rank, int) else None
        if one is None:
            return None
        what = found["event"]
        if what == "ready":
            one.gpu, one.result, one.at = found.get("gpu"), {"state": "pass"}, found["at"]
        elif what in ("result", "not-ready"):
            one.result, one.at = found, found["at"]
        elif what == "exit":
            one.exit_status, one.exit_signal, one.ended_at = found.get("status"), found.get("signal"), found["at"]
            if not one.ended and one.result is None:
                one.result = {"state": "crashed", "kind": "error", "message": "it ended, and torchrun does not say how"}
                one.at = found["at"]
        return one

    def _lose(self, node: int, wire: Wire) -> None:
        """A node does not show itself any more."""
        face = self._mine()
        how = "closed its connection" if wire.closed else f"has not been heard of for {SILENT_S:g} s"
        words = f"Node {node} at {wire.peer_address()} {how}"
        advice = f"Check whether node {node} still runs and whether its interface and every hop on the way are up."
        severed = face is not None and not (face.up and face.running)
        if face is not None and severed:
            words += f", and {face.name} of node 0 has no link (no carrier)"
            advice = f"Look at the cable and the switch port of {face.name} on node 0."
        elif face is not None and not wire.closed:
            words += f"; {face.name} of node 0 has its link"
        self._lost[node] = words
        where = (0,) if severed else (node,)
        self.findings.append(NodeFinding("lost", "error", _CAUSE, where, words + ".", advice, "ip -s link"))
        self._give_up(node)

    def _give_up(self, node: int) -> None:
        """Ranks of a lost node give no more answers."""
        for one in self._ranks.values():
            if one.node == node and one.result is None and not one.ended:
                one.result = {"state": "crashed", "kind": "lost-node", "message": self._lost[node]}
                one.at = time.monotonic()

    def _look(self) -> None:
        """Ask what silent ranks are doing, and what all wrote down."""
        silent = [one.rank for one in self._ranks.values() if one.result is None and not one.ended]
        self._say(do="look", silent=silent)
        answers = [messages.looked(self._local.look(silent), 0, self._per_node)]
        for node, member in self._there():
            told = member.wire.wait(_LOOK_S, "looked")
            if told is None and member.wire.lost:
                self._lose(node, member.wire)
            answers.append(messages.looked((told or {}).get("looked"), node * self._per_node, self._per_node))
        memory = 0
        for own, ranks in answers:
            memory += own
            for rank, seen in ranks.items():
                one = self._ranks.get(rank)
                if one is not None:
                    one.note = seen["note"]
                    one.process_state, one.stack = seen["process_state"], seen["stack"]
                    one.log = seen["log"] if one.ended or one.rank in silent else ""
        for rank in silent:
            self._ranks[rank].silent = self._ranks[rank].result is None
        self.peak_memory_bytes = max(self.peak_memory_bytes or 0, memory) or None
