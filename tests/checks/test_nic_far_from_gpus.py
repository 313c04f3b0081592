from __future__ import annotations

from rocdoctor.model.evidence import NOT_ASKED
from rocdoctor.model.facts import Machine, Nic
from rocdoctor.model.finding import Verdict
from tests.kit import amd_gpu, judge, k, machine, states


def _nic(name: str, node: int | None, speed: float = 400.0, state: str = "up") -> Nic:
    at = NOT_ASKED if node is None else k(node)
    return Nic(name, "infiniband", numa_node=at, speed_gbit_s=k(speed), state=k(state))


def _on(*nics: Nic, nodes: tuple[int, ...] = (0, 0, 1, 1), complete: bool = True) -> list[Verdict]:
    gpus = [amd_gpu(index, numa_node=node) for index, node in enumerate(nodes)]
    return judge("nic-far-from-gpus", machine(*gpus, network=nics, network_complete=complete))


def test_cards_at_every_node_with_gpus_pass() -> None:
    assert states(_on(_nic("mlx5_0", 0), _nic("mlx5_1", 1))) == ["pass"]


def test_a_node_without_a_card_is_a_note() -> None:
    (verdict,) = _on(_nic("mlx5_0", 0), _nic("mlx5_1", 0), _nic("eno1", 1, 1.0), _nic("mlx5_2", 1, state="down"))
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert "2 of 4 GPUs are at NUMA node 1" in verdict.finding.message
    assert [one.value for one in verdict.finding.evidence] == ["mlx5_0: NUMA node 0", "mlx5_1: NUMA node 0"]


def test_an_excerpt_of_the_cards_accuses_nobody() -> None:
    assert states(_on(_nic("mlx5_0", 0), complete=False)) == ["unknown"]
    assert states(_on(_nic("mlx5_0", 0), _nic("mlx5_1", None))) == ["unknown"]


def test_no_fast_card_or_one_node_is_not_judged() -> None:
    assert states(_on()) == ["not-applicable"]
    assert states(_on(_nic("eno1", 0, 10.0))) == ["not-applicable"]
    assert states(_on(_nic("mlx5_0", 0), nodes=(1, 1))) == ["not-applicable"]
    assert states(judge("nic-far-from-gpus", Machine())) == ["not-applicable"]
    assert states(judge("nic-far-from-gpus", machine(amd_gpu(0), amd_gpu(1)))) == ["unknown"]
