from __future__ import annotations

from tests.kit import amd_gpu, judge, k, machine, nvidia_gpu, severities, states, u

NAME = "kfd-gpu-count-mismatch"


def test_a_share_given_by_a_cgroup_is_a_note() -> None:
    shared = machine(amd_gpu(), amd_gpu(1, kfd_node=u()), kfd_gpu_nodes=k(1), kfd_nodes_hidden=k(1))
    (verdict,) = judge(NAME, shared)
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert "one node" in verdict.finding.message


def test_fewer_nodes_than_devices_that_cannot_be_matched_is_a_warning() -> None:
    gpus = [amd_gpu(index, kfd_node=u()) for index in range(3)]
    (verdict,) = judge(NAME, machine(*gpus, kfd_gpu_nodes=k(2), kfd_complete=True))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "three GPUs" in verdict.finding.message
    assert "two GPUs" in verdict.finding.message


def test_pass_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, machine(amd_gpu(), kfd_gpu_nodes=k(1), kfd_complete=True))) == ["pass"]
    old = machine(amd_gpu(), amd_gpu(1, pci_id="1002:6818", kfd_node=u()), kfd_gpu_nodes=k(1), kfd_complete=True)
    assert states(judge(NAME, old)) == ["pass"]
    assert severities(judge(NAME, machine(amd_gpu(), amd_gpu(1, kfd_node=u()), kfd_gpu_nodes=k(1)))) == []
    assert states(judge(NAME, machine(amd_gpu(), kfd_gpu_nodes=k(1)))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu()))) == ["unknown"]
    assert states(judge(NAME, machine(nvidia_gpu()))) == ["not-applicable"]
