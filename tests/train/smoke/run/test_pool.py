"""The pool: a rank that dies, hangs, errs or does something else is named in time, and nothing is left running."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from rocdoctor.train.smoke.judge.verdicts import judge
from rocdoctor.train.smoke.run.pool import Pool, PoolError, RankRecord
from tests.train.smoke import kit

pytest.importorskip("torch")


@pytest.mark.parametrize(
    ("fault", "layer", "words"),
    [
        ("sigkill", "", "SIGKILL) from outside: by the kernel when memory ran out"),
        pytest.param("sigterm", "", "(SIGTERM) from outside: by somebody", marks=pytest.mark.heavy),
        pytest.param("sigsegv", "framework", "SIGSEGV", marks=pytest.mark.heavy),
        ("sigstop", "configuration", "stopped"),
        pytest.param("exit-0", "framework", "exit status 0 before the test was done", marks=pytest.mark.heavy),
        ("sleep", "framework", "gave no answer"),
        pytest.param("error", "framework", "expected a tensor of 3 dimensions", marks=pytest.mark.heavy),
        ("out-of-memory", "configuration", "memory"),
        pytest.param("wrong-size", "framework", "rank 1 entered all_reduce float32[1000]", marks=pytest.mark.heavy),
        ("wrong-order", "framework", "rank 1 entered broadcast"),
        ("skipped-collective", "framework", "left out a collective"),
    ],
)
def test_a_lost_rank_is_named_in_time_and_nothing_is_left(fault: str, layer: str, words: str) -> None:
    result = kit.planted(fault, 1, "ddp", world=4, limit_s=8.0)
    assert (result.state, result.layer, result.named) == ("crashed", layer, (1,)), result.message
    assert words in result.message
    assert result.wall_s < 8.0 + 2.0
    assert kit.processes() == []


def test_a_rank_that_only_comes_late_is_named() -> None:
    result = kit.planted("late", 1, "ddp", world=4)
    assert (result.state, result.layer, result.named) == ("fail", "configuration", (1,)), result.message
    assert "kept the others waiting" in result.message
    assert max(result.max_error["grad"], result.max_error["loss"]) < 1e-5


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGSTOP, "is stopped (a signal or a debugger)"),
        pytest.param(signal.SIGKILL, "ended by signal 9", marks=pytest.mark.heavy),
    ],
)
def test_a_server_that_is_stopped_or_killed_is_no_fault_of_a_rank(number: signal.Signals, words: str) -> None:
    with Pool(sys.executable) as pool:
        assert judge(pool.start(2, "gloo", "cpu", 10.0, 60.0)).state == "pass"
        os.kill(pool._server.pid, number)
        found = judge(pool.run("ddp", 3.0))
    assert (found.state, found.layer, found.named) == ("crashed", "", ()), found.message
    assert "the process that starts the ranks" in found.message and words in found.message
    assert kit.processes() == []


def test_what_an_earlier_set_of_ranks_says_late_is_no_answer() -> None:
    pool = kit.healthy_pool()
    assert judge(pool.start(2, "gloo", "cpu", 10.0, 60.0)).state == "pass"
    now = pool._pids[1]
    late = {"rank": 1, "pid": now + 1, "at": 1.0}
    for event in (
        {"event": "result", "state": "pass"},
        {"event": "ready", "gpu": None},
        {"event": "exit", "signal": 9},
    ):
        said = [{**late, **event}, {"event": "result", "rank": 1, "pid": now, "at": 2.0, "state": "fail"}]
        pool._ranks[1] = RankRecord(1)
        assert pool._take(said[0]) is None, event
        assert pool._ranks[1] == RankRecord(1), event
        assert pool._take(said[1]) is pool._ranks[1]
        assert pool._ranks[1].result == said[1]
    pool._buffer += b"".join(
        json.dumps({**late, "event": "result", "rank": rank, "state": "pass"}).encode() + b"\n" for rank in (0, 1)
    )
    found = judge(pool.run("optimizers", 20.0))
    pool.stop_ranks()
    assert (found.state, set(found.max_error)) == ("pass", {"local"}), found


def test_a_pool_goes_on_after_a_loss() -> None:
    assert kit.planted("sigkill", 1, "ddp").state == "crashed"
    assert kit.run("ddp").state == "pass"


@pytest.mark.parametrize(
    ("source", "words", "missing"),
    [
        ("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')", "torch is not installed", True),
        ("raise ImportError('libamdhip64.so.6: cannot open shared object file')", "libamdhip64.so.6", False),
        ("__version__ = '1.13.1+rocm5.2'", "torch 1.13.1.rocm5.2 is too old", False),
        ("import os; os._exit(7)", "Python ended with status 7", False),
    ],
)
def test_an_interpreter_that_cannot_run_the_tests_says_why(
    tmp_path: Path, source: str, words: str, missing: bool
) -> None:
    (tmp_path / "torch.py").write_text(source)
    with pytest.raises(PoolError, match=words) as caught:
        Pool(sys.executable, {"PYTHONPATH": str(tmp_path)})
    assert caught.value.missing_torch is missing
