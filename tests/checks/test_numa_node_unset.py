from __future__ import annotations

from rocdoctor.model.facts import Container, Machine, NumaNode
from rocdoctor.model.finding import Verdict
from tests.kit import amd_gpu, judge, k, machine, severities, states

_TWO = (NumaNode(0, k("0-15")), NumaNode(1, k("16-31")))


def _on(of: Machine) -> list[Verdict]:
    return judge("numa-node-unset", of)


def test_a_named_node_passes() -> None:
    assert states(_on(machine(amd_gpu(numa_node=1), numa_nodes=_TWO))) == ["pass"]


def test_no_node_among_several_is_a_note() -> None:
    (verdict,) = _on(machine(amd_gpu(numa_node=None), numa_nodes=_TWO))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("info", "")
    assert "2 nodes" in verdict.finding.message


def test_one_node_of_processors_or_a_guest_is_not_judged() -> None:
    beside = (NumaNode(0, k("0-15")), NumaNode(1, k("")))
    assert states(_on(machine(amd_gpu(numa_node=None), numa_nodes=beside))) == ["not-applicable"]
    guest = Container(virtual_machine=k("kvm"))
    assert states(_on(machine(amd_gpu(numa_node=None), numa_nodes=_TWO, container=guest))) == ["not-applicable"]
    assert severities(_on(machine(amd_gpu(numa_node=None, integrated=True), numa_nodes=_TWO))) == []


def test_unknown_and_not_applicable() -> None:
    assert states(_on(machine(amd_gpu(), numa_nodes=_TWO))) == ["unknown"]
    assert states(_on(machine(numa_nodes=_TWO))) == ["not-applicable"]
