from __future__ import annotations

from typing import Any

from rocdoctor.model.facts import Container, DeviceNode, Machine, RocmInstall
from tests.kit import amd_gpu, judge, k, machine, nvidia_gpu, severities, states, u

ROCM = (RocmInstall(k("7.0.0"), "/opt/rocm", "classic"),)


def _machine(**changes: Any) -> Machine:
    return machine(amd_gpu(kfd_node=u()), rocm=ROCM, **changes)


def test_a_kernel_without_kfd_is_an_error_where_rocm_is_installed() -> None:
    (verdict,) = judge("kfd-missing", _machine(kfd_present=k(False)))
    assert verdict.finding is not None
    assert verdict.finding.severity == "error"
    assert "KFD" in verdict.finding.message
    plain = machine(amd_gpu(kfd_node=u()), kfd_present=k(False))
    assert severities(judge("kfd-missing", plain)) == ["warning"]


def test_an_absent_device_node_counts_on_bare_metal_only() -> None:
    nodes = (DeviceNode("/dev/kfd", k(False)), DeviceNode("/dev/dri/renderD128", k(True)))
    bare = _machine(kfd_present=k(True), nodes=nodes, container=Container(kind=k("none")))
    assert severities(judge("kfd-missing", bare)) == ["error"]
    inside = _machine(kfd_present=k(True), nodes=nodes, container=Container(kind=k("docker")))
    assert states(judge("kfd-missing", inside)) == ["pass"]


def test_a_sandbox_without_any_device_node_is_not_judged() -> None:
    nodes = (DeviceNode("/dev/kfd", k(False)), DeviceNode("/dev/dri/renderD128", k(False)))
    sandbox = _machine(kfd_present=k(True), nodes=nodes, container=Container(kind=k("none")))
    assert states(judge("kfd-missing", sandbox)) == ["unknown"]


def test_the_integrated_gpu_beside_another_card_is_a_note() -> None:
    both = machine(amd_gpu(integrated=True), nvidia_gpu(1), kfd_present=k(False))
    assert severities(judge("kfd-missing", both)) == ["info"]


def test_pass_unknown_and_not_applicable() -> None:
    assert states(judge("kfd-missing", _machine(kfd_present=k(True)))) == ["pass"]
    assert states(judge("kfd-missing", _machine())) == ["unknown"]
    assert states(judge("kfd-missing", machine(amd_gpu(driver=u())))) == ["unknown"]
    old = machine(amd_gpu(pci_id="1002:6818", kfd_node=u()), kfd_present=k(False))
    assert states(judge("kfd-missing", old)) == ["not-applicable"]
    assert states(judge("kfd-missing", machine(nvidia_gpu(), kfd_present=k(False)))) == ["not-applicable"]
