"""What the network of a node gives each GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Nic
from rocdoctor.train.recommend.estimate import efficiency


def network_rates() -> Mapping[str, float]:
    """Bytes/s of the network of one GPU by generation, as the estimate assumes them where nothing is known."""
    return {name: float(row["v"]) * 1e9 for name, row in efficiency()["network_gb_s"].items()}


def training_nics(nics: Sequence[Nic]) -> tuple[Nic, ...]:
    """The cards that training between nodes would use: those with RDMA, else Ethernet; none that is down."""
    up = [nic for nic in nics if value_or(nic.state, "up").lower() in ("up", "active", "unknown")]
    rdma = [nic for nic in up if nic.kind in ("infiniband", "roce")]
    return tuple(rdma or [nic for nic in up if nic.kind == "ethernet"])


def nic_gb_s(nics: Sequence[Nic], per_node: int) -> float | None:
    """GB/s of the network for each GPU of a node when all send at once; None where a card's speed is not known."""
    speeds = [nic.speed_gbit_s.value for nic in nics if isinstance(nic.speed_gbit_s, Known)]
    if not nics or len(speeds) < len(nics) or sum(speeds) <= 0:
        return None
    return sum(speeds) / 8 / max(1, per_node)
