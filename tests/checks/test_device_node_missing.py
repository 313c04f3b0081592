from __future__ import annotations

from typing import Any

from rocdoctor.model.facts import Container, DeviceNode, Machine, TorchBuild
from tests.kit import amd_gpu, judge, k, machine, nvidia_gpu, severities, states, u

NAME = "device-node-missing"
NO_KFD = DeviceNode("/dev/kfd", k(False))
KFD = DeviceNode("/dev/kfd", k(True), k("read-write"))
NO_RENDER = DeviceNode("/dev/dri/renderD128", k(False))
RENDER = DeviceNode("/dev/dri/renderD128", k(True), k("read-write"))


def inside(*nodes: DeviceNode, kind: str = "docker", rocm: bool = True, **changes: Any) -> Machine:
    torch = TorchBuild(hip=k("6.4.0") if rocm else k(None))
    return machine(amd_gpu(), nodes=nodes, container=Container(kind=k(kind)), torch=torch, **changes)


def test_passed_nodes_pass() -> None:
    assert states(judge(NAME, inside(KFD, RENDER))) == ["pass"]


def test_a_rocm_image_without_nodes_cannot_compute() -> None:
    (verdict,) = judge(NAME, inside(NO_KFD))
    assert verdict.finding is not None
    assert verdict.finding.severity == "error"
    assert verdict.finding.cause == "container-device-access"
    assert "no /dev/kfd, so" in verdict.finding.message
    assert verdict.finding.fix is not None
    assert "--device=/dev/kfd --device=/dev/dri" in verdict.finding.fix.command


def test_kfd_alone_is_not_enough() -> None:
    (verdict,) = judge(NAME, inside(KFD, NO_RENDER))
    assert verdict.finding is not None
    assert "no the render" not in verdict.finding.message
    assert "/dev/dri" in verdict.finding.message
    assert "/dev/kfd," not in verdict.finding.message


def test_other_containers_get_other_advice() -> None:
    for kind, word in (("kubernetes", "amd.com/gpu"), ("singularity", "--rocm"), ("lxc", "configuration")):
        (verdict,) = judge(NAME, inside(NO_KFD, kind=kind))
        assert verdict.finding is not None
        assert verdict.finding.fix is not None
        assert word in verdict.finding.fix.text + verdict.finding.fix.command


def test_a_container_that_has_nothing_of_rocm_was_not_meant_for_the_gpu() -> None:
    assert severities(judge(NAME, inside(NO_KFD, rocm=False))) == ["info"]


def test_outside_of_containers_others_judge() -> None:
    for kind in ("none", "wsl"):
        assert states(judge(NAME, inside(NO_KFD, kind=kind))) == ["not-applicable"]
    assert states(judge(NAME, machine(nvidia_gpu()))) == ["not-applicable"]
    vfio = machine(amd_gpu(driver="vfio-pci"), nodes=(NO_KFD,), container=Container(kind=k("docker")))
    assert states(judge(NAME, vfio)) == ["not-applicable"]


def test_unknown() -> None:
    assert states(judge(NAME, machine(amd_gpu(), nodes=(NO_KFD,)))) == ["unknown"]
    assert states(judge(NAME, inside(DeviceNode("/dev/kfd", u())))) == ["unknown"]
