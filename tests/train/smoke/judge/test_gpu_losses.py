"""Who is named when ranks on GPUs are lost: from records alone, with the words that libraries are known to print.

The words: ProcessGroupNCCL.cpp of pytorch/pytorch (``checkTimeout``, ``handleException``), runtime.cpp of
ROCm/ROCR-Runtime (``VMFaultHandler`` and what it prints after it), read 2026-11-28.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from rocdoctor.train.smoke.judge.last_words import TELLING
from rocdoctor.train.smoke.judge.verdicts import judge
from rocdoctor.train.smoke.run.pool import ModeRecord, RankRecord
from rocdoctor.train.smoke.run.processes import tail
from rocdoctor.train.smoke.run.runner import CPU_LIMIT_S, GPU_LIMIT_S
from rocdoctor.train.smoke.run.standstill import wait_of_ranks_s
from rocdoctor.train.smoke.worker.mode import all_modes

_TIMEOUT = (
    "[rank{0}]:[E1128 ProcessGroupNCCL.cpp:1899] [PG ID 0 Rank {0}] Process group watchdog thread "
    "terminated with exception: [Rank {0}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, "
    "OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=60000) ran for 60021 milliseconds before timing out."
)
_FAULT = (
    "Memory access fault by GPU node-3 (Agent handle: 0x55d0) on address 0x7f00. Reason: Page not present or "
    "supervisor privilege."
)
_FRAMES = "\n".join(f"frame #{number}: <unknown function> + 0x9caa4 (in libc.so.6)" for number in range(30))


def _gave_up(rank: int, at: float = 1.0, seq: int = 7) -> RankRecord:
    note = {"seq": seq, "call": "all_reduce float32[4]", "mark": "step 0"}
    log = _TIMEOUT.format(rank)
    return RankRecord(rank, gpu=f"0000:0{rank}:00.0", exit_signal=signal.SIGABRT, ended_at=at, log=log, note=note)


def _silent(rank: int, frame: str, seq: int = 7) -> RankRecord:
    note = {"seq": seq, "call": "all_reduce float32[4]", "mark": "step 0"}
    stack = f'  File "{frame.partition(":")[0]}", line 9 in {frame.partition(":")[2]}'
    return RankRecord(rank, silent=True, process_state="S", stack=stack, note=note)


_SYNC = "/venv/torch/cuda/__init__.py:synchronize"
_COPY = "/opt/rocdoctor/train/smoke/worker/compare.py:_plain"
_ELSEWHERE = "/home/a/model.py:forward"


def test_a_rank_that_the_watchdog_ended_is_the_victim_of_the_one_that_hangs() -> None:
    ranks = (_gave_up(0, 1.0), _gave_up(1, 1.1), _silent(2, _ELSEWHERE, seq=6), _gave_up(3, 1.2))
    found = judge(ModeRecord("mode", 60.0, ranks))
    assert (found.state, found.named) == ("crashed", (2,)), found.message
    assert "gave no answer" in found.message


_STAGE = "/venv/torch/distributed/pipelining/schedules.py:_wait_batch_p2p"


def test_messages_are_not_counted_against_a_rank_that_had_fewer_to_send() -> None:
    """Stages of a pipeline that hung in its second forward pass, with the numbers that each of them had."""
    ranks = [_silent(rank, _STAGE, seq) for rank, seq in ((0, 7), (1, 11), (2, 9), (3, 7))]
    ranks[1] = _silent(1, _ELSEWHERE, 11)
    for one in ranks:
        one.note["pairs"] = True
    found = judge(ModeRecord("mode", 60.0, tuple(ranks)))
    assert (found.layer, found.named) == ("framework", (1,)), found.message
    ranks[1] = _silent(1, _STAGE, 11)
    ranks[1].note["pairs"] = True
    found = judge(ModeRecord("mode", 60.0, tuple(ranks)))
    assert found.named == () and found.message.endswith("; all wait in the same place; it is not clear for whom")
    ranks[1].stack = f'  File "{_SYNC.partition(":")[0]}", line 9 in synchronize'
    assert judge(ModeRecord("mode", 60.0, tuple(ranks))).message.endswith(
        "; each waits for another; it is not clear for whom"
    )


def test_what_killed_a_rank_weighs_more_than_watchdogs_that_waited_for_it() -> None:
    dead = RankRecord(2, exit_signal=signal.SIGSEGV, ended_at=9.0)
    assert judge(ModeRecord("mode", 60.0, (_gave_up(0), _gave_up(1), dead))).named == (2,)


def test_a_rank_that_left_a_collective_out_is_named_when_watchdogs_end_the_others() -> None:
    done = RankRecord(2, result={"state": "pass", "errors": {}, "tolerances": {}})
    found = judge(ModeRecord("mode", 60.0, (_gave_up(0), _gave_up(1), done)))
    assert found.named == (2,)
    assert "left out a collective" in found.message


def test_where_all_waited_in_vain_no_single_rank_is_accused() -> None:
    found = judge(ModeRecord("mode", 60.0, (_gave_up(0), _gave_up(1))))
    assert (found.layer, found.named) == ("collectives", ())
    assert "it is not clear for which" in found.message
    assert "OpType=ALLREDUCE" in found.message


@pytest.mark.parametrize("frame", [_SYNC, _COPY])
def test_ranks_that_wait_for_their_gpu_are_not_taken_for_the_one_that_is_elsewhere(frame: str) -> None:
    ranks = (_silent(0, frame), _silent(1, frame), _silent(2, _ELSEWHERE), _silent(3, frame))
    assert judge(ModeRecord("mode", 120.0, ranks, True)).named == (2,)


def _faulted(rank: int, at: float, words: str = _FAULT) -> RankRecord:
    return RankRecord(rank, gpu=f"0000:4{rank}:00.0", exit_signal=signal.SIGABRT, ended_at=at, log=words)


def test_a_memory_fault_is_told_although_much_is_printed_after_it(tmp_path: Path) -> None:
    log = tmp_path / "rank1.log"
    log.write_text(f"before\n{_FAULT}\nNearby memory map:\n{_FRAMES}\nAborted\n")
    words = tail(log, 12, TELLING)
    assert _FAULT in words and "frame #29" in words and "frame #2:" not in words
    found = judge(ModeRecord("mode", 3.0, (_gave_up(0), _faulted(1, 2.0, words))))
    assert (found.named, found.layer) == ((1,), "")
    assert "the runtime of a GPU ended rank 1 (GPU 0000:41:00.0)" in found.message
    assert "Memory access fault by GPU node-3" in found.message


_ILLEGAL = "CUDA error: an illegal memory access was encountered"
_ECC = "CUDA error: uncorrectable ECC error encountered"


@pytest.mark.parametrize(("words", "layer"), [(_FAULT, ""), (_ILLEGAL, ""), (_ECC, "device")])
def test_only_an_error_of_its_memory_is_the_gpus_own(words: str, layer: str) -> None:
    died = judge(ModeRecord("mode", 3.0, (_gave_up(0), _faulted(1, 2.0, words))))
    raised = RankRecord(1, result={"state": "crashed", "kind": "device", "message": f"RuntimeError: {words}"})
    for found in (died, judge(ModeRecord("mode", 3.0, (_gave_up(0), raised)))):
        assert (found.named, found.layer) == ((1,), layer), found.message
        assert words in found.message


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_gpu_that_lost_the_memory_of_a_rank_that_was_killed_is_not_accused(number: int) -> None:
    killed = RankRecord(0, exit_signal=number, ended_at=1.0)
    found = judge(ModeRecord("mode", 3.0, (killed, _faulted(1, 2.0))))
    assert (found.named, found.layer) == ((0,), "")
    assert "from outside" in found.message


@pytest.mark.parametrize(("at", "log"), [(1.0, "terminate called"), (1.0, _FAULT), (3.0, _FAULT)])
def test_where_either_of_two_may_have_made_the_other_fault_both_are_named(at: float, log: str) -> None:
    found = judge(ModeRecord("mode", 3.0, (_faulted(0, at, log), _faulted(1, 2.0), _gave_up(2))))
    assert (found.named, found.layer) == ((0, 1), "")
    assert _FAULT in found.message


def test_an_error_of_memory_accuses_its_gpu_whoever_ended_first() -> None:
    killed = RankRecord(0, exit_signal=signal.SIGKILL, ended_at=1.0)
    found = judge(ModeRecord("mode", 3.0, (killed, _faulted(1, 2.0, _ECC))))
    assert (found.named, found.layer) == ((1,), "device")


def test_a_watchdog_that_ends_a_rank_for_a_fault_of_its_gpu_makes_it_no_victim() -> None:
    words = f"Process group watchdog thread terminated with exception: {_ILLEGAL}"
    found = judge(ModeRecord("mode", 3.0, (_gave_up(0), _faulted(1, 2.0, f"{words}\n{_TIMEOUT.format(1)}"))))
    assert (found.named, found.layer) == ((1,), "")


def test_no_watchdog_comes_before_the_deadline() -> None:
    slowest = max(one.slow for one in all_modes())
    assert wait_of_ranks_s("nccl", GPU_LIMIT_S) > 4 * GPU_LIMIT_S * slowest
    assert wait_of_ranks_s("gloo", CPU_LIMIT_S) < CPU_LIMIT_S
