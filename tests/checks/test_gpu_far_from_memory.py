from __future__ import annotations

from rocdoctor.model.facts import Machine, NumaNode
from rocdoctor.model.finding import Verdict
from tests.kit import amd_gpu, judge, k, machine, severities, states

_FULL = NumaNode(0, k("0-15"), k(64 << 30))


def _on(node: int | None, *nodes: NumaNode) -> list[Verdict]:
    return judge("gpu-far-from-memory", machine(amd_gpu(numa_node=node), numa_nodes=nodes))


def test_a_node_with_memory_and_processors_passes() -> None:
    assert states(_on(0, _FULL, NumaNode(1, k("16-31"), k(0)))) == ["pass"]


def test_a_node_without_memory_is_a_note() -> None:
    (verdict,) = _on(1, _FULL, NumaNode(1, k("16-31"), k(0)))
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert "NUMA node 1, which has no memory" in verdict.finding.message


def test_a_node_without_processors_is_a_note() -> None:
    (verdict,) = _on(1, _FULL, NumaNode(1, k(""), k(64 << 30)))
    assert verdict.finding is not None
    assert "no processors" in verdict.finding.message


def test_unknown_and_not_applicable() -> None:
    assert states(_on(1, _FULL, NumaNode(1, k("16-31")))) == ["unknown"]
    assert states(_on(None, _FULL, NumaNode(1))) == ["not-applicable"]
    assert states(_on(0, _FULL)) == ["not-applicable"]
    assert states(_on(7, _FULL, NumaNode(1))) == ["not-applicable"]
    unread = Machine(gpus=(amd_gpu(),), numa_nodes=(_FULL, NumaNode(1)))
    assert states(judge("gpu-far-from-memory", unread)) == ["unknown"]
    assert severities(judge("gpu-far-from-memory", machine())) == []
