"""A fleet that is not there: records of N nodes over some rounds, with planted faults, and the truth about them.

    python tools/fleet_world.py --nodes 10000 --seed 7 --out WORLD --truth truth.json
    sh WORLD/ticks.sh STORE                          # judges each round as of its time
    rocdoctor fleet judge STORE --json | python tools/fleet_world.py --score - --truth truth.json

With ``--now`` the last round is of this minute, so that `fleet apply` accepts it. WORLD/bin has a `sinfo` that lists
the nodes: with it first on PATH, `fleet apply STORE` makes its dry run without Slurm.

Three kinds of nodes (fixtures of this project as they record themselves), a tenth of them with older firmware, figures
with jitter in the first three rounds, glitches of one record on sound nodes. WORLD/round-N.jsonl are lines as an engine
tags them (``NODE: RECORD``).

The truth: ``{"seed": 7, "nodes": 10000, "rounds": [{"file": "round-1.jsonl", "at": 1795527600}, ...], "faults": {NODE:
{"kind": ..., "class": ..., "check": ..., "cause": ..., "gpu": INDEX or null, "from_round": 1, "drains": true}, ...},
"fleet": [{"kind": "common", "what": CHECK, "rounds": [3]}]}``. A node that is not in ``faults`` is sound. ``class`` is
one of certain, likely, slow, different, unknown.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rocdoctor.collect import collect
from rocdoctor.compare.snapshot import snapshot
from rocdoctor.fleet.making import record_of
from rocdoctor.fleet.record import NodeRecord, Sighting, as_data
from rocdoctor.host.evidence.capture import CaptureHost, parse
from rocdoctor.judging.diagnose import diagnose
from rocdoctor.judging.loading import check_files, checks_folder, load_check
from rocdoctor.model.finding import Confidence, Severity
from tools.fleet_faults import FAULTS, Fault

_FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
_SKUS = ("mi300x-8gpu", "mi350x-8gpu", "h100-8gpu")
_BEGIN, _ROUND_S = 1_795_527_600, 300
_FIGURE = "matmul_bf16_tflops"
_LESS = (0.07, 0.10, 0.15)
# Our guesses at a sound fleet: what each kind reaches, the spread between nodes, between GPUs of a node, and from one
# measurement to the next.
_OF_NODE, _OF_GPU, _OF_LOOK = 0.010, 0.008, 0.007
_USUAL = {"mi300x-8gpu": 610.0, "mi350x-8gpu": 1270.0, "h100-8gpu": 720.0}
_OLD_SHARE, _OLD_SLOWER = 0.10, 0.03
_GLITCH_SHARE = 0.0005
# (check, severity, confidence), as the checks give them.
GLITCHES: tuple[tuple[str, Severity, Confidence], ...] = (
    ("pcie-replays", "warning", "certain"),
    ("network-link-flaps", "warning", "possible"),
    ("ras-correctable", "warning", "likely"),
    ("ras-uncorrectable", "error", "certain"),
)
OUTAGE: tuple[tuple[str, Severity, Confidence], ...] = (
    ("network-link-flaps", "warning", "possible"),
    ("infiniband-port-down", "warning", "likely"),
)
_BROKEN = ("truncated", "other-name", "clock-ahead", "silent", "huge")
_SWEEPS = 3


class World:
    """All nodes of a seed; ``round`` gives what an engine brings in one round."""

    def __init__(
        self,
        nodes: int,
        seed: int,
        faults: int,
        slow: int,
        broken: int,
        outage: int = 0,
        planted: Mapping[str, Fault] = FAULTS,
    ) -> None:
        self.random, self.begin, self.planted = Random(seed), _BEGIN, planted
        self.names = [f"gpu{at:05d}" for at in range(nodes)]
        self.sku = {name: _SKUS[self.random.choices((0, 1, 2), (5, 3, 2))[0]] for name in self.names}
        self.bases = _bases()
        self.old = {name for name in self.names if self.random.random() < _OLD_SHARE}
        self.speed = {name: self._speeds(name) for name in self.names}
        chosen = self.random.sample(self.names, min(nodes, faults + slow + broken))
        self.faults: dict[str, dict[str, Any]] = {}
        for at, name in enumerate(chosen[:faults]):
            self._plant(name, at)
        for at, name in enumerate(chosen[faults : faults + slow]):
            self._slow(name, _LESS[at % len(_LESS)])
        for at, name in enumerate(chosen[faults + slow :]):
            self.faults[name] = _truth(_BROKEN[at % len(_BROKEN)], "unknown", "fleet-silent", "", None, 2, False)
        self.outage = outage

    def _speeds(self, name: str) -> list[float]:
        middle = _USUAL[self.sku[name]] * self.random.gauss(1, _OF_NODE) * (1 - _OLD_SLOWER * (name in self.old))
        return [middle * self.random.gauss(1, _OF_GPU) for _ in self.bases[self.sku[name]].gpus]

    def _plant(self, name: str, at: int) -> None:
        vendor = str(self.bases[self.sku[name]].gpus[0].chip)[:4]
        base = self.bases[self.sku[name]]
        kinds = [
            one
            for one in self.planted.values()
            if one.vendor in ("", vendor) and (one.kind != "port-down" or base.traits.get("nics"))
            if one.edit(base, 0, Random(0)) != base  # what the kind does not record cannot be lost in its records
        ]
        if not kinds:
            return
        fault = kinds[at % len(kinds)]
        gpu = self.random.randrange(8) if fault.gpu else None
        self.faults[name] = _truth(
            fault.kind, fault.node_class, fault.check, fault.cause, gpu, fault.since, fault.drains
        )

    def _slow(self, name: str, less: float) -> None:
        gpu = self.random.randrange(len(self.speed[name]))
        self.speed[name][gpu] *= 1 - less
        kind = f"slow-{less * 100:.0f}"
        self.faults[name] = _truth(kind, "slow", f"fleet-figure-slow.{_FIGURE}", "", gpu, 1, False)

    def round(self, number: int) -> Iterator[str]:
        """The lines of a round, in a random order."""
        at = self.begin + (number - 1) * _ROUND_S
        order = list(self.names)
        self.random.shuffle(order)
        for name in order:
            yield from self._line(name, number, at)

    def _line(self, name: str, number: int, at: int) -> Iterator[str]:
        fault = self.faults.get(name)
        record = self._record(name, number, at)
        kind = fault["kind"] if fault is not None and number >= fault["from_round"] else ""
        if kind in self.planted and fault is not None:
            record = self.planted[kind].edit(record, fault["gpu"] or 0, self.random)
        elif kind == "clock-ahead":
            record = replace(record, taken_at=at + 86400)
        elif kind == "other-name":
            record = replace(record, node=self.random.choice(self.names))
            record = record if record.node != name else replace(record, node=f"{name}x")
        text = json.dumps(as_data(record), separators=(",", ":"))
        if kind == "silent":
            return
        if kind == "truncated":
            text = text[: self.random.randrange(1, len(text))]
        if kind == "huge":
            text = text[:-1] + ',"more":"' + "x" * (1 << 20) + '"}'
        yield f"{name}: {text}\n"

    def _record(self, name: str, number: int, at: int) -> NodeRecord:
        random, base = self.random, self.bases[self.sku[name]]
        record = replace(base, node=name, taken_at=at - random.randrange(60), boot=f"b-{name}")
        if name in self.old:
            record = replace(record, gpu_traits=self.bases[f"{self.sku[name]} old"].gpu_traits)
        if number <= _SWEEPS:
            values = tuple(round(one * random.gauss(1, _OF_LOOK), 2) for one in self.speed[name])
            record = replace(record, figures={_FIGURE: values})
        if random.random() < _GLITCH_SHARE:
            check, severity, confidence = random.choice(GLITCHES)
            glitch = Sighting(check, "", severity, confidence, random.randrange(8), "Seen once.")
            record = replace(record, findings=(*record.findings, glitch))
        if number == self.outage and random.random() < 0.35:
            lost = (
                Sighting(check, "", severity, sure, None, "A switch restarted.") for check, severity, sure in OUTAGE
            )
            record = replace(record, findings=(*record.findings, *lost))
        return record


def _truth(
    kind: str, node_class: str, check: str, cause: str, gpu: int | None, first: int, drains: bool
) -> dict[str, Any]:
    return {
        "kind": kind,
        "class": node_class,
        "check": check,
        "cause": cause,
        "gpu": gpu,
        "from_round": first,
        "drains": drains,
    }


def _bases() -> dict[str, NodeRecord]:
    """What a sound node of each kind records, also with older firmware: by the code that nodes run."""
    checks = [load_check(path) for path in check_files(checks_folder())]
    found: dict[str, NodeRecord] = {}
    for name in _SKUS:
        machine = collect(CaptureHost(parse((_FIXTURES / f"{name}.capture").read_bytes()), name))
        diagnosis = diagnose(machine, checks)
        look = snapshot(name, machine, diagnosis.verdicts)
        found[name] = record_of(name, _BEGIN, look, diagnosis, tool="0.1.0", rules="world")
        older = tuple({**one, "vbios": f"{one.get('vbios')}-old"} for one in found[name].gpu_traits)
        found[f"{name} old"] = replace(found[name], gpu_traits=older)
    return found


def write(world: World, seed: int, rounds: int, out: Path, truth: Path) -> None:
    """The files of all rounds, the truth, a script that judges the rounds, and a stand-in for sinfo."""
    out.mkdir(parents=True, exist_ok=True)
    listed: list[dict[str, Any]] = []
    for number in range(1, rounds + 1):
        name = f"round-{number}.jsonl"
        with (out / name).open("w", encoding="utf-8") as stream:
            stream.writelines(world.round(number))
        listed.append({"file": name, "at": world.begin + (number - 1) * _ROUND_S})
    program = shlex.join((sys.executable, "-m", "rocdoctor", "fleet", "tick"))
    ticks = (f'{program} "$1" {shlex.quote(str(out.resolve() / one["file"]))} --at {one["at"]}\n' for one in listed)
    (out / "ticks.sh").write_text("".join(ticks), encoding="utf-8")
    slurm = out / "bin" / "sinfo"
    slurm.parent.mkdir(exist_ok=True)
    lines = "".join(f"{name}|idle|gpu:8|none\n" for name in world.names)
    slurm.write_text(f"#!/bin/sh\ncat <<'END'\n{lines}END\n", encoding="utf-8")
    slurm.chmod(0o755)
    fleet = [{"kind": "common", "what": one[0], "rounds": [world.outage]} for one in OUTAGE if world.outage]
    told = {"seed": seed, "nodes": len(world.names), "rounds": listed, "faults": world.faults, "fleet": fleet}
    truth.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def score(truth: dict[str, Any], verdicts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How many planted faults are named (node, GPU, check), by class and kind, and which sound nodes are accused.

    ``verdicts`` are the entries of ``nodes`` in the JSON of ``fleet judge``.
    """
    said = {one["node"]: one for one in verdicts}
    by: dict[str, list[int]] = {}
    missed: list[str] = []
    for node, fault in truth["faults"].items():
        right = any(_names(fault, one) for one in said.get(node, {}).get("reasons", ()))
        right = right and (not fault["drains"] or said[node]["proposal"] == "drain")
        for name in (f"class {fault['class']}", f"kind {fault['kind']}"):
            count = by.setdefault(name, [0, 0])
            count[0] += right
            count[1] += 1
        if not right:
            missed.append(f"{node} {fault['kind']}")
    sound = {node: one for node, one in said.items() if not truth["faults"].get(node, {}).get("drains")}
    accused = [node for node, one in sound.items() if one["proposal"] == "drain"]
    tested = [
        node
        for node, one in sound.items()
        if one["proposal"] == "test" and truth["faults"].get(node, {}).get("class") != "slow"
    ]
    return {"named": by, "missed": missed, "sound_to_drain": accused, "sound_to_test": tested}


