"""Drains and releases on a real slurmctld with two real nodes."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rocdoctor.fleet.acting import ActionLimits, EngineCall, label_of, reason_of
from rocdoctor.fleet.verdicts import FleetVerdict, NodeVerdict, Reason
from rocdoctor.host.base import Answer
from rocdoctor.service.fleet_apply import Acting
from tests.train.smoke.nodes.network import missing
from tests.train.smoke.nodes.slurm import Cluster, cluster, slurm_missing
from tests.waiting import until

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(bool(slurm_missing() or missing()), reason="needs Slurm and network namespaces"),
]


@pytest.fixture(scope="module")
def slurm() -> Iterator[Cluster]:
    with cluster(2, gpus=1) as made:
        yield made


class _Engine:
    """Slurm's programs where its controller is."""

    def __init__(self, slurm: Cluster) -> None:
        self.slurm = slurm

    def __call__(self, argv: list[str]) -> Answer:
        done = subprocess.run(
            self.slurm.inside(0, *argv),
            capture_output=True,
            env=self.slurm.environment(LC_ALL="C"),
            check=False,
            timeout=60,
        )
        return Answer("q", "ok", done.stdout + done.stderr, done.returncode)

    def state(self, node: str) -> str:
        return self(["sinfo", "-h", "-n", node, "-N", "-o", "%T|%E"]).text.strip()


def _verdict(*bad: str) -> FleetVerdict:
    reason = Reason("certain", "ras-uncorrectable", "", 0, "Errors.", 2, 2, True)
    now = int(time.time())
    nodes = tuple(NodeVerdict(name, "k", (reason,), now) for name in bad)
    names = ("n0", "n1")
    return FleetVerdict(now, 2, 2, nodes, (), (), dict.fromkeys(names, now), dict.fromkeys(names, "k"))


def test_a_bad_node_goes_and_comes_back(slurm: Cluster, tmp_path: Path) -> None:
    engine, limits = _Engine(slurm), ActionLimits(share=0.5, rate=1.0)
    acting = Acting(tmp_path, engine)
    assert engine.state("n1") == "idle|none"
    done, failed = acting.apply(_verdict("n1", "n0"), limits)
    assert (failed, done.cap, done.held) == ([], 1, (("n0", "at most 1 may be out at once: --share, --most"),))
    state, reason = engine.state("n1").split("|")
    assert (state, reason) == ("drained", done.calls[0].reason)
    assert acting.apply(_verdict("n1"), limits)[0].calls == ()
    late = replace(_verdict(), heard=dict.fromkeys(("n0", "n1"), int(time.time()) + 1))
    back, failed = acting.apply(late, limits)
    assert ([one.action for one in back.calls], failed) == (["resume"], [])
    assert engine.state("n1").startswith("idle")


def test_a_reason_that_somebody_changed_is_theirs(slurm: Cluster, tmp_path: Path) -> None:
    engine, limits = _Engine(slurm), ActionLimits(share=0.5, rate=1.0)
    acting = Acting(tmp_path, engine)
    acting.apply(_verdict("n1"), limits)
    engine(["scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=rocdoctor: mine now, Ann"])
    late = replace(_verdict(), heard=dict.fromkeys(("n0", "n1"), int(time.time()) + 1))
    found, _ = acting.apply(late, limits)
    assert (found.calls, found.foreign) == ((), ("n1",))
    assert acting.undo()[0] == []
    engine(["scontrol", "update", "NodeName=n1", "State=RESUME"])


