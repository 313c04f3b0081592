from __future__ import annotations

from typing import Any

from rocdoctor.model.facts import Kernel, Machine
from tests.kit import amd_gpu, event, judge, k, log, machine, nvidia_gpu, severities, states, u

NAME = "gpu-without-compute-node"


def _machine(**changes: Any) -> Machine:
    facts: dict[str, Any] = {"kfd_present": k(True), "kfd_complete": True, "kfd_gpu_nodes": k(1)} | changes
    return machine(amd_gpu(), amd_gpu(1, kfd_node=u()), **facts)


def test_a_gpu_that_kfd_does_not_list_is_an_error() -> None:
    verdicts = judge(NAME, _machine())
    assert states(verdicts) == ["pass", "fail"]
    finding = verdicts[1].finding
    assert finding is not None
    assert (finding.severity, finding.confidence) == ("error", "likely")
    assert "KFD" in finding.message


def test_an_integrated_gpu_that_is_left_out_is_a_note() -> None:
    apu = machine(
        amd_gpu(), amd_gpu(1, kfd_node=u(), integrated=True, pci_id="1002:164e"), kfd_present=k(True), kfd_complete=True
    )
    assert severities(judge(NAME, apu)) == ["info"]


def test_a_cgroup_that_hides_nodes_or_an_excerpt_is_unknown() -> None:
    assert states(judge(NAME, _machine(kfd_nodes_hidden=k(1)))) == ["pass", "unknown"]
    assert states(judge(NAME, _machine(kfd_complete=False))) == ["pass", "unknown"]
    assert states(judge(NAME, _machine(kfd_present=u()))) == ["pass", "unknown"]


def test_where_the_log_or_the_chip_tells_why_other_checks_speak() -> None:
    line = event("kfd-pci-atomics-missing", pci_id="1002:740f")
    assert states(judge(NAME, _machine(kernel=Kernel(log=log(line))))) == ["pass", "not-applicable"]
    other = event("kfd-pci-atomics-missing", pci_id="1002:67df")
    assert states(judge(NAME, _machine(kernel=Kernel(log=log(other))))) == ["pass", "fail"]
    old = machine(amd_gpu(pci_id="1002:6818", kfd_node=u()), kfd_present=k(True), kfd_complete=True)
    assert states(judge(NAME, old)) == ["not-applicable"]


def test_without_amdgpu_or_kfd_it_is_not_applicable() -> None:
    assert states(judge(NAME, machine(amd_gpu(driver="vfio-pci", kfd_node=u())))) == ["not-applicable"]
    assert states(judge(NAME, _machine(kfd_present=k(False)))) == ["pass", "not-applicable"]
    assert states(judge(NAME, machine(nvidia_gpu()))) == ["not-applicable"]


def test_a_node_that_no_gpu_was_found_for_may_be_this_ones() -> None:
    """Kernels before 5.10 name no PCI domain, so nodes of another domain match no device."""
    assert states(judge(NAME, _machine(kfd_gpu_nodes=k(2)))) == ["pass", "unknown"]
