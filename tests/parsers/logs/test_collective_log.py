"""Messages of torch about ranks that wait. gloo's are recorded (torch 2.13), the watchdog's made from its source."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.parsers.logs import collective_log as collective_log_module
from rocdoctor.parsers.logs.collective_log import CollectiveLog, collective_log
from rocdoctor.parsers.logs.job_lines import job_lines, joined
from tests.run_kit import BARRIER, RAISED

# torch 2.6 ProcessGroupNCCL.cpp (WorkNCCL::checkTimeout, watchdogHandler, heartbeatMonitor), TraceUtils.h
WATCHDOG = """\
[rank3]:[E1121 13:30:49.829000000 ProcessGroupNCCL.cpp:629] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=41, OpType=ALLREDUCE, NumelIn=1024, NumelOut=2048, Timeout(ms)=600000) ran for 600029 milliseconds before timing out.
[rank3]:[E1121 13:30:49.830000000 ProcessGroupNCCL.cpp:2168] [PG ID 0 PG GUID 0(default_pg) Rank 3]  failure detected by watchdog at work sequence id: 41 PG status: last enqueued work: 43, last completed work: 40
[rank1]:[E1121 13:30:50.830000000 ProcessGroupNCCL.cpp:1753] [PG ID 0 PG GUID 0(default_pg) Rank 1] Received a dump signal due to a collective timeout from  rank 3 and we will try our best to dump the debug info. Last enqueued NCCL work: 40, last completed NCCL work: 40.This is most likely caused by incorrect usages of collectives
[rank3]:[E1121 13:30:49.829 ProcessGroupNCCL.cpp:1936] [PG 0 Rank 3]
TAB - [3] Timeout at collective: ALLREDUCE, #41
TAB - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:
TAB   - [1, 2] joined but didn't finish collective #40 (count from 1)
TAB     [0] finished collective #40, but didn't join collective #41 (count from 1)
""".replace("TAB", "\t")  # noqa: E501


def parse_collective_log(text: str) -> CollectiveLog:
    lines = job_lines(text)
    return collective_log(lines, joined(lines))


def test_the_watchdog() -> None:
    found = parse_collective_log(WATCHDOG)
    (timeout,) = found.timeouts
    assert (timeout.rank, timeout.sequence, timeout.operation) == (3, 41, "ALLREDUCE")
    assert timeout.numel_in == 1024
    assert [(one.line, one.rank, one.group, one.enqueued) for one in found.statuses] == [
        (2, 3, "default_pg", 43),
        (3, 1, "default_pg", 40),
    ]
    assert [(one.ranks, one.how, one.sequence) for one in found.named] == [
        ((1, 2), "not-finished", 40),
        ((0,), "not-joined", 41),
    ]
    assert found.ranks == (1, 3)


def test_what_a_terminal_cuts_and_what_a_mail_wraps() -> None:
    cut = "".join(line[at : at + 80] + "\n" for line in WATCHDOG.splitlines() for at in range(0, len(line), 80))
    (timeout,) = parse_collective_log(cut).timeouts
    assert timeout.operation == "ALLREDUCE"
    wrapped = WATCHDOG.replace("WorkNCCL(SeqNum=41, ", "WorkNCCL(SeqNum=41,\n").replace("ran for ", "ran\nfor ")
    (timeout,) = parse_collective_log(wrapped).timeouts
    assert timeout.sequence == 41


def test_older_and_bare_forms() -> None:
    old = "RuntimeError: [Rank 5] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=BROADCAST, Timeout(ms)=1800000) ran for 1800116 milliseconds before timing out."  # noqa: E501
    (timeout,) = parse_collective_log(old + "\n" + old).timeouts  # printed twice, counted once
    assert (timeout.rank, timeout.operation, timeout.numel_in) == (5, "BROADCAST", None)


def test_a_monitored_barrier_names_who_is_missing() -> None:
    found = parse_collective_log(BARRIER)
    assert [(one.line, one.ranks, one.how) for one in found.named] == [(1, (1,), "monitored-barrier")]
    assert [(one.rank, one.victim) for one in found.errors] == [(2, True)]
    many = parse_collective_log("[Rank 0]: Ranks 1, 2 failed to pass monitoredBarrier in 2000 ms")
    assert many.named[0].ranks == (1, 2)


def test_exceptions_of_ranks() -> None:
    first, second = parse_collective_log(RAISED).errors
    assert (first.rank, first.exception, first.message) == (1, "ValueError", "bad batch: labels out of range")
    assert first.frame == ("/job/t.py", 26, "main") and not first.victim and first.line == 6
    assert second.rank == 0 and second.victim


def test_tracebacks_of_two_ranks_between_each_other() -> None:
    a = [
        f"[rank0]: {line}"
        for line in ("Traceback (most recent call last):", '  File "/job/a.py", line 1, in f', "KeyError: 'x'")
    ]
    b = [
        f"[rank1]: {line}"
        for line in ("Traceback (most recent call last):", '  File "/job/b.py", line 2, in g', "IndexError: 3")
    ]
    found = parse_collective_log("\n".join(line for pair in zip(a, b, strict=True) for line in pair)).errors
    assert [(one.rank, one.frame) for one in found] == [(0, ("/job/a.py", 1, "f")), (1, ("/job/b.py", 2, "g"))]


def test_a_frame_that_was_cut_is_not_known() -> None:
    text = '[rank0]: Traceback (most recent call last):\n[rank0]:   File "/v/site-packages/to\nrch/x.py", line 1, in f\n[rank0]: ValueError: x\n'  # noqa: E501
    (found,) = parse_collective_log(text).errors
    assert found.frame is None


def test_fingerprints_that_differ() -> None:
    prints = "CollectiveFingerPrint(SequenceNumber=3, OpType={}, TensorShape=[4], TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cpu))"  # noqa: E501
    text = (
        "RuntimeError: Detected mismatch between collectives on ranks. Rank 2 is running collective: "
        f"{prints.format('ALLREDUCE')}, but Rank 1 is running collective: {prints.format('ALLGATHER')}."
    )
    (found,) = parse_collective_log(text).mismatches
    assert (found.ranks, found.sequence, found.operations) == ((2, 1), 3, ("ALLREDUCE", "ALLGATHER"))
    assert found.shapes == ("[4]", "[4]")


def test_stores_and_sizes() -> None:
    text = (
        "DistStoreError: Timed out after 901 seconds waiting for clients. 3/4 clients joined.\n"
        "[enforce fail at p.cc:4] op.preamble.length <= op.nbytes. 8 vs 4. Received data size doesn't match expected\n"
        "[rank1]: RuntimeError: [unbound_buffer.cc:78] Timed out waiting 6000ms for recv operation to complete\n"
    )
    found = parse_collective_log(text)
    assert found.clients == ((1, 3, 4),) and found.received_sizes == ((2, 8, 4),)
    assert [(one.rank, one.waited_ms) for one in found.waits] == [(1, 6000)]


def test_a_sound_job_has_nothing() -> None:
    text = "[rank0]: step 1\nProcessGroupNCCL initialization options: TIMEOUT(ms): 600000\n" + (
        "[rank0]:[W1121 x.cpp:1476] Warning: WARNING: destroy_process_group() was not called before program "
        "exit, which can leak resources."
    )
    found = parse_collective_log(text)
    assert not (found.timeouts or found.named or found.waits or found.errors or found.mismatches or found.clients)


def test_a_victim_whose_words_were_cut() -> None:
    line = "[rank0]: RuntimeError: [/w/pytorch/third_party/gloo/unbound_buffer.cc:78] Timed out waiting 6000ms for"
    traceback = '[rank0]: Traceback (most recent call last):\n[rank0]:   File "/job/t.py", line 1, in f\n'
    cut = "".join(line[at : at + 72] + "\n" for at in range(0, len(line), 72))
    (found,) = parse_collective_log(traceback + cut + "E1121 13:31:18.826 17 x.py:1] failed\n").errors
    assert found.victim and found.rank == 0


_FRAGMENTS = (
    *(
        "[",
        "[PG ID 0 PG GUID 0(default_pg) Rank 1] ",
        "[Rank 3]: ",
        "]",
        " ",
        "x",
        "[0] Timeout at collective: ALLREDUCE, #12 ",
    ),
    *("Watchdog caught collective operation timeout: "),
    *("WorkNCCL(SeqNum=12, OpType=ALLREDUCE)", "WorkNCCL(", "[PG "),
    *("To our best knowledge,", " ranks [1, 2] are the lagging ranks that caused this timeout"),
)


@given(st.lists(st.sampled_from(_FRAGMENTS), max_size=14))
def test_what_is_found_at_a_sign_is_what_a_search_finds(pieces: list[str]) -> None:
    text = "".join(pieces)
    text += "[PG ID 0 PG GUID 0(default_pg) Rank 1] Watchdog caught collective operation timeout: WorkNCCL("
    text += "SeqNum=12, OpType=ALLREDUCE)" + "".join(reversed(pieces))
    for expression, sign, reach in (
        (collective_log_module._TIMEOUT, "Watchdog caught collective operation timeout:", 300),
        (collective_log_module._LAGGING, "To our best knowledge,", 200),
    ):
        found = collective_log_module._found_at(expression, sign, reach, text)
        assert [one.span() for one in found] == [one.span() for one in expression.finditer(text)]
