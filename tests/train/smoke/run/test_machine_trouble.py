"""What is wrong with the machine has words of its own, and no rank is accused of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from rocdoctor.parsers.own.smoke_results import SmokeRun
from rocdoctor.train.smoke.judge.verdicts import judge
from rocdoctor.train.smoke.nodes.interfaces import NodeInterface
from rocdoctor.train.smoke.run import machine_trouble, request, starved
from rocdoctor.train.smoke.run import pool as pools
from rocdoctor.train.smoke.run.machine_trouble import RefusedForks
from rocdoctor.train.smoke.run.pool import ModeRecord, Pool, RankRecord
from rocdoctor.train.smoke.run.starved import Starved
from tests.waiting import until


def _record(machine: str, *ranks: RankRecord, server: str = "") -> ModeRecord:
    return ModeRecord("ddp", 1.0, ranks, False, server, machine)


def test_a_kill_for_want_of_memory_is_told_where_the_kernel_counts_one(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/vmstat").write_text("pgfault 5\noom_kill 4\nnuma_hit 1\n")
    assert machine_trouble.oom_kills(tmp_path) == 4
    assert machine_trouble.oom_kills(tmp_path / "none") == 0
    assert "memory ran out" in machine_trouble.killed_for_memory(3, [None, signal.SIGKILL], tmp_path)
    assert machine_trouble.killed_for_memory(4, [signal.SIGKILL], tmp_path) == ""  # somebody else's signal
    assert machine_trouble.killed_for_memory(3, [signal.SIGSEGV], tmp_path) == ""


def test_the_rank_that_the_kernel_ended_for_memory_is_named_and_the_library_is_not() -> None:
    killed = RankRecord(1, exit_signal=signal.SIGKILL, ended_at=1.0)
    found = judge(_record("the kernel ended a process because memory ran out", RankRecord(0, silent=True), killed))
    assert (found.named, found.layer) == ((1,), "configuration")
    assert "memory ran out" in found.message
    server = judge(_record("the kernel ended a process", RankRecord(0, silent=True), server="was ended by signal 9"))
    assert (server.named, server.layer) == ((), "configuration")
    assert "was ended by signal 9: the kernel ended a process" in server.message


def test_a_part_of_torch_that_cannot_write_its_cache_is_told_instead_of_what_follows() -> None:
    absent = {"torch.new": "ModuleNotFoundError: No module named 'torch.new'", "torch._dynamo": "OSError: read-only"}
    found = machine_trouble.not_imported(absent, ["error", "error"])
    assert found == "torch._dynamo cannot be imported here: OSError: read-only"
    assert machine_trouble.not_imported(absent, ["error", "victim"]) == ""
    assert machine_trouble.not_imported({"torch.new": absent["torch.new"]}, ["error"]) == ""


def test_a_full_disk_accuses_no_rank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room: dict[str, Any] = {"f_blocks": 100, "f_bavail": 3, "f_frsize": 4096, "f_files": 9, "f_favail": 9}
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(**room))
    full = machine_trouble.full_folder(tmp_path)
    assert full.startswith("no space is left on the device that holds")
    assert "inodes" in _with(room, tmp_path, f_bavail=1 << 20, f_favail=0)
    assert _with(room, tmp_path, f_favail=9) == ""
    assert _with(room, tmp_path, f_files=0, f_favail=0) == ""  # btrfs counts none
    ended = RankRecord(0, exit_status=1, ended_at=1.0)
    found = judge(_record(full, ended, RankRecord(1, silent=True)))
    assert (found.named, found.layer) == ((), "configuration")
    assert found.message == f"{full}; rank 0: exit status 1"
    aborted = RankRecord(0, exit_signal=signal.SIGABRT, ended_at=1.0)
    assert judge(_record(full, aborted, RankRecord(1))).message == f"{full}; rank 0: ended by signal 6"


@pytest.mark.parametrize(
    ("limit", "signals", "said", "met"),
    [
        (1000, [], "", True),
        (-1, [signal.SIGXFSZ], "File too large", False),
        (100 << 20, [], "", False),
        (100 << 20, [None, signal.SIGXFSZ], "", True),
        (100 << 20, [signal.SIGKILL], "OSError: [Errno 27] File too large", True),
    ],
)
def test_a_limit_of_the_size_of_files_is_named(
    monkeypatch: pytest.MonkeyPatch, limit: int, signals: list[int | None], said: str, met: bool
) -> None:
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda which: (limit, -1))
    found = machine_trouble.file_too_large(signals, ["", said])
    assert found == (
        f"ulimit -f lets a file have {limit} bytes only, and the ranks write files: raise it" if met else ""
    )


def _with(room: dict[str, Any], folder: Path, **change: int) -> str:
    room.update(change)
    return machine_trouble.full_folder(folder)


def test_a_missing_interface_is_told_by_its_name() -> None:
    pytest.importorskip("torch")
    with Pool(sys.executable, {**os.environ, "GLOO_SOCKET_IFNAME": "eth9"}) as pool:
        found = judge(pool.start(2, "gloo", "cpu", 10.0, 20.0))
    assert (found.state, found.named, found.layer) == ("crashed", (), "configuration"), found.message
    assert "GLOO_SOCKET_IFNAME is eth9, but this machine has no such interface" in found.message


def test_loopback_that_is_down_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    down = NodeInterface("lo", False, False, 65536, None, ())
    other = NodeInterface("eth0", True, True, 1500, None, ("10.0.0.1",))
    monkeypatch.setattr(machine_trouble, "interfaces", lambda: (down, other))
    assert "over which the ranks connect, is down" in machine_trouble.wrong_interface({})
    assert machine_trouble.wrong_interface({"GLOO_SOCKET_IFNAME": "eth0"}) == ""
    monkeypatch.setattr(machine_trouble, "interfaces", lambda: (other,))
    assert "has no loopback interface" in machine_trouble.wrong_interface({})


@pytest.mark.parametrize(
    ("line", "folder", "own"),
    [
        ("7:pids:/a/b\n0::/a/b", "pids/a/b", True),
        ("7:cpu,pids:/a/b", "pids", False),
        ("0::/a/b", "a/b", True),
        ("0::/a/b", "a", False),
        ("0::/", "", True),
        ("0::/../../a", "a", True),
    ],
)
def test_a_limit_of_processes_is_told_where_it_was_reached_meanwhile(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: str, folder: str, own: bool
) -> None:
    monkeypatch.setattr(machine_trouble, "process_limit", lambda: None)
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(f"3:cpuset:/other\n{line}\n")
    place = tmp_path / "sys/fs/cgroup" / folder
    place.mkdir(parents=True)
    (place / "pids.events").write_text("max 4\n")
    now, less = ((4, 0), (3, 0)) if own else ((0, 4), (0, 3))
    assert machine_trouble.refused_forks(tmp_path) == now
    assert machine_trouble.refused_forks(tmp_path / "none") == (0, 0)
    said = ["", "RuntimeError: Resource temporarily unavailable"]
    assert "pids.max" in machine_trouble.limit_reached(RefusedForks(*less), said, tmp_path)
    assert machine_trouble.limit_reached(RefusedForks(*now), said, tmp_path) == ""
    # What a group above counts may be another group's.
    assert bool(machine_trouble.limit_reached(RefusedForks(*less), ["ValueError: x"], tmp_path)) is own


@pytest.mark.parametrize(
    ("said", "limit", "threads", "words"),
    [
        ("RuntimeError: can't start new thread", 60, 59, "ulimit -u allows this user 60 of them"),
        ("what():  Resource temporarily unavailable", 60, 59, "ulimit -u allows this user 60 of them"),
        ("RuntimeError: can't start new thread", None, 99, ""),
        ("ValueError: x", 60, 59, ""),
        ("", 60, 60, "ulimit -u allows this user 60 of them"),
        ("epoll_create: Too many open files", None, 1, "ulimit -n allows a process 24 of them"),
        ("OSError: Too many open files in system", None, 1, ""),
    ],
)
def test_a_limit_of_a_user_or_process_is_told_where_it_shows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str, limit: int | None, threads: int, words: str
) -> None:
    monkeypatch.setattr(machine_trouble, "process_limit", lambda: limit)
    monkeypatch.setattr(machine_trouble, "threads_of_user", lambda: threads)
    monkeypatch.setattr(machine_trouble, "file_limit", lambda: 24)
    found = machine_trouble.limit_reached(RefusedForks(), ["", said], tmp_path)
    assert words in found and bool(found) is bool(words)


def test_the_threads_of_this_user_are_counted_and_roots_limit_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine_trouble.threads_of_user() >= 1 and machine_trouble.file_limit() > 2
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert machine_trouble.process_limit() is None


@pytest.mark.parametrize(
    ("log", "end"),
    [
        ("terminate called\n  what():  Resource busy\nWarning: x\nFATAL", "what(): Resource busy"),
        ("terminate called without an active exception\nWarning: x\nFATAL", "without an active exception"),
        ("free(): invalid pointer\nFATAL", ": free(): invalid pointer"),
        ("", "SIGABRT)"),
        ("FATAL", "SIGABRT)"),
    ],
)
def test_an_abort_tells_the_error_that_nobody_caught(log: str, end: str) -> None:
    fatal = 'Fatal Python error: Aborted\n\nCurrent thread 0x1 (most recent call first):\n  File "a.py", line 1 in b\n'
    log = log.replace("FATAL", fatal + "\nExtension modules: x, y")
    ended = RankRecord(1, exit_signal=signal.SIGABRT, ended_at=1.0, log=log)
    assert judge(_record("", RankRecord(0, silent=True), ended)).message.endswith(end)


def test_the_limit_of_address_space_is_told_where_it_shows() -> None:
    assert "ulimit -v allows 600 MiB" in machine_trouble.address_space("failed to map segment from x.so", 600 << 20)
    assert machine_trouble.address_space("failed to map segment from x.so", None) == ""
    assert machine_trouble.address_space("No module named 'torch'", 600 << 20) == ""


@pytest.mark.parametrize(
    ("looks", "wanted"),
    [
        ([(0.0, 0.0), (0.5, 1.5)], 0.75),  # three quarters of the time of one second it waited for a processor
        ([(0.0, 0.0), (1.0, 0.0)], 0.0),  # an endless loop on an idle machine
        ([(0.0, 0.0), (0.0, 0.02)], 0.0),  # asleep
        ([(0.0, 0.0), (0.5, 1.5), (1.0, 3.0), (1.5, 4.5)], 2.0),  # no more than that
    ],
)
def test_a_deadline_moves_by_the_time_that_ranks_waited_for_a_processor(
    looks: list[tuple[float, float]], wanted: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(100))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    seen = iter(looks)
    monkeypatch.setattr(starved, "times", lambda pids: next(seen))
    found = Starved({0: 1}, 2.0)
    gained = [found.look([0]) for _ in looks]
    assert found.extra_s == pytest.approx(wanted) == pytest.approx(sum(gained))


def test_times_and_programs_of_a_process_and_its_children_are_read() -> None:
    code = "import subprocess, sys; c = subprocess.Popen([sys.executable, '-c', 'while True: pass']); input(); c.kill()"
    rank = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    try:
        assert until(lambda: "python" in starved.at_work(rank.pid) and len(starved.family(rank.pid)) == 2)
        assert starved.times(starved.family(rank.pid))[0] > 0.0
        assert starved.at_work(0) == ""
    finally:
        rank.communicate(b"\n")


@pytest.mark.parametrize(("gained_s", "looks"), [(0.0, 5), (1.0, 9)])
def test_an_import_may_take_longer_where_it_gets_no_processor(
    monkeypatch: pytest.MonkeyPatch, gained_s: float, looks: int
) -> None:
    """A clock that goes on by a second at each look, which is two in a turn."""
    clock, seen = count(), []

    class Short:
        extra_s = 0.0

        def __init__(self, pids: object, most_s: float) -> None:
            assert (pids, most_s) == ({0: 7}, 30.0)

        def look(self, _: object) -> None:
            self.extra_s += gained_s

    def event(_self: Pool, until: float) -> None:
        seen.append(until)

    monkeypatch.setattr(pools, "Starved", Short)
    monkeypatch.setattr(pools, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(Pool, "_event", event)
    pool = object.__new__(Pool)
    pool._server, pool._there = cast(Any, SimpleNamespace(pid=7)), True
    assert pool._imported(10.0) is None
    assert len(seen) == looks


def test_ranks_that_all_wait_for_a_compiler_are_no_fault_of_the_collective_library() -> None:
    stack = '  File "/x/torch/_inductor/codecache.py", line 3 in load'
    ranks = [RankRecord(rank, silent=True, process_state="S", stack=stack, program="cc1plus") for rank in range(2)]
    found = judge(ModeRecord("compile", 1.0, tuple(ranks), True))
    assert (found.layer, found.named) == ("configuration", (0, 1))
    assert "cc1plus, was still at work: give it more time with --deadline" in found.message


def test_what_a_silent_rank_did_is_told_in_words_of_its_own() -> None:
    waiting = '  File "/x/torch/distributed/distributed_c10d.py", line 9 in all_reduce'
    for state, stack, words in (
        ("R", "", "it was computing in the code of a library that does not let go of Python's interpreter lock"),
        ("S", "", "it was waiting in the code of a library that does not let go of Python's interpreter lock"),
        ("R", '  File "/x/train.py", line 4 in spin', "it was computing in train.py:4 spin"),
        ("S", '  File "/x/train.py", line 4 in load', "it was in train.py:4 load"),
        ("T", "", "is stopped (a signal or a debugger)"),
    ):
        other = RankRecord(0, silent=True, process_state="S", stack=waiting)
        found = judge(ModeRecord("ddp", 1.0, (other, RankRecord(1, silent=True, process_state=state, stack=stack))))
        assert found.named == (1,) and found.layer in ("framework", "configuration")
        assert words in found.message, found.message


def test_the_time_that_is_told_is_the_time_that_the_user_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow:
        """A pool that imports torch for 5 s."""

        def __init__(self, *_: Any) -> None:
            self.hello: dict[str, Any] = {}
            clock["now"] += 5.0

        def __enter__(self) -> Slow:
            return self

        def __exit__(self, *_: object) -> None:
            """Nothing to end."""

    clock = {"now": 100.0}
    monkeypatch.setattr(time, "monotonic", lambda: clock["now"])
    monkeypatch.setattr(request, "Pool", Slow)
    monkeypatch.setattr(request, "plan", lambda *_: [None, None])
    monkeypatch.setattr(request, "run_modes", lambda *_: SmokeRun(2, "gloo", "cpu", "2.13.0", 3.0, ()))
    assert [one.wall_s for one in request.perform(request.Request(device="cpu"), "python3")] == [8.0, 3.0]
