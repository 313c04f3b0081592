"""The check rank-failed-first. Tracebacks and tables are recorded from torch 2.13 and shortened."""

from __future__ import annotations

from tests.kit import event, judge, log, machine, states
from tests.run_kit import BARRIER, RAISED, found_in, run_of, table

CHECK = "rank-failed-first"
KILLED = table((0, -15, 19024), (1, -9, 19025), (2, -15, 19026), root=1)


def test_an_exception_of_the_program() -> None:
    found = found_in(CHECK, RAISED + table((0, -15, 26672), (1, 1, 26673), root=1))
    assert found is not None and (found.severity, found.cause) == ("error", "not-environment")
    assert "Rank 1 ended with ValueError at t.py:26 in main, first of all ranks" in found.message
    assert "Rank 0 waited for it or lost it" in found.message
    assert "network-interface-wrong" in found.explains


def test_an_exception_of_a_library_has_no_cause_yet() -> None:
    text = RAISED.replace('"/job/t.py", line 26', '"/v/lib/python3.11/site-packages/x/y.py", line 26')
    found = found_in(CHECK, text + table((0, -15, 26672), (1, 1, 26673), root=1))
    assert found is not None and found.cause == ""


def test_out_of_memory_on_one_rank() -> None:
    text = RAISED.replace("ValueError: bad batch: labels out of range", "torch.OutOfMemoryError: CUDA out of memory.")
    found = found_in(CHECK, text + table((0, -15, 26672), (1, 1, 26673), root=1))
    assert found is not None and found.cause == "out-of-memory" and "Rank 1" in found.message


def test_sigkill_without_a_word() -> None:
    found = found_in(CHECK, KILLED)
    assert found is not None and (found.severity, found.cause) == ("error", "out-of-memory")
    assert (found.confidence, found.finer) == ("possible", "host-memory")
    assert "Rank 1 (process 19025) was ended by SIGKILL, first of all ranks" in found.message
    assert found.fix is not None and "dmesg" in found.fix.command


def test_sigkill_by_the_kernel() -> None:
    killer = event("out-of-memory-kill", "Out of memory: Killed process 19025 (python3)", pid=19025)
    kernel = machine(kernel=machine().kernel.__class__(log=log(killer))).kernel
    found = found_in(CHECK, run_of(KILLED), kernel=kernel)
    assert found is not None and found.cause == "out-of-memory" and "OOM killer" in found.message
    other = event("out-of-memory-kill", "Out of memory: Killed process 7 (java)", pid=7)
    kernel = machine(kernel=machine().kernel.__class__(log=log(other))).kernel
    found = found_in(CHECK, run_of(KILLED), kernel=kernel)
    assert found is not None and found.cause == ""


def test_an_exit_code_of_its_own() -> None:
    found = found_in(CHECK, table((0, -15, 19689), (1, 5, 19690), root=1))
    assert found is not None and "Rank 1 (process 19690) ended with exit code 5" in found.message
    reason = "Unable to find address for: ib0\n"
    assert found_in(CHECK, reason + table((0, -15, 19689), (1, 5, 19690), root=1)) is None


def test_victims_are_not_the_first() -> None:
    # The launcher saw rank 2 first, which only lost rank 0; nobody of the table failed by itself.
    text = BARRIER + table((0, 1, 19191), (1, -15, 19192), (2, 1, 19193), root=2)
    assert found_in(CHECK, text) is None
    assert found_in(CHECK, table((0, -15, 1), (1, -6, 2), root=1)) is None  # the abort of a watchdog


def test_a_job_that_may_have_gone_on() -> None:
    found = found_in(CHECK, RAISED)  # the agent's line stands there, no table of the end
    assert found is not None and found.severity == "info" and found.cause == ""


def test_a_traceback_of_another_program_is_not_judged() -> None:
    text = (
        'Traceback (most recent call last):\n  File "/srv/app.py", line 3, in f\nValueError: x\n'
        "redis: Connection closed by peer [10.0.0.1]\n"
    )
    assert found_in(CHECK, text) is None


def test_silence() -> None:
    assert states(judge(CHECK, machine())) == ["not-applicable"]
