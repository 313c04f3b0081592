from __future__ import annotations

from tests.kit import amd_gpu, judge, k, machine, nvidia_gpu, severities, states, u

NAME = "nvidia-gpu-count-mismatch"


def test_equal_counts_pass() -> None:
    assert states(judge(NAME, machine(nvidia_gpu(0), nvidia_gpu(1), amd_gpu(2), nvidia_attached=k(2)))) == ["pass"]


def test_an_output_that_was_cut_is_worth_knowing() -> None:
    (verdict,) = judge(NAME, machine(nvidia_gpu(0), nvidia_gpu(1), nvidia_attached=k(6)))
    assert verdict.finding is not None and verdict.finding.severity == "info"
    assert "counts 6 GPUs" in verdict.finding.message and "shows 2" in verdict.finding.message


def test_a_gpu_that_the_driver_leaves_out_is_named_by_its_address() -> None:
    gpus = (nvidia_gpu(0, smi_index=0), nvidia_gpu(1), nvidia_gpu(2, smi_index=1))
    (verdict,) = judge(NAME, machine(*gpus, nvidia_attached=k(2)))
    assert verdict.finding is not None and verdict.finding.severity == "info"
    assert "1 cannot be used from here (0000:28:00.0)" in verdict.finding.message


def test_gpus_kept_for_a_guest_are_not_missing() -> None:
    gpus = (nvidia_gpu(0), nvidia_gpu(1, driver="vfio-pci"))
    assert severities(judge(NAME, machine(*gpus, nvidia_attached=k(1)))) == []


def test_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, machine(nvidia_gpu(), nvidia_attached=u()))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu(), nvidia_attached=k(1)))) == ["not-applicable"]
