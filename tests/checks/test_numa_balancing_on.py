from __future__ import annotations

from rocdoctor.model.facts import Gpu, Machine, Memory, NumaNode
from rocdoctor.model.finding import Verdict
from tests.kit import amd_gpu, judge, k, machine, nvidia_gpu, states

_TWO = (NumaNode(0, k("0-15")), NumaNode(1, k("16-31")))


def _on(*gpus: Gpu, on: bool | None = True, nodes: tuple[NumaNode, ...] = _TWO) -> list[Verdict]:
    memory = Memory() if on is None else Memory(numa_balancing=k(on))
    return judge("numa-balancing-on", machine(*gpus, memory=memory, numa_nodes=nodes))


def test_off_passes_and_on_is_a_note() -> None:
    assert states(_on(amd_gpu(), on=False)) == ["pass"]
    (verdict,) = _on(amd_gpu(0), amd_gpu(1))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("info", "")
    assert "2 NUMA nodes and 2 discrete AMD GPUs" in verdict.finding.message
    assert verdict.finding.fix is not None
    assert verdict.finding.fix.command == "sudo sysctl kernel.numa_balancing=0"


def test_one_node_and_other_gpus_are_not_judged() -> None:
    assert states(_on(amd_gpu(), nodes=_TWO[:1])) == ["not-applicable"]
    assert states(_on(nvidia_gpu())) == ["not-applicable"]
    assert states(_on(amd_gpu(integrated=True))) == ["not-applicable"]
    assert states(judge("numa-balancing-on", Machine())) == ["not-applicable"]


def test_an_unread_setting_is_unknown() -> None:
    assert states(_on(amd_gpu(), on=None)) == ["unknown"]
