"""Fleets and workloads for tests of the planner."""

from __future__ import annotations

from typing import Any

from rocdoctor.train.recommend.fleet.described_fleet import described
from rocdoctor.train.recommend.model.workload import read_workload
from rocdoctor.train.recommend.plan import Fleet, Workload

# One of each kind: a desktop card, two of them, a PCIe server, full meshes of both makers, several nodes.
FLEETS = (
    ("RX 7900 XTX", 1),
    ("2xRX 7900 XTX", 1),
    ("8xRTX 4090", 1),
    ("8xMI300X", 1),
    ("8xH100-SXM", 4),
    ("4xMI250X", 2),
)


def fleet(gpus: str = "8xMI300X", nodes: int = 1, ram: float | None = None) -> Fleet:
    """A described fleet."""
    return described(gpus, nodes, ram)


def work(model: Any = "llama-3.1-8b", **options: Any) -> Workload:
    """A workload; ``options`` as for ``read_workload``."""
    return read_workload(model, **{"method": "pretrain", **options})
