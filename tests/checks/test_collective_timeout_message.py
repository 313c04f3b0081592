"""Time-outs of collectives. The texts are constructed from the formats of torch and torchrun."""

from __future__ import annotations

from tests.kit import judge, states
from tests.message_kit import finding_of, pasted
from tests.run_kit import BARRIER, found_in, table

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


def test_ranks_that_torch_names() -> None:
    found = found_in(CHECK, BARRIER)
    assert found is not None and (found.severity, found.cause) == ("error", "")
    assert "Rank 1 did not reach the collective monitored_barrier; rank 2 timed out" in found.message
    assert found.fix is not None and "RANK=1" in found.fix.command


def test_a_rank_that_is_behind() -> None:
    status = (
        "[rank{0}]:[E1121 13:30:49.830 x.cpp:2168] [PG ID 0 PG GUID 0(default_pg) Rank {0}] Received a dump "
        "signal due to a collective timeout. Last enqueued NCCL work: {1}, last completed NCCL work: 40.\n"
    )
    found = found_in(CHECK, f"[rank3]: {TEXT}\n" + status.format(3, 43) + status.format(1, 40))
    assert found is not None and found.severity == "error"
    assert "Rank 1 did not reach the collective ALLREDUCE number 41; rank 3 timed out waiting" in found.message


def test_a_time_out_whose_culprit_is_not_named() -> None:
    text = "[rank{}]: RuntimeError: [unbound_buffer.cc:78] Timed out waiting 6000ms for recv operation to complete\n"
    found = found_in(CHECK, text.format(0) + text.format(2))
    assert found is not None and "Ranks 0 and 2 timed out waiting" in found.message
    assert "does not name the rank" in found.message


def test_the_failure_that_explains_it_is_told() -> None:
    killed = table((0, 1, 19024), (1, -9, 19025), root=1)
    wait = "[rank0]: RuntimeError: [unbound_buffer.cc:78] Timed out waiting 6000ms for recv operation to complete\n"
    found = found_in(CHECK, wait + killed)
    assert found is not None and "Rank 1 failed by itself, which explains it" in found.message


def test_processes_that_never_came() -> None:
    found = found_in(CHECK, "DistStoreError: Timed out after 901 seconds waiting for clients. 3/4 clients joined.")
    assert found is not None and "3 of 4 processes reached the store" in found.message
