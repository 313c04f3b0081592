"""Within srun everything is taken from the environment: one command for all nodes, torchrun below it."""

from __future__ import annotations

import sys

import pytest

from tests.train.smoke.nodes.network import missing
from tests.train.smoke.nodes.slurm import cluster, slurm_missing

pytest.importorskip("torch")
_WHY = missing() or slurm_missing()
pytestmark = [pytest.mark.heavy, pytest.mark.skipif(bool(_WHY), reason=_WHY)]
SMOKE = (sys.executable, "-m", "rocdoctor", "smoke", "--nnodes", "auto", "--python", sys.executable, "ddp")


def test_srun_gives_the_place_of_each_node() -> None:
    with cluster() as slurm:
        done = slurm.srun(*SMOKE, GLOO_SOCKET_IFNAME="eth0")
        assert done.returncode == 0, done.stderr
        assert "2 ranks on the CPU" in done.stdout
        assert "node 1: all is well" in done.stderr

        # More tasks than nodes, as a training job has them: torchrun starts the ranks, so the others end at once.
        several = slurm.srun("--ntasks-per-node=2", "--overcommit", *SMOKE, GLOO_SOCKET_IFNAME="ib0")
        assert several.returncode != 0
        assert "each of nodes 0-1 has no such interface" in several.stdout
        assert several.stderr.count("has nothing to do") == 2

        other = slurm.srun(*SMOKE[:5], "3", *SMOKE[6:])
        assert "has 2 nodes, not 3" in other.stderr
