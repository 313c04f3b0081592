"""Launched modes: launchers that fail, hang or fall back are told apart, and what ranks leave behind is read."""

from __future__ import annotations

import json
import os
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.train.smoke.run import launch as launching
from rocdoctor.train.smoke.run.build_locks import BuildLocks
from rocdoctor.train.smoke.run.launch_files import look, planned_loss, records
from rocdoctor.train.smoke.run.launcher_words import root_cause
from rocdoctor.train.smoke.run.pool import MOST_STRETCHED
from rocdoctor.train.smoke.worker import board, segments
from rocdoctor.train.smoke.worker.mode import Launch, LaunchPlan, all_modes
from tests.train.smoke import launch_kit as kit

# Transcribed from torchrun of torch 2.13.0, shortened.
_TORCHRUN = """\
W1121 14:45:01.270000 22587 torch/distributed/elastic/agent/server/api.py:944] [default] Worker group FAILED. 1/1 left
E1121 14:45:01.270000 22587 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: -9) local_rank: 1
Traceback (most recent call last):
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-21_14:45:01
  host      : host-1
  rank      : 1 (local_rank: 1)
  exitcode  : -9 (pid: 22768)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 22768
============================================================
"""


def test_words_of_torchrun_are_its_root_cause() -> None:
    assert root_cause(_TORCHRUN) == (
        "rank 1 (local_rank: 1), exitcode -9 (pid: 22768), Signal 9 (SIGKILL) received by PID 22768"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("/opt/python: No module named accelerate\n", "/opt/python: No module named accelerate"),
        (
            "[2026-11-21 14:33:27,006] [ERROR] [launch.py:325:sigkill_handler] ['python', '-u', 'x.py'] exits with "
            "return code = -9\n",
            "exits with return code = -9",
        ),
        ("all is well\nProcess 14132 exits successfully.\n", ""),
        ("", ""),
    ],
)
def test_words_of_others_are_the_last_that_tell_of_an_error(text: str, words: str) -> None:
    assert root_cause(text) == words


@given(st.text(max_size=2000))
def test_any_words_are_read_and_bounded(text: str) -> None:
    assert len(root_cause(text)) <= 300
    assert len(root_cause("Root Cause (first observed failure):\n" + text)) <= 300


def _write(folder: Path, name: str, **fields: Any) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps({"at": 1.0, **fields}))


def _started(folder: Path, rank: int, pid: int) -> None:
    _write(folder, f"started.{rank}.{pid}", rank=rank, world=2, pid=pid)


def test_a_planned_loss_leads_to_the_next_start(tmp_path: Path) -> None:
    for rank in (0, 1):
        _started(tmp_path / "0", rank, 100 + rank)
        _started(tmp_path / "1", rank, 200 + rank)
    _write(tmp_path / "0", "planned.1")
    _write(tmp_path / "0", "ended.1", signal=9)
    _write(tmp_path / "0", "result.0", state="crashed", kind="collective")
    assert planned_loss(tmp_path / "0") == "1"
    assert look(tmp_path, 1).attempt == 1


def test_a_start_that_was_lost_against_the_plan_is_judged(tmp_path: Path) -> None:
    for rank in (0, 1):
        _started(tmp_path / "0", rank, 100 + rank)
        _started(tmp_path / "1", rank, 200 + rank)
    _write(tmp_path / "0", "ended.1", signal=11)
    board.create(str(tmp_path / "0" / "board"), 2)
    seen = look(tmp_path, 1)
    first, second = records(2, tmp_path, seen)
    assert seen.attempt == 0
    assert first.silent and not first.ended
    assert second.exit_signal == 11


def test_two_processes_that_take_themselves_for_the_same_rank_are_counted(tmp_path: Path) -> None:
    _started(tmp_path / "0", 0, 100)
    _started(tmp_path / "0", 0, 101)
    assert look(tmp_path, 0).ranks[0].count == 2


def test_a_file_that_is_not_whole_is_none(tmp_path: Path) -> None:
    _started(tmp_path / "0", 0, 100)
    (tmp_path / "0" / "result.0.json").write_text('{"state": "pa')
    assert look(tmp_path, 0).ranks[0].result is None


def test_a_package_that_is_not_installed_is_not_applicable() -> None:
    result = kit.run("horovod")
    assert (result.state, result.layer) == ("not-applicable", "")
    assert result.message.startswith("horovod is not installed in ")
    assert [one.state for one in result.ranks] == ["not-applicable"] * 2


