from __future__ import annotations

from typing import Any

from rocdoctor.model.facts import Container, DeviceNode, Machine, User
from rocdoctor.model.finding import Finding
from tests.kit import amd_gpu, environment, judge, k, machine, nvidia_gpu, severities, states, u

NAME = "nvidia-node-denied"
RULE = "not permitted (a device rule of the container)"
USER = User(uid=k(1000), groups=k(("people",)))


def control(access: str = "read-write", mode: str = "0666", group: str = "root") -> DeviceNode:
    return DeviceNode("/dev/nvidiactl", k(True), k(access), k(mode), k(group))


def host(*nodes: DeviceNode, kind: str = "none", **changes: Any) -> Machine:
    return machine(nvidia_gpu(), nodes=nodes, user=USER, container=Container(kind=k(kind)), **changes)


def found(of: Machine) -> Finding:
    (verdict,) = judge(NAME, of)
    assert verdict.finding is not None, verdict
    return verdict.finding


def test_open_nodes_pass() -> None:
    assert states(judge(NAME, host(control()))) == ["pass"]


def test_nodes_that_belong_to_a_group() -> None:
    finding = found(host(control("denied", "0660", "video")))
    assert (finding.severity, finding.cause) == ("error", "device-permission")
    assert "group video" in finding.message
    assert finding.fix is not None
    assert finding.fix.command == "sudo usermod -aG video $USER"


def test_nobody_is_told_to_join_a_group_of_more_power() -> None:
    for group in ("docker", "video,sudo"):
        fix = found(host(control("denied", "0660", group))).fix
        assert fix is not None
        assert (fix.command, fix.changes) == ("", ())
        assert "different group" in fix.text


def test_a_container_that_lost_its_device_rules() -> None:
    finding = found(host(control(RULE), kind="docker"))
    assert (finding.severity, finding.cause) == ("error", "container-device-access")
    assert "device rule" in finding.message
    # Seen through sudo both refusals read the same: the mode tells.
    assert found(host(control("denied"), kind="docker")).cause == "container-device-access"


def test_a_container_without_uvm() -> None:
    finding = found(host(control(), DeviceNode("/dev/nvidia-uvm", k(False)), kind="docker"))
    assert (finding.severity, finding.cause) == ("error", "container-device-access")
    assert "/dev/nvidia-uvm" in finding.message


def test_on_bare_metal_nodes_appear_at_first_use() -> None:
    assert states(judge(NAME, host(control(), DeviceNode("/dev/nvidia-uvm", k(False))))) == ["pass"]
    assert states(judge(NAME, host(DeviceNode("/dev/nvidiactl", k(False))))) == ["not-applicable"]


def test_a_job_without_gpus_is_a_note() -> None:
    job = environment({"SLURM_JOB_ID": "4"})
    assert severities(judge(NAME, host(control(RULE), environment=job))) == ["info"]


def test_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, host(DeviceNode("/dev/nvidiactl", k(True), u())))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu(), nodes=(control("denied"),)))) == ["not-applicable"]
    assert states(judge(NAME, machine(nvidia_gpu(driver="nouveau"), nodes=(control("denied"),)))) == ["not-applicable"]
