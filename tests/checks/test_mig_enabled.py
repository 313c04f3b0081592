from __future__ import annotations

from tests.kit import amd_gpu, judge, machine, nvidia_gpu, severities, states, u

NAME = "mig-enabled"


def test_off_passes_and_on_is_worth_knowing() -> None:
    assert states(judge(NAME, machine(nvidia_gpu(mig=False)))) == ["pass"]
    (verdict,) = judge(NAME, machine(nvidia_gpu(mig=True, mig_devices=4, smi_index=0)))
    assert verdict.finding is not None and verdict.finding.fix is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("info", "")
    assert "4 MIG devices" in verdict.finding.message
    assert verdict.finding.fix.command == "sudo nvidia-smi -i 0 -mig 0"


def test_without_a_count_no_number_is_invented() -> None:
    (verdict,) = judge(NAME, machine(nvidia_gpu(mig=True)))
    assert verdict.finding is not None
    assert "split into MIG instances" in verdict.finding.message


def test_no_instance_is_a_warning() -> None:
    (verdict,) = judge(NAME, machine(nvidia_gpu(mig=True, mig_devices=0)))
    assert verdict.finding is not None and verdict.finding.severity == "warning"
    assert "no instance" in verdict.finding.message


def test_equal_gpus_in_unlike_modes_are_named_and_may_be_meant_so() -> None:
    gpus = (nvidia_gpu(0, mig=True, mig_devices=7), nvidia_gpu(1, mig=False), nvidia_gpu(2, mig=False))
    verdicts = judge(NAME, machine(*gpus))
    assert severities(verdicts) == ["info"]
    assert verdicts[0].finding is not None
    assert "2 identical GPUs" in verdicts[0].finding.message


def test_unlike_gpus_and_unread_modes_are_no_contrast() -> None:
    other = nvidia_gpu(1, mig=False, name="NVIDIA A30")
    assert severities(judge(NAME, machine(nvidia_gpu(0, mig=True), other))) == ["info"]
    assert severities(judge(NAME, machine(nvidia_gpu(0, mig=True), nvidia_gpu(1, mig=u())))) == ["info"]


def test_a_gpu_without_the_mode_and_an_unread_one() -> None:
    assert states(judge(NAME, machine(nvidia_gpu(compute_mode="Default")))) == ["not-applicable"]
    assert states(judge(NAME, machine(nvidia_gpu(mig=u())))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu()))) == ["not-applicable"]
