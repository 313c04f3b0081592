from __future__ import annotations

import pytest

from tests.kit import judge, machine, nvidia_gpu, severities, states, u

NAME = "compute-mode-exclusive"


def test_the_default_mode_passes() -> None:
    assert states(judge(NAME, machine(nvidia_gpu(compute_mode="Default")))) == ["pass"]


def test_prohibited_is_an_error_with_the_command_for_this_gpu() -> None:
    (verdict,) = judge(NAME, machine(nvidia_gpu(compute_mode="Prohibited", smi_index=3)))
    assert verdict.finding is not None and verdict.finding.fix is not None
    assert verdict.finding.severity == "error"
    assert verdict.finding.fix.command == "sudo nvidia-smi -i 3 -c 0"


@pytest.mark.parametrize("mode", ["Exclusive_Process", "Exclusive_Thread", "E. Process", "E. Thread"])
def test_exclusive_is_worth_knowing_however_it_is_written(mode: str) -> None:
    (verdict,) = judge(NAME, machine(nvidia_gpu(compute_mode=mode)))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.fix and verdict.finding.fix.command) == (
        "info",
        "sudo nvidia-smi -c 0",
    )


def test_a_mode_of_the_future_accuses_nobody_and_unread_is_unknown() -> None:
    assert severities(judge(NAME, machine(nvidia_gpu(compute_mode="Shared")))) == []
    assert states(judge(NAME, machine(nvidia_gpu(compute_mode=u())))) == ["unknown"]
    assert states(judge(NAME, machine())) == ["not-applicable"]


def test_a_display_card_that_is_closed_beside_open_ones_is_a_note() -> None:
    pair = machine(nvidia_gpu(0, compute_mode="Prohibited"), nvidia_gpu(1, compute_mode="Default"))
    assert severities(judge(NAME, pair)) == ["info"]
    closed = machine(nvidia_gpu(0, compute_mode="Prohibited"), nvidia_gpu(1, compute_mode="Prohibited"))
    assert severities(judge(NAME, closed)) == ["error", "error"]
