from __future__ import annotations

from typing import Any

from rocdoctor.model.facts import ComputeNode, Container, Environment, Gpu, Machine, TorchBuild
from tests.kit import amd_gpu, environment, judge, k, machine, nvidia_gpu, severities, states, u

NAME = "torch-gpu-count-mismatch"


def _torch(count: int, hip: str | None = "7.0.0", cuda: str | None = None) -> TorchBuild:
    return TorchBuild(version=k("2.9.0"), hip=k(hip), cuda=k(cuda), device_count=k(count))


def _machine(count: int, *gpus: Gpu, env: Environment | None = None, **changes: Any) -> Machine:
    listed = gpus or (amd_gpu(), amd_gpu(1))
    facts: dict[str, Any] = {
        "torch": _torch(count),
        "kfd_complete": True,
        "environment": environment({}) if env is None else env,
        "container": Container(kind=k("none")),
    }
    return machine(*listed, **(facts | changes))


def test_none_of_two_is_an_error_and_one_of_two_a_warning() -> None:
    (verdict,) = judge(NAME, _machine(0))
    assert verdict.finding is not None
    assert verdict.finding.severity == "error"
    assert "no GPUs of 2" in verdict.finding.message
    assert severities(judge(NAME, _machine(1))) == ["warning"]


def test_a_variable_a_container_or_a_cgroup_explains_it() -> None:
    (verdict,) = judge(NAME, _machine(1, env=environment({"HIP_VISIBLE_DEVICES": "1"})))
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert "HIP_VISIBLE_DEVICES" in verdict.finding.message
    assert severities(judge(NAME, _machine(1, container=Container(kind=k("docker"))))) == ["info"]
    assert severities(judge(NAME, _machine(1, kfd_nodes_hidden=k(1)))) == ["info"]


def test_partitions_count_and_an_integrated_gpu_may_be_left_out() -> None:
    nodes = tuple(ComputeNode(kfd_node=k(number)) for number in (2, 3))
    assert severities(judge(NAME, _machine(1, amd_gpu(compute_nodes=nodes)))) == ["warning"]
    assert states(judge(NAME, _machine(2, amd_gpu(compute_nodes=nodes)))) == ["pass"]
    assert states(judge(NAME, _machine(1, amd_gpu(), amd_gpu(1, integrated=True)))) == ["pass"]


def test_nvidia_counts_by_driver_and_mig_is_not_judged() -> None:
    cuda = _torch(1, None, "12.8")
    assert severities(judge(NAME, _machine(0, nvidia_gpu(), nvidia_gpu(1), torch=cuda))) == ["warning"]
    assert states(judge(NAME, _machine(0, nvidia_gpu(mig=True), nvidia_gpu(1), torch=cuda))) == ["unknown"]


def test_pass_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, _machine(2))) == ["pass"]
    assert states(judge(NAME, _machine(1, env=environment({}, complete=False)))) == ["unknown"]
    assert states(judge(NAME, _machine(1, kfd_complete=False))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu(), torch=TorchBuild(version=u())))) == ["unknown"]
    assert states(judge(NAME, _machine(0, torch=_torch(0, None)))) == ["not-applicable"]
    assert states(judge(NAME, _machine(0, torch=TorchBuild(version=k(None))))) == ["not-applicable"]
    assert states(judge(NAME, _machine(0, torch=_torch(0, None, "12.8")))) == ["not-applicable"]
    assert states(judge(NAME, machine())) == ["not-applicable"]


def test_a_card_that_is_closed_to_programs_is_not_missed() -> None:
    torch = TorchBuild(version=k("2.9.1"), hip=k(None), cuda=k("12.8"), import_error=k(None), device_count=k(1))
    pair = (nvidia_gpu(0, compute_mode="Prohibited"), nvidia_gpu(1))
    of = machine(*pair, torch=torch, environment=environment({}), container=Container(kind=k("none")))
    assert states(judge("torch-gpu-count-mismatch", of)) == ["pass"]
