"""Interrupts and other ends at any moment, readers that leave, and runs side by side."""

from __future__ import annotations

import gc
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rocdoctor.__main__ import main
from rocdoctor.host.supervised import command_child
from tests.sick.kit import (
    GIVE_UP_S,
    MARGIN_S,
    Place,
    as_in_the_foreground,
    marked,
    nothing_new,
    place,
    usual,
    wait_until,
)

pytestmark = pytest.mark.live

_STUBBORN = "echo $$ > {}/pid\ntrap '' TERM INT HUP QUIT\nsetsid sleep 611 &\nwhile :; do sleep 612; done\n"
_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


@pytest.fixture
def made(tmp_path: Path) -> Place:
    return place(tmp_path)


def _nothing_is_left(mark: str) -> None:
    wait_until(lambda: not marked(mark))


@pytest.mark.parametrize("number", [*_STOPS, signal.SIGKILL], ids=lambda number: signal.Signals(number).name)
def test_a_stop_while_a_tool_hangs_leaves_nothing(made: Place, number: int) -> None:
    made.tool("dmesg", _STUBBORN.format(made.folder))
    with nothing_new(made.work), made.start("bundle", "--timeout", "100", "-o", "x.txt") as run:
        wait_until((made.folder / "pid").exists, run.process)
        run.process.send_signal(number)
        result = run.result(wait_for_left_s=GIVE_UP_S)
        assert result.left == ()
    assert result.out == ""
    assert result.code in ((-9,) if number == signal.SIGKILL else (128 + number,))
    assert result.err == ("rocdoctor: interrupted\n" if number == signal.SIGINT else "")


def test_an_interrupt_of_the_terminal_reaches_everybody_once(made: Place) -> None:
    made.tool("dmesg", _STUBBORN.format(made.folder))
    main, side = pty.openpty()
    with made.start(
        "check", "--timeout", "100", stdin=side, stdout=side, stderr=side, preexec_fn=_take_terminal
    ) as run:
        os.close(side)
        wait_until((made.folder / "pid").exists, run.process)
        os.write(main, b"\x03\x03")
        assert run.process.wait(GIVE_UP_S) == 130
        _nothing_is_left(run.mark)
    os.close(main)


def _take_terminal() -> None:
    import fcntl
    import termios

    as_in_the_foreground()
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def test_a_terminal_gets_colours_and_a_pipe_does_not(made: Place) -> None:
    main, side = pty.openpty()
    with made.start("check", stdout=side, env={"TERM": "xterm"}) as run:
        os.close(side)
        shown = b""
        try:
            while piece := os.read(main, 65536):
                shown += piece
        except OSError:  # the other end is closed
            pass
        assert run.process.wait(GIVE_UP_S) in (0, 1)
    os.close(main)
    assert b"\x1b[1m" in shown
    assert "\x1b" not in made.run("check").out


def test_an_interrupt_before_anybody_listens_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "argv", ["rocdoctor", "check"])
    monkeypatch.setattr(gc, "set_threshold", lambda *_: None)  # those of the tests stay
    monkeypatch.setattr(command_child, "possible", lambda: True)
    monkeypatch.setattr(signal, "pthread_sigmask", interrupted)
    before = signal.getsignal(signal.SIGCHLD)
    try:
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert ended.value.code == 128 + signal.SIGINT


@pytest.mark.parametrize("after_s", usual([0.0, 0.03, 0.08, 0.15, 0.3, 0.5], 0.0, 0.15, 0.5))
def test_an_interrupt_at_any_moment_leaves_a_whole_file_or_none(made: Place, after_s: float) -> None:
    _interrupted(made, after_s)


@pytest.mark.heavy
@pytest.mark.parametrize("number", range(100))
def test_an_interrupt_at_every_moment(made: Place, number: int) -> None:
    _interrupted(made, number * 0.01)


def _interrupted(made: Place, after_s: float) -> None:
    made.tool("dmesg", "setsid sleep 613 >/dev/null 2>&1 &\nsleep 0.1\n")
    with made.start("bundle", "-o", "x.txt") as run:
        time.sleep(after_s)
        run.process.send_signal(signal.SIGINT)
        result = run.result(wait_for_left_s=GIVE_UP_S)
        assert result.left == ()
    # While Python itself starts, it ends by the signal or says that it cannot start.
    assert result.code in (0, 130, -signal.SIGINT) or result.err.startswith("Fatal Python error: init")
    files = sorted(made.work.iterdir())
    assert files in ([], [made.work / "x.txt"])
    if files:
        assert re.search(r"\n-- python default.*\n", files[0].read_text())
    assert result.seconds < after_s + MARGIN_S


def test_a_reader_that_leaves_ends_the_run_quietly(made: Place) -> None:
    with made.start("check", "--verbose") as run:
        assert run.process.stdout is not None
        run.process.stdout.close()
        run.process.stdout = None
        result = run.result()
    assert (result.code, result.err, result.left) == (0, "", ())


def test_a_child_that_a_signal_ends_is_a_fault_and_said(made: Place) -> None:
    made.tool("dmesg", _STUBBORN.format(made.folder))
    with made.start("check", "--timeout", "100") as run:
        wait_until((made.folder / "pid").exists, run.process)
        children = Path(f"/proc/{run.process.pid}/task/{run.process.pid}/children")
        if not children.exists():
            pytest.skip("this kernel does not list children")
        os.kill(int(children.read_text().split()[0]), signal.SIGKILL)
        result = run.result(wait_for_left_s=GIVE_UP_S)
    assert result.code == 3
    assert result.err.startswith("rocdoctor broke: its process was ended by signal 9")
    assert result.left == ()


def test_runs_side_by_side_do_not_disturb_each_other(made: Place) -> None:
    made.tool("dmesg", "setsid sleep 0.5 &\nsleep 0.3\necho '[    0.000000] Linux version 6.8.0'\n")
    runs = [made.start("check", "--json", "--fail-on", "never") for _ in range(2)]
    runs += [made.start("bundle") for _ in range(2)]
    stopped = made.start("check", "--timeout", "100")
    stopped.process.send_signal(signal.SIGTERM)
    results = [run.result(wait_for_left_s=GIVE_UP_S) for run in runs]
    stopped.process.wait(GIVE_UP_S)
    for run in (*runs, stopped):
        run.__exit__()
    assert [result.code for result in results] == [0] * 4, [result.err for result in results]
    assert all(result.left == () for result in results)
    reports = [json.loads(result.out) for result in results[:2]]
    assert all(report["summary"] == reports[0]["summary"] for report in reports)
    files = list(made.work.iterdir())
    assert len(files) == 2
    assert all("-- run dmesg --" in path.read_text() for path in files)


def test_no_hang_up_is_kept_from_nohup(made: Place) -> None:
    made.tool("dmesg", f"echo $$ > {made.folder}/pid\nsleep 1\n")
    with made.start(
        "check", "--fail-on", "never", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
    ) as run:
        wait_until((made.folder / "pid").exists, run.process)
        run.process.send_signal(signal.SIGHUP)
        assert run.result().code == 0


def test_the_exit_status_is_that_of_the_command(made: Place) -> None:
    assert made.run("check", "no-such-check").code == 2
    assert made.run("check", "--fail-on", "info").code in (0, 1)
    done = subprocess.run(made.command(["check", "--nonsense"]), capture_output=True, check=False, cwd=made.work)
    assert done.returncode == 2
