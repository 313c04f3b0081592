"""How long programs may take: more where they are read from a slow disk, and on machines full of GPUs."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from pathlib import Path

import pytest

from rocdoctor.host.live import run_program
from rocdoctor.host.live.own_time import OwnTime
from rocdoctor.host.live.run_program import Loading, run_bounded, usual_deadline_s
from rocdoctor.train.smoke.run.processes import process_state
from tests.waiting import until

pytestmark = pytest.mark.live


class _Reads(Loading):
    """Says that the program reads for as many looks as it is told."""

    def __init__(self, looks: float) -> None:
        super().__init__(3600.0)
        self.looks = looks

    def goes_on(self, now: float) -> bool:
        self.looks -= 1
        self.busy = self.looks > 0
        return self.busy


_SLOW = [sys.executable, "-c", "import time; time.sleep(1.2); print('loaded')"]


def test_a_program_that_is_being_read_outlives_its_deadline() -> None:
    assert run_bounded("run slow", _SLOW, 0.1, loading=_Reads(float("inf"))).text == "loaded"


def test_one_that_has_stopped_reading_does_not() -> None:
    answer = run_bounded("run slow", [sys.executable, "-c", "import time; time.sleep(600)"], 0.1, loading=_Reads(3))
    assert (answer.status, answer.note) == ("timeout", "0.1s")


def test_reading_counts_by_the_second_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    have = [0]
    monkeypatch.setattr(Loading, "_read_bytes", lambda self: have[0])
    loading = Loading(10.0)
    loading.start(os.getpid())
    began = loading._looked
    have[0] = 50 << 20
    assert not loading.goes_on(began + 0.5)  # not a second yet
    assert loading.goes_on(began + 1.0)
    assert loading.goes_on(began + 1.5)  # until the next look
    have[0] += 1000
    assert not loading.goes_on(began + 2.0)
    have[0] += 500 << 20
    assert not loading.goes_on(began + 11.0)


def test_what_a_process_reads_from_storage_is_seen() -> None:
    loading = Loading(10.0)
    loading.start(os.getpid())
    assert loading._read_bytes() >= 0
    loading.start(0)  # no such process
    assert loading._read_bytes() == 0


@pytest.mark.parametrize(
    ("render", "nvidia", "seconds"), [(0, 0, 5.0), (1, 0, 5.0), (4, 2, 5.0), (8, 0, 7.0), (1, 8, 7.0), (64, 0, 30.0)]
)
def test_more_gpus_get_more_time(tmp_path: Path, render: int, nvidia: int, seconds: float) -> None:
    (tmp_path / "sys/class/drm").mkdir(parents=True)
    (tmp_path / "dev").mkdir()
    for name in [*(f"renderD{128 + one}" for one in range(render)), "card0", "card0-DP-1", "version"]:
        (tmp_path / "sys/class/drm" / name).touch()
    for name in [*(f"nvidia{one}" for one in range(nvidia)), "nvidiactl", "nvidia-uvm"]:
        (tmp_path / "dev" / name).touch()
    assert usual_deadline_s(str(tmp_path)) == seconds


def test_a_machine_without_gpus_has_the_usual_deadline(tmp_path: Path) -> None:
    assert usual_deadline_s(str(tmp_path)) == 5.0


def test_a_program_that_ignores_the_request_to_end_is_killed_with_what_it_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run_program, "GRACE_S", 0.05)
    words = "trap '' TERM; sleep 60 & echo $!; exec sleep 60"
    with run_program.running(["sh", "-c", words], {"PATH": "/usr/bin:/bin"}) as child:
        assert child.stdout is not None
        other = int(child.stdout.readline())  # by then both ignore it
    assert child.returncode == -signal.SIGKILL
    assert until(lambda: process_state(other) in ("", "Z"))  # gone, or nobody has asked for its end yet


class _Slept:
    """A clock that goes on by an hour at one moment, as for a process that was stopped or suspended then."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.gone_s = 0.0
        real = time.monotonic
        monkeypatch.setattr(time, "monotonic", lambda: real() + self.gone_s)

    def sleep(self) -> None:
        self.gone_s = self.gone_s or 3600.0


def _crashing(tmp_path: Path) -> list[str]:
    program = tmp_path / "crashes"
    program.write_text("#!/bin/sh\necho half; kill -SEGV $$\n")
    program.chmod(0o755)
    return [str(program)]


def test_what_a_crashed_program_said_counts_though_we_slept_past_its_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept = _Slept(monkeypatch)
    start = run_program._start

    def start_and_sleep(*arguments: object) -> object:
        child = start(*arguments)  # type: ignore[arg-type]
        slept.sleep()  # forking on a busy machine
        return child

    monkeypatch.setattr(run_program, "_start", start_and_sleep)
    answer = run_bounded("run x", _crashing(tmp_path), 30.0)
    assert (answer.status, answer.exit_code, answer.text) == ("ok", -signal.SIGSEGV, "half")


def test_time_in_which_we_ourselves_were_stopped_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept = _Slept(monkeypatch)
    real = select.poll

    class Poll:
        def __init__(self) -> None:
            self.inner = real()

        def __getattr__(self, name: str) -> object:
            return getattr(self.inner, name)

        def poll(self, milliseconds: float) -> list[tuple[int, int]]:
            if not slept.gone_s:
                slept.sleep()
                return []
            return self.inner.poll(milliseconds)

    monkeypatch.setattr(select, "poll", Poll)
    answer = run_bounded("run x", _crashing(tmp_path), 30.0)
    assert (answer.status, answer.exit_code, answer.text) == ("ok", -signal.SIGSEGV, "half")


def test_what_was_said_just_before_the_deadline_is_read() -> None:
    with run_program.running(["sh", "-c", "printf said"], {"PATH": "/usr/bin:/bin"}) as child:
        assert until(lambda: process_state(child.pid) in ("", "Z"))
        clock = OwnTime()
        assert run_program._outputs(child, clock.now(0.0), 1000, clock)[:2] == (b"said", b"")


def test_a_program_whose_memory_is_being_written_has_crashed_and_does_not_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not run_program._dumps_core(os.getpid())
    monkeypatch.setattr(run_program, "_dumps_core", lambda pid: True)
    answer = run_bounded("run x", ["/bin/sleep", "600"], 0.1)
    assert answer.status == "failed"
    assert answer.note.startswith("it crashed")
