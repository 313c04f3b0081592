from __future__ import annotations

from typing import Any

from rocdoctor.model.facts import Container, Gpu, Kernel, Machine
from tests.kit import amd_gpu, judge, k, machine, nvidia_gpu, severities, states, u

NAME = "fabric-manager-down"


def h100(state: Any, status: Any = "Success", **changes: Any) -> Gpu:
    return nvidia_gpu(fabric_state=state, fabric_status=status, **changes)


def up_for(seconds: float, gpu: Gpu, **changes: Any) -> Machine:
    return machine(gpu, kernel=Kernel(uptime_s=k(seconds)), **changes)


def test_a_completed_registration_passes() -> None:
    assert states(judge(NAME, machine(h100("Completed")))) == ["pass"]
    assert states(judge(NAME, machine(h100("Completed", u())))) == ["pass"]


def test_waiting_long_after_boot_is_an_error() -> None:
    drivers = {"nvidia": {"version": k("565.57.01")}}
    (verdict,) = judge(NAME, up_for(7200, h100("In Progress", u()), drivers=drivers))
    assert verdict.finding is not None and verdict.finding.fix is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("error", "fabric-manager-down")
    assert "120 min" in verdict.finding.message
    assert "565.57.01" in verdict.finding.fix.text


def test_waiting_right_after_boot_is_worth_knowing_and_unknown_uptime_a_warning() -> None:
    assert severities(judge(NAME, up_for(90, h100("In Progress")))) == ["info"]
    assert severities(judge(NAME, machine(h100("In Progress")))) == ["warning"]
    assert severities(judge(NAME, up_for(7200, h100("Not Started")))) == ["warning"]


def test_a_failed_registration_is_an_error_with_its_status() -> None:
    (verdict,) = judge(NAME, machine(h100("Completed", "Insufficient Resources")))
    assert verdict.finding is not None and verdict.finding.severity == "error"
    assert "Insufficient Resources" in verdict.finding.message


def test_inside_a_guest_or_container_the_host_is_asked() -> None:
    for enclosed in (Container(virtual_machine=k("kvm")), Container(kind=k("docker"))):
        (verdict,) = judge(NAME, up_for(7200, h100("In Progress"), container=enclosed))
        assert verdict.finding is not None and verdict.finding.fix is not None
        assert "host" in verdict.finding.fix.text


def test_boards_without_a_fabric_are_not_judged() -> None:
    for gpu in (
        nvidia_gpu(name="NVIDIA GeForce RTX 4090", compute_capability="8.9"),
        nvidia_gpu(name="NVIDIA A100-SXM4-40GB", compute_capability="8.0"),
        nvidia_gpu(name="NVIDIA H100 PCIe"),
        h100("Not Supported", u()),
        h100("In Progress", mig=True),
        h100("Sideways"),
    ):
        assert states(judge(NAME, up_for(7200, gpu))) == ["not-applicable"], gpu.name
    assert states(judge(NAME, machine(amd_gpu()))) == ["not-applicable"]


def test_a_module_whose_state_was_not_read_is_unknown() -> None:
    assert states(judge(NAME, machine(nvidia_gpu()))) == ["unknown"]
