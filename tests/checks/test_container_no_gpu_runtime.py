from __future__ import annotations

from rocdoctor.model.facts import Container, DeviceNode, Machine, TorchBuild
from tests.kit import amd_gpu, judge, k, machine, nvidia_gpu, severities, states, u

NAME = "container-no-gpu-runtime"
NONE = DeviceNode("/dev/nvidiactl", k(False))


def inside(*nodes: DeviceNode, kind: str = "docker", cuda: str | None = "12.8") -> Machine:
    return machine(nvidia_gpu(), nodes=nodes, container=Container(kind=k(kind)), torch=TorchBuild(cuda=k(cuda)))


def test_nodes_that_were_passed_in_pass() -> None:
    assert states(judge(NAME, inside(DeviceNode("/dev/nvidiactl", k(True), k("read-write"))))) == ["pass"]


def test_a_cuda_image_without_the_toolkit_cannot_compute() -> None:
    (verdict,) = judge(NAME, inside(NONE))
    assert verdict.finding is not None
    assert verdict.finding.severity == "error"
    assert "/dev/nvidiactl" in verdict.finding.message
    assert verdict.finding.fix is not None
    assert verdict.finding.fix.command == "docker run --gpus all ..."


def test_other_containers_get_other_advice() -> None:
    for kind, word in (
        ("kubernetes", "nvidia.com/gpu"),
        ("podman", "--device nvidia.com/gpu=all"),
        ("apptainer", "--nv"),
    ):
        (verdict,) = judge(NAME, inside(NONE, kind=kind))
        assert verdict.finding is not None
        assert verdict.finding.fix is not None
        assert word in verdict.finding.fix.text + verdict.finding.fix.command


def test_a_container_without_cuda_was_not_meant_for_the_gpu() -> None:
    assert severities(judge(NAME, inside(NONE, cuda=None))) == ["info"]


def test_bare_metal_makes_the_nodes_at_first_use() -> None:
    assert states(judge(NAME, inside(NONE, kind="none"))) == ["not-applicable"]
    assert states(judge(NAME, machine(amd_gpu()))) == ["not-applicable"]


def test_a_node_that_was_mounted_by_hand_is_no_missing_runtime() -> None:
    assert states(judge(NAME, inside(NONE, DeviceNode("/dev/nvidia0", k(True))))) == ["not-applicable"]


def test_unknown() -> None:
    assert states(judge(NAME, inside(DeviceNode("/dev/nvidiactl", u())))) == ["unknown"]
    assert states(judge(NAME, machine(nvidia_gpu(), nodes=(NONE,)))) == ["unknown"]
