"""The live host against this machine's own files and small programs; nothing here needs a GPU."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from rocdoctor.host.base import Answer
from rocdoctor.host.live import interpreter, live_host, patience, programs, quick_questions, run_program
from rocdoctor.host.live.live_host import LiveHost
from rocdoctor.host.live.patience import Looking
from rocdoctor.host.live.run_program import run_bounded
from tests.waiting import until

pytestmark = pytest.mark.live


def _script(path: Path, text: str) -> str:
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return str(path)


def test_files_links_lists_and_their_absence(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\n\n")
    (tmp_path / "b").symlink_to("a")
    host = LiveHost()
    assert host.ask(f"read {tmp_path}/a").text == "one"
    assert host.ask(f"link {tmp_path}/b").text == f"{tmp_path}/a"
    assert host.ask(f"list {tmp_path}/*").lines() == [f"{tmp_path}/a", f"{tmp_path}/b"]
    assert host.ask(f"list {tmp_path}/*").complete
    assert host.ask(f"read {tmp_path}/none").status == "absent"
    assert host.ask(f"stat {tmp_path}/a").text.startswith("file 0")
    assert host.ask("run rocdoctor-no-such-program").status == "absent"
    assert host.ask("dance now").status == "not-asked"


def test_a_fifo_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert LiveHost().ask(f"read {tmp_path}/fifo").status == "failed"


def test_a_program_that_hangs_is_ended_with_everything_it_started(tmp_path: Path) -> None:
    program = _script(
        tmp_path / "hang", f"sleep 321 & echo $! > {tmp_path}/pid\ntrap '' TERM\necho half\nwait\nsleep 321\n"
    )
    answer = run_bounded("run hang", [program], 3.0)  # a shell begins within this time also on busy cores
    assert (answer.status, answer.text, answer.complete) == ("timeout", "half", False)
    assert _is_gone(int((tmp_path / "pid").read_text())), "the grandchild lives on"


def test_a_grandchild_that_keeps_the_pipe_open_does_not_hold_us(tmp_path: Path) -> None:
    program = _script(tmp_path / "leave", "sleep 322 &\necho done\n")
    answer = run_bounded("run leave", [program], 2.0)
    assert (answer.status, answer.text) == ("ok", "done")


def test_the_reason_of_a_failure_is_kept_and_output_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = run_bounded("run x", [_script(tmp_path / "fail", "echo out; echo why >&2; exit 3\n")], 2.0)
    assert (answer.text, answer.exit_code) == ("out\nwhy", 3)
    monkeypatch.setattr(run_program, "MAX_ANSWER_BYTES", 1000)
    big = run_bounded("run y", [_script(tmp_path / "big", "yes | head -c 300000\n")], 5.0)
    assert len(big.data) <= 1000
    assert big.truncated


def test_a_read_that_hangs_in_the_kernel_costs_one_deadline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "good").write_text("fine")
    original = quick_questions._QUICK["read"]
    stuck = {"read /sick/1", "read /sick/2", "read /sick/3"}
    healed = threading.Event()

    def read(question: str) -> Answer:
        if question in stuck:
            healed.wait(30)
        return original(question)

    monkeypatch.setitem(quick_questions._QUICK, "read", read)
    host = LiveHost(timeout_s=0.6)
    host.prefetch([*stuck, f"read {tmp_path}/good"])
    began = time.monotonic()
    assert [host.ask(question).status for question in sorted(stuck)] == ["timeout"] * 3
    assert host.ask(f"read {tmp_path}/good").text == "fine"
    assert time.monotonic() - began < 10  # not the sum of three thirty-second reads
    healed.set()


def _is_gone(pid: int) -> bool:
    return until(lambda: _state(pid) in ("Z", ""))


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def test_what_a_program_leaves_behind_is_ended_although_it_closed_its_pipes(tmp_path: Path) -> None:
    program = _script(tmp_path / "x", f"sleep 323 >/dev/null 2>&1 </dev/null &\necho $! > {tmp_path}/pid\necho done\n")
    answer = run_bounded("run x", [program], 5.0)
    assert (answer.status, answer.text, answer.exit_code) == ("ok", "done", 0)
    assert _is_gone(int((tmp_path / "pid").read_text()))


def _until_begun(asking: subprocess.Popen[bytes], tmp_path: Path) -> int:
    def begun() -> bool:
        return (tmp_path / "pid").exists() and bool((tmp_path / "pid").read_text().strip())

    assert until(lambda: begun() or asking.poll() is not None)
    assert begun(), asking.poll()
    return int((tmp_path / "pid").read_text())


def test_a_program_that_just_began_is_not_left_behind(tmp_path: Path) -> None:
    program = _script(tmp_path / "x", f"echo $$ > {tmp_path}/pid\nsleep 325\n")
    code = (
        "import os, subprocess, threading, time\n"
        "from rocdoctor.host.live import run_program as running\n"
        "class Slow(subprocess.Popen):\n"
        "    def __init__(self, *words, **more):\n"
        "        super().__init__(*words, **more)\n"
        "        time.sleep(0.4)\n"  # its thread has to wait for a core
        "subprocess.Popen = Slow\n"
        f"words = ('run x', [{str(program)!r}], 60.0)\n"
        "threading.Thread(target=running.run_bounded, args=words, daemon=True).start()\n"
        f"while not os.path.exists('{tmp_path}/pid'): time.sleep(0.01)\n"
    )
    asking = subprocess.Popen([sys.executable, "-c", code])
    begun = _until_begun(asking, tmp_path)
    assert asking.wait(20) == 0
    assert _is_gone(begun)


def test_a_signal_that_does_not_break_a_wait_is_seen_soon(tmp_path: Path) -> None:
    program = _script(tmp_path / "x", f"echo $$ > {tmp_path}/pid\nsleep 326\n")
    # Where this thread blocks the signal another one takes it: nothing wakes the wait, as with one just before it.
    code = (
        "import signal\n"
        "from rocdoctor.host.live.live_host import LiveHost\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"host = LiveHost(60)\nhost.prefetch(['run {program}'])\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\n"
        f"host.ask('run {program}')\n"
    )
    asking = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    begun = _until_begun(asking, tmp_path)
    assert until(lambda: _state(asking.pid) == "S")  # it waits for the answer
    asking.send_signal(signal.SIGINT)
    assert asking.wait(20) != 0
    assert _is_gone(begun)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["interrupt", "terminate"])
def test_a_signal_leaves_no_program_behind(tmp_path: Path, number: int) -> None:
    program = _script(tmp_path / "x", f"echo $$ > {tmp_path}/pid\ntrap '' TERM INT\nsleep 324\nsleep 324\n")
    code = (
        "import signal, sys\n"
        "from rocdoctor.host.live.live_host import LiveHost\n"
        "from rocdoctor.__main__ import Stop\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a job in the background inherits it ignored
        "Stop().install()\n"
        f"host = LiveHost(60)\nhost.prefetch(['run {program}'])\nhost.ask('run {program}')\n"
    )
    asking = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    begun = _until_begun(asking, tmp_path)
    asking.send_signal(number)
    assert asking.wait(20) != 0
    assert _is_gone(begun)


def test_a_program_that_closes_its_output_and_runs_on_has_timed_out(tmp_path: Path) -> None:
    answer = run_bounded("run x", [_script(tmp_path / "x", "echo one; exec >&- 2>&-; sleep 325\n")], 0.5)
    assert (answer.status, answer.text) == ("timeout", "one")


@pytest.mark.parametrize(("text", "status"), [("#!/no/such/interpreter\n", "failed"), ("\0\1 no program", "failed")])
def test_what_cannot_be_started_is_a_failure(tmp_path: Path, text: str, status: str) -> None:
    (tmp_path / "x").write_text(text)
    (tmp_path / "x").chmod(0o755)
    answer = run_bounded("run x", [str(tmp_path / "x")], 2.0)
    assert answer.status == status
    assert "cannot start" in answer.note


def test_a_program_that_a_signal_ended_says_which(tmp_path: Path) -> None:
    answer = run_bounded("run x", [_script(tmp_path / "x", "echo half; kill -SEGV $$\n")], 5.0)
    assert (answer.status, answer.exit_code, answer.text) == ("ok", -11, "half")


def test_without_threads_questions_are_answered_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    (tmp_path / "a").write_text("one")
    host = LiveHost()
    program = _script(tmp_path / "x", "echo ok\n")
    host.prefetch([f"read {tmp_path}/a", f"run {program}"])
    assert host.ask(f"read {tmp_path}/a").text == "one"
    assert host.ask(f"run {program}").text == "ok"


def test_few_files_mean_few_programs_at_once() -> None:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(48, hard) if hard >= 0 else 48, hard))
        assert run_program.programs_at_once() == 4
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert 1 <= run_program.programs_at_once() <= 16


def test_under_sudo_roots_interpreter_is_not_taken_for_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for name, value in (("SUDO_USER", "someone"), ("SUDO_UID", "1000"), ("SUDO_GID", "1000")):
        monkeypatch.setenv(name, value)
    answer = LiveHost().ask("python default")
    assert (answer.status, "sudo" in answer.note) == ("failed", True)


def test_programs_run_side_by_side(tmp_path: Path) -> None:
    names = [_script(tmp_path / f"slow{number}", "sleep 0.4; echo ok\n") for number in range(6)]
    host = LiveHost()
    host.prefetch(f"run {name}" for name in names)
    assert [host.ask(f"run {name}").text for name in names] == ["ok"] * 6


def test_as_root_programs_of_others_are_not_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _script(tmp_path / "rocm-smi", "echo bad\n")
    tmp_path.chmod(0o777)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    programs._directories.cache_clear()
    programs.find_program.cache_clear()
    try:
        assert programs.find_program("rocm-smi") != str(tmp_path / "rocm-smi")
    finally:
        programs._directories.cache_clear()
        programs.find_program.cache_clear()


def test_under_sudo_roots_environment_is_not_taken_for_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for name, value in (("SUDO_USER", "someone"), ("SUDO_UID", "1000"), ("SUDO_GID", "1000")):
        monkeypatch.setenv(name, value)
    answer = LiveHost().ask("env")
    assert (answer.status, answer.complete) == ("failed", False)
    assert "sudo" in answer.note


def test_looking_who_can_change_an_interpreter_is_not_taken_for_its_hanging(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = threading.Event()
    monkeypatch.setattr(interpreter, "chosen", lambda *arguments: looked.wait(60))
    host = LiveHost(0.01, sys.executable)
    answer = host.ask("python default")
    looked.set()
    assert answer.status == "failed"
    assert "was not run: root runs only what nobody else can change" in answer.note


def test_as_long_as_that_goes_on_it_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine makes our own look at many files slow; what is then said of the interpreter is its own answer."""
    overdue, steps = threading.Event(), []

    def look(
        path: str, use: str, given: object, trust: bool, step: Callable[[], None]
    ) -> interpreter.ChosenInterpreter:
        step()
        overdue.wait(60)
        return interpreter.ChosenInterpreter(path, refused="looked at to the end")

    class Goes(Looking):
        """Asked only where the deadline of the question is over."""

        @property
        def busy(self) -> bool:
            overdue.set()
            return True

        def step(self) -> None:
            steps.append(1)

    monkeypatch.setattr(interpreter, "chosen", look)
    monkeypatch.setattr(live_host, "Looking", Goes)
    assert LiveHost(0.01, sys.executable).ask("python default").note == "looked at to the end"
    assert overdue.is_set() and steps == [1]


def test_a_look_goes_on_while_its_steps_do_and_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(patience, "time", SimpleNamespace(monotonic=lambda: now[0]))
    looking = Looking(1.0)
    seen = []
    for now[0] in (100.9, 101.8, 102.7, 103.1):
        seen.append(looking.busy)
        looking.step()
    assert seen == [True, True, True, False]
    now[0] = 200.0
    stuck = Looking(1.0)
    now[0] = 201.0
    assert not stuck.busy


def test_each_place_that_an_interpreter_reads_is_a_step() -> None:
    steps: list[int] = []
    interpreter.weak_interpreter(sys.executable, "import", step=lambda: steps.append(1))
    assert len(steps) > 10


def test_a_program_that_imports_torch_is_waited_for_longer() -> None:
    host = LiveHost(5.0)
    usual, longer = "run rocdoctor-no-such-program", "run /nonexistent/python3 -c 'import torch'"
    assert {host.ask(usual).status, host.ask(longer).status} == {"absent"}
    assert (host._pending[usual].limit_s, host._pending[longer].limit_s) == (5.0, 60.0)