def test_an_interpreter_that_is_not_there(tmp_path: Path) -> None:
    result = kit.run("elastic", interpreter=str(tmp_path / "python"))
    assert (result.state, result.layer) == ("crashed", "configuration")
    assert result.message.startswith("the launcher cannot be started")
    assert kit.run("accelerate", interpreter=str(tmp_path / "python")).state == "unknown"


def test_shared_memory_that_a_library_leaves_is_removed_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "_SHARED", str(tmp_path))
    other = tmp_path / f"deepspeed_allreduce_buffer_{os.getuid()}_127.0.0.1_1_0"  # no run of ours has port 1
    other.touch()

    def leaves(plan: LaunchPlan) -> list[str]:
        for rank in range(plan.world):
            (tmp_path / f"deepspeed_allreduce_buffer_{os.getuid()}_127.0.0.1_{plan.port}_{rank}").touch()
        raise FileNotFoundError("planted")

    how = next(one.launch for one in all_modes() if one.name == "deepspeed-zero-3")
    assert how is not None and how.segments is not None
    mode: Any = SimpleNamespace(name="left", launch=Launch(leaves, segments=how.segments))
    place = launching.LaunchPlace("python", {}, 2, "gloo", "cpu", 1.0)
    assert "planted" in launching.launch(mode, place).message
    assert list(tmp_path.iterdir()) == [other]


@pytest.mark.parametrize(
    ("fault", "state", "words", "limit_s"),
    [
        (
            "launcher-gone",
            "crashed",
            "the launcher started no rank and ended with status 1; the launcher said: planted: No module named",
            60.0,
        ),
        ("launcher-hangs", "crashed", "the launcher started no rank within 1 s", 1.0),
        ("one-process", "fail", "asked for 2 ranks, but 1 process was started, each in a group of 1", 60.0),
    ],
)
def test_a_launcher_that_does_something_else(fault: str, state: str, words: str, limit_s: float) -> None:
    pytest.importorskip("torch")
    result = kit.run("elastic", fault, limit_s=limit_s)
    assert (result.state, result.layer, result.named) == (state, "configuration", ())
    assert result.message.startswith(words)


def test_launched_modes_are_in_the_full_set_only() -> None:
    launched = {one.name for one in all_modes() if one.launch is not None}
    assert launched == {one.name for one in all_modes() if one.launch is not None and one.full}
    assert {"elastic", "accelerate", "deepspeed-zero-3", "megatron-tensor-parallel", "horovod"} <= launched


@pytest.mark.parametrize(("gained_s", "ends"), [(0.0, False), (1.0, True)])
def test_time_without_a_processor_does_not_count_for_a_launch(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, gained_s: float, ends: bool
) -> None:
    """A launcher that ends at its 40th poll, and a clock that goes on by a second at each look."""
    clock, seen = count(), {"polls": 0}

    class Short:
        extra_s = 0.0

        def __init__(self, pids: object, most_s: float) -> None:
            assert (pids, most_s) == ({0: 7}, 30.0)

        def look(self, ranks: object) -> float:
            self.extra_s += 3 * gained_s
            return 3 * gained_s

    def poll() -> int | None:
        seen["polls"] += 1
        return 0 if seen["polls"] >= 40 else None

    monkeypatch.setattr(launching, "Starved", Short)
    monkeypatch.setattr(launching, "time", SimpleNamespace(monotonic=lambda: next(clock), sleep=lambda _: None))
    place = launching.LaunchPlace("", {}, 2, "gloo", "cpu", 10.0)
    watch: Any = launching._Watch("elastic", Launch(lambda _: []), place, tmp_path, "", None, BuildLocks({}, list))
    watch._wait(SimpleNamespace(pid=7, poll=poll), 20.0)
    assert (seen["polls"] == 40) is ends


def test_no_rank_ends_by_itself_before_the_longest_deadline(tmp_path: Path) -> None:
    place = launching.LaunchPlace("python", {}, 2, "gloo", "cpu", 10.0)
    mode = next(one for one in all_modes() if one.name == "elastic")
    assert mode.launch is not None
    launching._prepare(mode, mode.launch, place, tmp_path)
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert min(plan["timeout_s"], plan["limit_s"]) >= 10.0 * MOST_STRETCHED
