from __future__ import annotations

import pytest

from tests.kit import amd_gpu, judge, machine, nvidia_gpu, severities, states, u

NAME = "nvidia-gpu-needs-reset"


def test_none_passes() -> None:
    assert states(judge(NAME, machine(nvidia_gpu(recovery_action="None")))) == ["pass"]


@pytest.mark.parametrize("action", ["Reset", "GPU Reset", "Reboot", "Node Reboot"])
def test_a_reset_or_reboot_is_an_error(action: str) -> None:
    (verdict,) = judge(NAME, machine(nvidia_gpu(recovery_action=action, smi_index=5)))
    assert verdict.finding is not None and verdict.finding.fix is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("error", "gpu-hardware-fault")
    wanted = "sudo reboot" if "Reboot" in action else "sudo nvidia-smi --gpu-reset -i 5"
    assert verdict.finding.fix.command == wanted


@pytest.mark.parametrize("action", ["Drain P2P", "Drain and Reset"])
def test_draining_is_a_warning(action: str) -> None:
    assert severities(judge(NAME, machine(nvidia_gpu(recovery_action=action)))) == ["warning"]


def test_a_reset_that_damaged_pages_wait_for_is_told_once() -> None:
    assert severities(judge(NAME, machine(nvidia_gpu(recovery_action="Reset", bad_pages_pending=True)))) == []


def test_words_of_the_future_accuse_nobody() -> None:
    assert severities(judge(NAME, machine(nvidia_gpu(recovery_action="Contemplate")))) == []


def test_older_drivers_do_not_say_and_unread_is_unknown() -> None:
    assert states(judge(NAME, machine(nvidia_gpu(compute_mode="Default")))) == ["not-applicable"]
    assert states(judge(NAME, machine(nvidia_gpu(recovery_action=u())))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu()))) == ["not-applicable"]
