"""Node 0's part once all nodes have come: it has them probe the ways between them, and runs modes on all of them."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from rocdoctor.model.printable import one_line
from rocdoctor.parsers.own.smoke_results import SmokeRun
from rocdoctor.train.smoke.nodes import member
from rocdoctor.train.smoke.nodes.findings import (
    NodeFinding,
    clock_findings,
    local_findings,
    merged,
    variable_findings,
    version_findings,
)
from rocdoctor.train.smoke.nodes.interfaces import GLOO, NodeInterface, gloo_choice, interfaces, is_loopback, owner
from rocdoctor.train.smoke.nodes.local_ranks import Local
from rocdoctor.train.smoke.nodes.messages import OrderError, ProbeTarget
from rocdoctor.train.smoke.nodes.node_facts import NodeFacts
from rocdoctor.train.smoke.nodes.node_place import NodePlace
from rocdoctor.train.smoke.nodes.path_findings import face_of, frame_findings, reach_findings, speed_findings
from rocdoctor.train.smoke.nodes.path_probes import ProbedLink
from rocdoctor.train.smoke.nodes.remote_pool import Member, Team
from rocdoctor.train.smoke.nodes.signed_lines import Wire
from rocdoctor.train.smoke.run.rank_sets import MAX_WORLD
from rocdoctor.train.smoke.run.runner import CPU_LIMIT_S, GPU_LIMIT_S, RunSetting, run_modes
from rocdoctor.train.smoke.worker.mode import Mode

_PROBE_S = 60.0  # all probes of one round; each has its own, shorter deadline
_SURVEY_S = 180.0
_CLOCK_ROUNDS = 5
_MAX_FRAME = 65_000  # a datagram's own limit; the loopback interface is above it
_ALL_PAIRS = 32  # nodes up to which each one connects to every other one
Told = Callable[[str, str, int, str], None]


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user asked for. ``wait_s``: how long to wait for the other nodes; ``notes``: on what was left out."""

    modes: tuple[Mode, ...]
    backend: str = "auto"
    device: str = "auto"
    per_node: int | None = None
    wait_s: float = 60.0
    limit_s: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeOutcome:
    """What came out on this node. ``runs`` only on node 0; ``words``: what node 0 told another node at the end.

    ``clocks``: by node, seconds ahead of node 0 and how sure that is. ``probes_s``: from the start to the modes.
    """

    code: int
    findings: tuple[NodeFinding, ...] = ()
    nodes: tuple[NodeFacts, ...] = ()
    links: tuple[ProbedLink, ...] = ()
    clocks: Mapping[int, tuple[float, float]] | None = None
    runs: tuple[SmokeRun, ...] = ()
    probes_s: float = 0.0
    words: str = ""


def backend_of(wish: Wish, mine: NodeFacts) -> str:
    """The library whose address counts, as far as it is known without a look at the GPUs."""
    if wish.backend != "auto":
        return wish.backend
    built = mine.versions.get("hip") or mine.versions.get("cuda")
    return "nccl" if built and wish.device != "cpu" else "gloo"


def for_gpus(mine: NodeFacts, reached: str) -> dict[str, str]:
    """Beside nccl torch forms a gloo group, which must not bind to loopback: the user's job may well do without it."""
    face = owner(mine.interfaces, reached)
    poor = is_loopback(gloo_choice(mine.variables, mine.interfaces, mine.host_address).address or "")
    return {GLOO: face} if poor and face and not mine.variables.get(GLOO) and not is_loopback(reached) else {}


