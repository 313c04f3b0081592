"""The world of tools/fleet_world.py through the judge: what is planted is named, and no sound node is accused."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from rocdoctor.fleet.classes import CERTAIN, LIKELY
from rocdoctor.fleet.slurm import nodes_of
from rocdoctor.fleet.store import Batch, Store
from rocdoctor.report.fleet.fleet_json import report
from tests.golden.replay import our_checks
from tools.fleet_faults import FAULTS
from tools.fleet_world import World, score, write


def _verdicts(tmp_path: Path, world: World, rounds: int) -> tuple[dict[str, object], dict[str, object]]:
    truth = tmp_path / "truth.json"
    write(world, 1, rounds, tmp_path, truth)
    told = json.loads(truth.read_text())
    store = Store(tmp_path / "fleet")
    found = None
    for one in told["rounds"]:
        batch = Batch()
        batch.read(tmp_path / one["file"])
        found = store.tick(batch, one["at"])
        drained = [each.node for each in found.nodes if each.proposal == "drain"]
        assert all(told["faults"].get(node, {}).get("drains") for node in drained), one
    assert found is not None
    assert store.again() == found
    return told, report(found)


@pytest.mark.parametrize("seed", [5])
def test_what_is_planted_is_named(tmp_path: Path, seed: int) -> None:
    told, said = _verdicts(tmp_path, World(500, seed, faults=40, slow=9, broken=5), 4)
    found = score(told, said["nodes"])  # type: ignore[arg-type]
    assert found["missed"] == []
    assert found["sound_to_drain"] == found["sound_to_test"] == []
    assert found["named"]["class certain"][1] >= 10


def test_an_outage_drains_nobody_that_is_sound(tmp_path: Path) -> None:
    told, said = _verdicts(tmp_path, World(300, 6, faults=10, slow=0, broken=0, outage=2), 4)
    assert score(told, said["nodes"])["sound_to_drain"] == []  # type: ignore[arg-type]


def test_faults_are_worded_as_checks_word_them() -> None:
    """A planted finding names a check that exists, in the class that the judge gives it."""
    names = {one.name for one in our_checks()}
    lists = {"certain": CERTAIN, "likely": LIKELY}
    for one in FAULTS.values():
        assert one.check in names or one.check.startswith("fleet-"), one.kind
        assert one.node_class not in lists or one.check in lists[one.node_class], one.kind


def test_the_score_notices_a_miss_and_a_wrong_accusation() -> None:
    fault = {"kind": "k", "class": "certain", "check": "c", "cause": "", "gpu": 2, "drains": True}
    truth = {"faults": {"a": fault}}
    reason = {key: fault[key] for key in ("class", "check", "cause", "gpu")}
    good = {"node": "a", "proposal": "drain", "reasons": [reason]}
    assert score(truth, [good])["missed"] == []
    for bad in ({"proposal": "none"}, {"reasons": [{**reason, "gpu": 3}]}, {"node": "b"}):
        assert score(truth, [{**good, **bad}])["missed"] == ["a k"]
    assert score(truth, [good, {**good, "node": "b"}])["sound_to_drain"] == ["b"]


def test_the_script_judges_each_round_as_of_its_time_and_sinfo_has_all_nodes(tmp_path: Path) -> None:
    world = World(4, 1, faults=0, slow=0, broken=0)
    write(world, 1, 2, tmp_path / "w", tmp_path / "truth.json")
    lines = [shlex.split(line) for line in (tmp_path / "w" / "ticks.sh").read_text().splitlines()]
    rounds = json.loads((tmp_path / "truth.json").read_text())["rounds"]
    assert [line[-3:] for line in lines] == [[str(tmp_path / "w" / r["file"]), "--at", str(r["at"])] for r in rounds]
    assert [one.name for one in nodes_of((tmp_path / "w" / "bin" / "sinfo").read_text())] == world.names