def _names(fault: dict[str, Any], reason: dict[str, Any]) -> bool:
    return all(reason[key] == fault[key] for key in ("class", "check", "cause", "gpu"))


def main() -> int:
    """Write a world, or compare the verdicts of a store with the truth."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    add = parser.add_argument
    add("--nodes", type=int, default=1000)
    add("--seed", type=int, default=1)
    add("--rounds", type=int, default=5)
    add("--faults", type=int, default=200, help="nodes with a planted fault, of all kinds in turn")
    add("--slow", type=int, default=60, help="nodes with one GPU that is 7, 10 or 15 %% slow")
    add("--broken", type=int, default=20, help="nodes whose records are spoilt, hostile or missing from round 2 on")
    add("--outage", type=int, default=0, metavar="ROUND", help="a round in which 35 %% of all nodes show one fault")
    add("--now", action="store_true", help="the last round is of this minute, not of a fixed day")
    add("--out", type=Path, metavar="DIR", help="where round-N.jsonl are written")
    add("--truth", type=Path, required=True, metavar="FILE")
    add("--score", metavar="FILE", help="the JSON of `rocdoctor fleet judge STORE --json`, - for standard input")
    asked = parser.parse_args()
    if asked.score:
        text = sys.stdin.read() if asked.score == "-" else Path(asked.score).read_text(encoding="utf-8")
        found = score(json.loads(asked.truth.read_text(encoding="utf-8")), json.loads(text)["nodes"])
        print(json.dumps(found, indent=1))
        return 1 if found["sound_to_drain"] else 0
    if asked.out is None:
        parser.error("--out names the folder for the rounds")
    world = World(asked.nodes, asked.seed, asked.faults, asked.slow, asked.broken, asked.outage)
    if asked.now:
        world.begin = int(time.time()) - (asked.rounds - 1) * _ROUND_S
    write(world, asked.seed, asked.rounds, asked.out, asked.truth)
    print(f"{asked.nodes} nodes, {len(world.faults)} with a fault, {asked.rounds} rounds in {asked.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