class Lead:
    """Node 0's part after all nodes have come."""

    def __init__(
        self,
        place: NodePlace,
        wish: Wish,
        interpreter: str,
        local: Local,
        wires: Mapping[int, Wire],
        facts: Mapping[int, NodeFacts],
        backend: str,
        told: Told | None,
    ) -> None:
        self.place, self.wish, self.interpreter, self.local, self.wires = place, wish, interpreter, local, wires
        self.facts, self.backend, self.told = dict(facts), backend, told
        self.began = time.monotonic()
        self.links: list[ProbedLink] = []
        self.clocks: dict[int, tuple[float, float]] = {}
        self.ahead: dict[int, float] = {}
        here = {one.here for one in facts.values()}
        self.alone = len(here) == 1 and "" not in here
        self.reached = {node: wire.peer_address() for node, wire in wires.items()}
        self.reached[0] = next(iter(wires.values())).local_address() if wires else ""

    def run(self) -> NodeOutcome:
        """Probe, and run the modes unless a probe tells that they cannot."""
        for node, wire in self.wires.items():
            self._ask_clock(node, wire)
        found = [*self._judge_nodes(), *clock_findings(self.clocks)]
        known = {
            one.nodes for one in found if one.probe in ("interface", "name-resolution") and one.severity == "error"
        }
        mute = {node for nodes in known for node in nodes}
        self._probe(mute)
        found += [
            *reach_findings(self.links),
            *frame_findings(self.links, self.facts),
            *speed_findings(self.links, self.facts),
        ]
        probes_s = time.monotonic() - self.began
        runs: tuple[SmokeRun, ...] = ()
        if not _errors(found):
            setting, problems = self._setting()
            found += problems
            if setting is not None and not _errors(found):
                runs, lost = self._modes(setting)
                found += lost
        bad = [one for each in runs for one in each.modes if one.state in ("fail", "crashed")]
        code = 1 if _errors(found) or bad else 0
        found = merged(found)
        order = {"error": 0, "warning": 1, "info": 2}
        found.sort(key=lambda one: order[one.severity])
        words = found[0].message if _errors(found) else (f"{bad[0].mode}: {bad[0].message}" if bad else "")
        for wire in self.wires.values():
            wire.say(end=1, code=code, words=words[:600])
        nodes = tuple(self.facts[node] for node in sorted(self.facts))
        return NodeOutcome(code, tuple(found), nodes, tuple(self.links), self.clocks, runs, probes_s, words)

    def _judge_nodes(self) -> list[NodeFinding]:
        nodes = [self.facts[node] for node in sorted(self.facts)]
        found = [
            one for node in nodes for one in local_findings(node, self.backend, self.reached[node.node], self.alone)
        ]
        return found + version_findings(nodes) + variable_findings(nodes)

    def _ask_clock(self, node: int, wire: Wire) -> None:
        best = 1e9
        for _ in range(_CLOCK_ROUNDS):
            began, here = time.monotonic(), time.time()
            wire.say(do="time")
            told = wire.wait(2.0, "time")
            ended = time.monotonic()
            if told is None or not all(_is_time(told.get(name)) for name in ("time", "monotonic")):
                return
            if ended - began < best:
                best = ended - began
                self.clocks[node] = (told["time"] - here - best / 2, best / 2)
                self.ahead[node] = told["monotonic"] - began - best / 2

    def _probe(self, mute: set[int]) -> None:
        """Who reaches whom, then the ways between neighbours, those that share no node at the same time."""
        nodes = [node for node in sorted(self.facts) if node not in mute and self.facts[node].answers_at(self.alone)]
        count = len(nodes)
        if count <= _ALL_PAIRS:
            many = {node: [other for other in nodes if other != node] for node in sorted(self.facts)}
        else:
            steps = (1, 2, count // 2)
            many = {node: [nodes[(at + step) % count] for step in steps] for at, node in enumerate(nodes)}
        self.links += self._round(many, False)
        failed = {(one.a, one.b) for one in self.links if one.error}
        pairs = [(nodes[at], nodes[(at + 1) % count]) for at in range(count)][: count if count > 2 else count // 2]
        for turn in range(2):
            chosen = {a: [b] for at, (a, b) in enumerate(pairs) if at % 2 == turn and (a, b) not in failed}
            measured = self._round(chosen, True)
            ways = {(one.a, one.b) for one in measured}
            self.links = [one for one in self.links if (one.a, one.b) not in ways] + measured
        self.links.sort(key=lambda one: (one.a, one.b))

    def _round(self, many: Mapping[int, Sequence[int]], measure: bool) -> list[ProbedLink]:
        aims = {a: [self._target(a, b, measure) for b in targets] for a, targets in many.items() if targets}
        for node, own in aims.items():
            if node:
                self.wires[node].say(do="probe", targets=[asdict(one) for one in own], measure=measure)
        found = member.probe(0, aims[0], measure) if 0 in aims else []
        for node, own in aims.items():
            told = self.wires[node].wait(_PROBE_S, "probed") if node else None
            asked = {one.node: one.address for one in own}
            for one in told["probed"][: len(own)] if told and isinstance(told["probed"], list) else ():
                with contextlib.suppress(OrderError):
                    found.append(member.link_from_json(one, node, asked))
        for wire in self.wires.values():
            wire.take()
        return found

    def _target(self, a: int, b: int, measure: bool) -> ProbeTarget:
        other = self.facts[b]
        ends = [face.mtu for face in (face_of(self.facts[a]), face_of(other)) if face is not None and face.mtu]
        frame = min(*ends, _MAX_FRAME) if measure and len(ends) == 2 else None
        return ProbeTarget(b, other.data_address or "", other.data_port or 0, other.token, frame)

    def _setting(self) -> tuple[RunSetting | None, list[NodeFinding]]:
        """Which ranks, after a look at the GPUs where torch was built for them."""
        wish, count = self.wish, len(self.facts)
        mine = self.facts[0].versions
        library = "RCCL" if mine.get("hip") else "NCCL"
        seen: dict[int, dict[str, Any]] = {}
        if wish.device != "cpu" and (mine.get("hip") or mine.get("cuda")):
            for wire in self.wires.values():
                wire.say(do="survey")
            seen[0] = member.survey(self.interpreter)
            for node, wire in self.wires.items():
                seen[node] = _surveyed((wire.wait(_SURVEY_S, "surveyed") or {}).get("surveyed"))
        gpus = {node: int(one.get("gpus", 0)) for node, one in seen.items()}
        found = _gpu_findings(gpus, seen)
        least = min(gpus.values(), default=0)
        backend = wish.backend if wish.backend != "auto" else ("nccl" if least and seen[0].get("nccl") else "gloo")
        per_node = wish.per_node or (least if backend == "nccl" else 1)
        if backend == "nccl" and per_node > least:
            words = f"--backend nccl needs a GPU for each rank: {per_node} a node asked for, a node has {least}."
            found.append(
                NodeFinding(
                    "gpus",
                    "error",
                    "visible-devices-conflict",
                    (0,),
                    words,
                    "Use fewer ranks per node, or --backend gloo.",
                )
            )
            return None, found
        if backend != self.backend:  # torch has a GPU back end and no GPU: gloo's own address counts after all
            self.backend = backend
            found += [
                one
                for node in self.facts.values()
                for one in local_findings(node, backend, self.reached[node.node], self.alone)
            ]
        device = "cuda" if least and wish.device != "cpu" else "cpu"
        untested = () if backend == "nccl" else (*(("GPUs",) if device == "cpu" else ()), f"{library} between nodes")
        if self.alone:
            untested = (*untested, "any network: all nodes are this one machine")
        limit = wish.limit_s or (CPU_LIMIT_S if device == "cpu" else GPU_LIMIT_S)
        notes = (f"{count} nodes with {per_node} rank{'s' * (per_node > 1)} each, on top of torchrun", *wish.notes)
        return RunSetting(count * per_node, backend, device, limit, tuple(untested), notes), found

    def _modes(self, setting: RunSetting) -> tuple[tuple[SmokeRun, ...], list[NodeFinding]]:
        def mine() -> NodeInterface | None:
            name = owner(self.facts[0].interfaces, self.reached[0])
            return next((one for one in interfaces() if one.name == name), None)

        members = {node: Member(wire, self.ahead.get(node, 0.0)) for node, wire in self.wires.items()}
        more = for_gpus(self.facts[0], self.reached[0]) if setting.device != "cpu" else {}
        hello = {"torch": self.facts[0].versions.get("torch")}
        team = Team(self.local, members, setting.world // len(self.facts), hello, mine, more)
        run = run_modes(team, setting, self.wish.modes, self.told)
        if team.findings:  # the attempt to go on without a node says nothing new
            tried = [one for one in run.modes if one.mode != "start"] or list(run.modes)
            run = replace(run, modes=tuple(tried))
        return (run,), team.findings


def _is_time(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def _surveyed(value: Any) -> dict[str, Any]:
    """What a node says of its GPUs."""
    if not isinstance(value, dict):
        return {"gpus": 0, "problem": "no answer"}
    gpus = value.get("gpus")
    count = gpus if isinstance(gpus, int) and not isinstance(gpus, bool) and 0 <= gpus <= MAX_WORLD else 0
    return {"gpus": count, "problem": one_line(str(value.get("problem", ""))[:300])}


def _gpu_findings(gpus: Mapping[int, int], seen: Mapping[int, Mapping[str, Any]]) -> list[NodeFinding]:
    found = []
    if len(set(gpus.values())) > 1:
        most = max(gpus.values())
        fewer = tuple(node for node, count in gpus.items() if count < most)
        shown = "; ".join(f"{count} on node {node}" for node, count in sorted(gpus.items())[:16])
        words = f"torch does not see the same number of GPUs on all nodes: {shown}."
        problem = next((str(seen[node].get("problem")) for node in fewer if seen[node].get("problem")), "")
        advice = "Run rocdoctor check on the nodes with fewer GPUs." + (
            f" torch says there: {problem}" if problem else ""
        )
        found.append(
            NodeFinding("gpus", "warning", "visible-devices-conflict", fewer, words, advice, "rocdoctor check")
        )
    return found


def _errors(found: Sequence[NodeFinding]) -> bool:
    return any(one.severity == "error" for one in found)
