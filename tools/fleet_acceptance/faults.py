"""Figure 2: planted faults of nodes, those that the world knows and those that were held out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from rocdoctor.fleet.store import Batch, Store
from rocdoctor.report.fleet.fleet_json import report
from tools.fleet_acceptance.held_out import HELD_OUT
from tools.fleet_acceptance.rows import Row, Setting, none, share
from tools.fleet_faults import FAULTS, Fault
from tools.fleet_world import World, score, write

_ROUNDS = 5


def figure(setting: Setting) -> Iterator[Row]:
    """Two hundred of each, in two fleets: as thin as that none looks like a shared cause, or bought like that."""
    for name, planted, seed in (("known", FAULTS, setting.seed), ("held-out", HELD_OUT, setting.seed + 1)):
        yield from _planted(setting, name, planted, seed)


def _planted(setting: Setting, name: str, planted: Mapping[str, Fault], seed: int) -> Iterator[Row]:
    place = setting.place(f"faults-{name}")
    nodes, faults = (4000, 200) if setting.heavy else (1000, 50)
    world = World(nodes, seed, faults, 0, 10, planted=planted)
    write(world, seed, _ROUNDS, place, place / "truth.json")
    truth = json.loads((place / "truth.json").read_text())
    store, wrong = Store(place / "store"), []
    for one in truth["rounds"]:
        batch = Batch()
        batch.read(place / one["file"])
        found = store.tick(batch, one["at"])
        due = {node for node, fault in truth["faults"].items() if fault["drains"]}
        wrong += [each.node for each in found.nodes if each.proposal == "drain" and each.node not in due]
    scored = score(truth, report(store.again())["nodes"])
    of_faults = {node: fault for node, fault in truth["faults"].items() if fault["class"] != "unknown"}
    missed = [one for one in scored["missed"] if one.partition(" ")[0] in of_faults]
    label = f"{len({one['kind'] for one in of_faults.values()})} {name} kinds"
    yield share(f"{label}: named with node, GPU and cause", len(of_faults) - len(missed), len(of_faults), 0.98)
    certain = scored["named"].get("class certain", [0, 0])
    yield share(f"{label}: certain ones", certain[0], certain[1], 1.0)
    yield none(f"{label}: sound nodes proposed for a drain, any round", sorted(set(wrong)))
    if missed:
        yield Row(f"{label}: missed", "", ", ".join(missed[:6]), None)