def test_a_job_that_runs_ends_by_itself(slurm: Cluster, tmp_path: Path) -> None:
    engine = _Engine(slurm)
    acting = Acting(tmp_path, engine)
    argv = slurm.inside(0, "srun", "-w", "n1", "-N", "1", "sleep", "8")
    job = subprocess.Popen(argv, env=slurm.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        assert until(lambda: engine.state("n1").startswith(("alloc", "mix")))
        acting.apply(_verdict("n1"), ActionLimits(share=0.5, rate=1.0))
        assert engine.state("n1").startswith("draining")
        assert job.wait(60) == 0
    finally:
        job.kill()
        job.wait()
    assert engine.state("n1").startswith("drained")
    assert acting.undo()[1] == []


def test_a_suspect_stands_in_a_reservation_until_a_record_speaks_for_it(slurm: Cluster, tmp_path: Path) -> None:
    """A job that runs goes on, others start elsewhere or in the reservation; of two suspects one comes back."""
    engine = _Engine(slurm)
    acting = Acting(tmp_path, engine)
    limits = ActionLimits(share=1.0, rate=1.0, suspects=True)
    lemon = Reason("lemon", "fleet-many-spells", "", None, "8 spells.", 8, 8, True)
    found = replace(_verdict(), nodes=(NodeVerdict("n1", "k", (lemon,), int(time.time())),))
    job = subprocess.Popen(slurm.inside(0, "srun", "-w", "n1", "-N", "1", "sleep", "8"), env=slurm.environment())
    try:
        assert until(lambda: engine.state("n1").startswith(("alloc", "mix")))
        done, failed = acting.apply(found, limits)
        assert ([one.action for one in done.calls], failed) == (["aside"], [])
        assert acting.apply(found, limits)[0].calls == ()
        assert job.wait(60) == 0
    finally:
        job.kill()
        job.wait()
    name = f"rocdoctor-{label_of(done.calls[0].reason)}"
    assert engine(["srun", "--immediate=2", "-w", "n1", "true"]).exit_code != 0
    assert engine(["srun", "--immediate=20", "-w", "n1", f"--reservation={name}", "true"]).exit_code == 0
    assert engine(["srun", "--immediate=20", "-w", "n0", "true"]).exit_code == 0
    late = replace(_verdict(), heard=dict.fromkeys(("n0", "n1"), int(time.time()) + 1))
    back, failed = acting.apply(late, limits)
    assert ([one.action for one in back.calls], failed) == (["return"], [])
    assert engine(["srun", "--immediate=20", "-w", "n1", "true"]).exit_code == 0
    assert name not in engine(["scontrol", "show", "reservation"]).text
    both = replace(found, nodes=tuple(replace(found.nodes[0], node=name) for name in ("n0", "n1")))
    acting.folder.joinpath("actions.jsonl").unlink()
    call = EngineCall("aside", ("n0", "n1"), reason_of(both.nodes[0], int(time.time()) - 3600))
    assert acting._done([call], int(time.time())) == []
    back, failed = acting.apply(replace(late, nodes=(both.nodes[1],)), ActionLimits())
    assert ([(one.nodes, one.left) for one in back.calls], failed) == ([(("n0",), ("n1",))], [])
    assert (acting.undo()[1], engine(["scontrol", "show", "reservation"]).text[:15]) == ([], "No reservations")


def test_nodes_are_asked_by_srun(slurm: Cluster, tmp_path: Path) -> None:
    """In the order of the command line, which is not that of Slurm; a node that Slurm lacks is said."""
    folder = tmp_path / "store"
    program = str(Path(sys.executable).with_name("rocdoctor"))

    def asked(*nodes: str) -> subprocess.CompletedProcess[str]:
        words = ("fleet", "run", str(folder), *nodes, "--on", "srun", "--program", program)
        return subprocess.run(
            slurm.inside(0, program, *words), capture_output=True, text=True, env=slurm.environment(), check=False
        )

    done = asked("n1", "n0")
    # What else it says depends on what this machine has logged of late.
    assert (done.returncode, done.stdout[:22]) == (0, "2 of 2 nodes reported:"), done.stdout + done.stderr
    done = asked("n0", "n7")
    assert done.returncode == 2
    assert "srun asked no node: srun: error: " in done.stderr
