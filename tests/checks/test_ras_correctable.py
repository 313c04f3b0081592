from __future__ import annotations

from rocdoctor.model.facts import Gpu, RasBlock
from tests.kit import amd_gpu, judge, k, machine, nvidia_gpu, severities, states, u

NAME = "ras-correctable"


def counted(index: int, errors: int, block: str = "umc") -> Gpu:
    return amd_gpu(index, ras=(RasBlock(block, k(0), k(errors)),))


def test_no_corrected_errors_pass_and_a_few_are_a_note() -> None:
    assert states(judge(NAME, machine(counted(0, 0)))) == ["pass"]
    (verdict,) = judge(NAME, machine(counted(0, 7)))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("info", "")
    assert "7 in the umc block" in verdict.finding.message


def test_many_errors_alone_are_a_note_and_far_from_equal_gpus_a_warning() -> None:
    assert severities(judge(NAME, machine(counted(0, 50_000)))) == ["info"]
    assert severities(judge(NAME, machine(counted(0, 50_000), counted(1, 3)))) == ["warning", "info"]
    assert severities(judge(NAME, machine(counted(0, 50_000), counted(1, 40_000)))) == ["info", "info"]


def test_link_errors_and_lifetime_counts_are_not_judged_here() -> None:
    link = amd_gpu(ras=(RasBlock("xgmi_wafl", k(0), k(900)), RasBlock("umc", k(0), k(0))))
    life = nvidia_gpu(1, ras=(RasBlock("volatile", k(0), k(0)), RasBlock("aggregate", k(0), k(34))))
    assert states(judge(NAME, machine(link, life))) == ["pass", "pass"]


def test_unread_counters_are_unknown() -> None:
    assert states(judge(NAME, machine(amd_gpu(), amd_gpu(1, ras=(RasBlock("umc", k(0), u()),))))) == ["unknown"] * 2
    assert states(judge(NAME, machine())) == ["not-applicable"]
