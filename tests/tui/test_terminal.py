"""The screens on a real terminal: where they cannot be shown, and how they end."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

import pytest

from tests.sick.kit import GIVE_UP_S, UNSET, Place, marked, place, wait_until
from tests.tui.terminals import ALTERNATE, Screen, broken, take_terminal

pytestmark = pytest.mark.live

# Ignores every request to end, and has started a daemon in a session of its own.
_STUBBORN = "setsid sleep 631 &\necho $$ > {}/pid\ntrap '' TERM INT HUP QUIT\nwhile :; do sleep 632; done\n"
# Longer than a test waits: what ends, ends for another reason.
_NEVER = ("--timeout", "3600")


@pytest.fixture
def made(tmp_path: Path) -> Place:
    return place(tmp_path)


@pytest.fixture
def stuck(made: Place) -> Place:
    """A machine with a tool that never ends."""
    made.tool("dmesg", _STUBBORN.format(made.folder))
    return made


def _asking(screen: Screen, where: Place) -> Screen:
    """Wait until the screens are there and the tool runs."""
    screen.wait_for(ALTERNATE)
    wait_until((where.folder / "pid").exists, screen.run.process)
    return screen


def _nothing_is_left(screen: Screen) -> None:
    wait_until(lambda: not marked(screen.run.mark))


# -- ends


def test_quitting_while_a_tool_hangs(stuck: Place) -> None:
    with Screen(stuck, *_NEVER) as screen:
        _asking(screen, stuck).type(b"q")
        assert screen.run.process.wait(GIVE_UP_S) == 0
        assert screen.restored()
        _nothing_is_left(screen)


def test_quitting_while_a_read_hangs_that_no_signal_ends(tmp_path: Path) -> None:
    made = place(tmp_path, "rx7900xtx-2gpu")
    link = "/sys/bus/pci/devices/0000:03:00.0/current_link_speed"
    with Screen(made, *_NEVER, words=(f"fuse={link}:stuck",)) as screen:
        screen.wait_for_or_skip(ALTERNATE)
        wait_until(lambda: _in_the_kernel(screen.run.mark), screen.run.process)
        screen.type(b"q")
        assert screen.run.process.wait(GIVE_UP_S) == 0
        assert screen.restored()
        # The thread that hangs is all that stays, until the driver lets it go.
        wait_until(lambda: all(_only_threads(pid) for pid in marked(screen.run.mark)))
        screen.run.heal()
        _nothing_is_left(screen)


def _in_the_kernel(mark: str) -> bool:
    """Whether a thread of the run waits for the file system that never answers (``fs/fuse/dev.c``)."""
    waits: list[str] = []
    for pid in marked(mark):
        with contextlib.suppress(OSError):
            waits += [(task / "wchan").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    if waits and set(waits) == {"0"}:
        pytest.skip("this kernel does not say where threads wait")
    return "request_wait_answer" in waits


def _only_threads(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT], ids=lambda one: signal.Signals(one).name
)
def test_a_signal_ends_the_screens_and_leaves_the_terminal_as_it_was(stuck: Place, number: int) -> None:
    with Screen(stuck, *_NEVER) as screen:
        _asking(screen, stuck).run.process.send_signal(number)
        assert screen.run.process.wait(GIVE_UP_S) == 128 + number
        assert screen.restored()
        _nothing_is_left(screen)


def test_a_kill_leaves_nothing(stuck: Place) -> None:
    with Screen(stuck, *_NEVER) as screen:
        _asking(screen, stuck).run.process.kill()
        _nothing_is_left(screen)


@pytest.mark.parametrize("hangs_up", [True, False])
def test_a_lost_terminal_ends_the_screens(stuck: Place, hangs_up: bool) -> None:
    def without_signal() -> None:
        take_terminal()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    with Screen(stuck, *_NEVER, preexec_fn=take_terminal if hangs_up else without_signal) as screen:
        _asking(screen, stuck).lose()
        assert screen.run.process.wait(GIVE_UP_S) == 128 + signal.SIGHUP
        _nothing_is_left(screen)


@pytest.mark.parametrize("after_s", [0.0, 0.1, 0.25, 0.5])
def test_a_signal_at_any_moment(stuck: Place, after_s: float) -> None:
    with Screen(stuck, *_NEVER) as screen:
        time.sleep(after_s)
        screen.run.process.send_signal(signal.SIGTERM)
        assert screen.run.process.wait(GIVE_UP_S) in (128 + signal.SIGTERM, -signal.SIGTERM)
        assert screen.restored()
        _nothing_is_left(screen)


def test_a_stop_gives_the_terminal_back_and_going_on_draws_anew(made: Place) -> None:
    with Screen(made) as screen:
        screen.wait_for(b"rocdoctor")
        screen.wait_for_rest()  # nothing else will draw it anew
        process = screen.run.process
        process.send_signal(signal.SIGTSTP)
        wait_until(lambda: Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")
        assert screen.restored()
        screen.drawn = b""
        process.send_signal(signal.SIGCONT)
        screen.wait_for(ALTERNATE)
        screen.wait_for(b"rocdoctor")
        screen.type(b"q")
        assert process.wait(GIVE_UP_S) == 0
        assert screen.restored()


# -- what breaks


def test_a_fault_of_the_screens_is_one_line_outside_of_them(made: Place) -> None:
    action = "raise ValueError('a fault \\x1b[31m' + str(sys.stderr.write('unseen')))"
    with (made.folder / "errors").open("wb") as errors, Screen(broken(made, action), stderr=errors) as screen:
        screen.wait_for(b"rocdoctor")
        screen.type(b"?")
        assert screen.run.process.wait(GIVE_UP_S) == 3
        assert screen.restored()
    said = (made.folder / "errors").read_text()
    assert said.startswith("rocdoctor broke: ValueError: a fault ?[31m")
    assert said.count("\n") == 1


# The hang-up comes where a session's leader ends, which is a shell otherwise.
_PAGER = "import subprocess\nwith self.suspend():\n    subprocess.run(['sh', '-c', 'trap \"\" HUP; exec sleep 3600'])"


@pytest.mark.parametrize(
    "action",
    ["time.sleep(3600)", "while True: pass", "threading.Event().wait()", _PAGER],
    ids=["sleep", "loop", "wait", "pager"],
)
def test_screens_that_hear_nothing_are_ended(made: Place, action: str) -> None:
    with Screen(broken(made, f"open({str(made.folder / 'there')!r}, 'w')\n{action}")) as screen:
        screen.wait_for(b"rocdoctor")
        screen.type(b"?")
        wait_until((made.folder / "there").exists, screen.run.process)
        screen.run.process.send_signal(signal.SIGTERM)
        assert screen.run.process.wait(GIVE_UP_S) == 128 + signal.SIGTERM
        assert screen.restored()
        _nothing_is_left(screen)


def test_threads_that_never_end_do_not_keep_the_process(made: Place) -> None:
    action = "threading.Thread(target=time.sleep, args=(3600,)).start()\nself.exit()"
    with Screen(broken(made, action)) as screen:
        screen.wait_for(b"rocdoctor")
        screen.type(b"?")
        assert screen.run.process.wait(GIVE_UP_S) == 0
        assert screen.restored()


def test_the_process_that_asks_may_break(stuck: Place) -> None:
    with Screen(stuck, *_NEVER) as screen:
        _asking(screen, stuck)
        for pid in marked(screen.run.mark):
            if pid != screen.run.process.pid and "service" in Path(f"/proc/{pid}/cmdline").read_text():
                os.kill(pid, signal.SIGKILL)
        screen.type(b"q")
        assert screen.run.process.wait(GIVE_UP_S) == 0


# -- where they are drawn, and where not


def test_they_are_drawn_on_the_terminal_where_errors_go_to_a_file(made: Place) -> None:
    with (made.folder / "errors").open("wb") as errors, Screen(made, stderr=errors) as screen:
        screen.wait_for(b"rocdoctor")
        screen.type(b"q")
        assert screen.run.process.wait(GIVE_UP_S) == 0
        assert screen.restored()
    assert (made.folder / "errors").read_bytes() == b""


@pytest.mark.parametrize("size", [(20, 5), (0, 0)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_a_small_terminal_breaks_nothing(made: Place, size: tuple[int, int]) -> None:
    with Screen(made, size=size) as screen:
        screen.wait_for(ALTERNATE)
        screen.type(b"q")
        assert screen.run.process.wait(GIVE_UP_S) == 0
        assert screen.restored()


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({"TERM": "dumb"}, "TERM is dumb"),
        ({"TERM": UNSET}, "TERM is not set"),
        ({"PYTHONIOENCODING": "iso8859-1"}, "the output's encoding is iso8859-1, not UTF-8"),
    ],
    ids=["dumb", "unset", "encoding"],
)
def test_other_terminals_get_the_report_and_the_reason(made: Place, variables: dict[str, str], why: str) -> None:
    (made.work / "log.txt").write_text("RuntimeError: HIP error: invalid device function\n")
    for arguments, code in (([], 0), (["tui", "--from", "log.txt"], 1)):
        with Screen(made, *arguments, env=variables) as screen:
            assert screen.run.process.wait(GIVE_UP_S) == code
            assert screen.restored()
            assert screen.drawn.startswith(f"rocdoctor: {why}: the report as text instead of the screens\r\n".encode())
            assert (b"more: rocdoctor explain no-kernel-image-message" in screen.drawn) == bool(arguments)
            assert not screen.shown()


def test_without_a_terminal_it_is_the_report_and_who_asked_for_screens_hears_why(made: Place) -> None:
    (made.work / "log.txt").write_text("RuntimeError: HIP error: invalid device function\n")
    report = made.run("check", "--from", "log.txt")
    bare, chosen = made.run("--from", "log.txt"), made.run("tui", "--from", "log.txt")
    assert (bare.code, bare.out, bare.err) == (report.code, report.out, report.err) == (1, report.out, "")
    assert (chosen.code, chosen.out) == (1, report.out)
    assert chosen.err == "rocdoctor: standard input is not a terminal: the report as text instead of the screens\n"


@pytest.mark.parametrize("form", ["--json", "--format=json", "--js"])
def test_who_asks_for_a_format_gets_the_report(made: Place, form: str) -> None:
    (made.work / "log.txt").write_text("RuntimeError: HIP error: invalid device function\n")
    with Screen(made, form, "--from", "log.txt") as screen:
        assert screen.run.process.wait(GIVE_UP_S) == 1
        screen.wait_for(b'"schema": "rocdoctor.report/1"')
        assert not screen.shown()


def test_evidence_that_cannot_be_read_is_said_before_any_screen(made: Place) -> None:
    with Screen(made, "--from", "none.txt") as screen:
        assert screen.run.process.wait(GIVE_UP_S) == 2
        assert screen.restored()
        assert screen.drawn == b"rocdoctor: none.txt: no such file or folder\r\n"


@pytest.mark.parametrize("there", [True, False], ids=["pager", "no pager"])
def test_the_report_as_text_is_a_key_away_and_the_screens_come_back(made: Place, there: bool) -> None:
    (made.work / "log.txt").write_text("RuntimeError: HIP error: invalid device function\n")
    less = made.tool("less", f"cat > {made.folder}/read\necho PAGED\n")
    if not there:
        less.write_text(f"#!{made.folder}/none\n")
    with Screen(made, "--from", "log.txt") as screen:
        screen.wait_for(b"no-kernel-image-message")
        screen.type(b"t")
        screen.wait_for(b"PAGED" if there else b"Press Enter to return to the screens.")
        if not there:
            assert b"more: rocdoctor explain no-kernel-image-message" in screen.drawn
            screen.type(b"\r")
        wait_until(lambda: screen.drawn.count(ALTERNATE) == 2, screen.run.process)
        screen.wait_for_rest()
        screen.type(b"q")
        assert screen.run.process.wait(GIVE_UP_S) == 0
        assert screen.restored()
    if there:
        assert "more: rocdoctor explain no-kernel-image-message" in (made.folder / "read").read_text()
