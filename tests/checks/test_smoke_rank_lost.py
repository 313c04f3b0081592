from __future__ import annotations

from rocdoctor.model.facts import ModeResult, SmokeRun
from tests.kit import judge, machine, states

CHECK = "smoke-rank-lost"


def test_without_smoke_tests_there_is_nothing_to_judge() -> None:
    assert states(judge(CHECK, machine())) == ["not-applicable"]


def test_a_lost_rank_is_an_error_with_the_command_that_tries_again() -> None:
    words = "rank 1 was ended by signal 9 (SIGKILL) at 'step 0: forward and backward'"
    mode = ModeResult("fsdp2", "crashed", 3.0, words, layer="configuration")
    run = SmokeRun(2, "gloo", "cpu", "2.13.0", 4.0, (mode, ModeResult("ddp", "fail", 0.1, "wrong")))
    (verdict,) = judge(CHECK, machine(smoke=(run,), smoke_question="smoke quick"))
    assert verdict.finding is not None
    assert verdict.finding.severity == "error"
    assert "rank 1 was ended by signal 9" in verdict.finding.message
    assert verdict.finding.fix is not None
    assert verdict.finding.fix.command == "rocdoctor smoke --world 2 --backend gloo --device cpu fsdp2"


def test_modes_that_ended_pass() -> None:
    run = SmokeRun(2, "gloo", "cpu", "2.13.0", 4.0, (ModeResult("ddp", "pass", 0.1), ModeResult("a", "fail", 0.1)))
    assert states(judge(CHECK, machine(smoke=(run,), smoke_question="smoke quick"))) == ["pass"]
