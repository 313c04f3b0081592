from __future__ import annotations

from dataclasses import replace

from rocdoctor.model.facts import ComputeNode, RasBlock
from tests.kit import amd_gpu, environment, judge, k, machine, nvidia_gpu, states, u

NAME = "ras-uncorrectable"


def test_counters_of_zero_pass_and_corrected_errors_are_no_matter_here() -> None:
    blocks = (RasBlock("umc", k(0), k(12)), RasBlock("gfx", k(0), k(0)))
    assert states(judge(NAME, machine(amd_gpu(ras=blocks)))) == ["pass"]


def test_an_uncorrectable_error_names_its_block() -> None:
    (verdict,) = judge(NAME, machine(amd_gpu(ras=(RasBlock("umc", k(2), k(5)), RasBlock("gfx", k(0), k(0))))))
    assert verdict.finding is not None
    assert verdict.finding.severity == "error"
    assert verdict.finding.cause == "gpu-hardware-fault"
    assert "2 in the umc block" in verdict.finding.message
    assert "gfx" not in verdict.finding.message


def test_volatile_errors_of_nvidia_are_errors_and_old_ones_a_note() -> None:
    now = nvidia_gpu(ras=(RasBlock("volatile", k(1), k(0)), RasBlock("aggregate", k(4), k(9))))
    once = nvidia_gpu(ras=(RasBlock("volatile", k(0), k(0)), RasBlock("aggregate", k(4), k(9))))
    first, second = (judge(NAME, machine(gpu))[0].finding for gpu in (now, once))
    assert first is not None
    assert second is not None
    assert first.severity == "error"
    assert (second.severity, second.cause) == ("info", "")
    assert "4 uncorrectable ECC errors" in second.message


def test_cards_without_counters_and_denied_counters_are_unknown() -> None:
    assert states(judge(NAME, machine(amd_gpu()))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu(ras=(RasBlock("umc", u(), u()),))))) == ["unknown"]


def test_other_vendors_and_no_gpu_are_not_applicable() -> None:
    assert states(judge(NAME, machine(replace(amd_gpu(), vendor="intel")))) == ["not-applicable"]
    assert states(judge(NAME, machine())) == ["not-applicable"]


def test_one_command_leaves_out_all_gpus_with_such_errors() -> None:
    sick, old = (RasBlock("umc", k(1), k(0)),), (RasBlock("umc", k(0), k(7)),)
    gpus = [
        amd_gpu(at, hip_index=at, compute_nodes=(ComputeNode(kfd_node=k(at + 2)),), ras=one)
        for at, one in enumerate((old, sick, old, sick))
    ]
    fixes = [one.finding.fix for one in judge(NAME, machine(*gpus, environment=environment({}))) if one.finding]
    assert [fix.command for fix in fixes if fix is not None] == ["export HIP_VISIBLE_DEVICES=0,2"] * 2
