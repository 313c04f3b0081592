"""Time-outs of collectives. The texts are constructed from the formats of torch and torchrun."""

from __future__ import annotations

from tests.kit import judge, states
from tests.message_kit import finding_of, pasted

CHECK = "collective-timeout-message"
TEXT = (
    "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=41, OpType=ALLREDUCE, NumelIn=1, "
    "NumelOut=1, "
    "Timeout(ms)=600000) ran for 600029 milliseconds before timing out."
)


def test_it_names_collective_and_ranks_without_a_cause() -> None:
    found = finding_of(CHECK, TEXT + "\nRank 5 failed to pass monitoredBarrier in 1000 ms")
    assert found is not None and found.severity == "info" and found.cause == ""
    assert "ALLREDUCE" in found.message and "41" in found.message
    assert "Rank 3 waited" in found.message and "Rank 5 did not" in found.message


def test_silence() -> None:
    assert states(judge(CHECK, pasted("ProcessGroupNCCL timeout set to 600000 ms"))) == ["not-applicable"]
