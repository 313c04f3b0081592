"""The process that asks this machine for the screens, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from rocdoctor.host.base import Answer
from rocdoctor.host.masking.masker import Masker
from rocdoctor.host.overlay import OverlayHost
from rocdoctor.host.recorder import MaskedHost, Recorder
from rocdoctor.host.supervised.supervised_host import FarHost, far_of, fresh
from rocdoctor.service.errors import InputError
from rocdoctor.service.live_machine import open_live
from tests.host.supervised.supervised_kit import nothing_is_left
from tests.sick.kit import GIVE_UP_S, Place, marked, wait_until

pytestmark = pytest.mark.live

# Ignores every request to end, and leaves a daemon in a session of its own.
STUBBORN = (
    "echo $$ > {}/pid\ntrap '' TERM INT HUP QUIT\nsetsid sleep 621 >/dev/null 2>&1 &\nwhile :; do sleep 622; done\n"
)


def _worker(host: FarHost) -> int:
    """The process that does the asking: the only child of the one that was started."""
    assert host._link is not None
    parent = host._link.process.pid
    children = Path(f"/proc/{parent}/task/{parent}/children")
    if not children.exists():
        pytest.skip("this kernel does not list children")
    wait_until(lambda: bool(children.read_text().split()))
    return int(children.read_text().split()[0])


def test_answers_are_those_of_this_machine(far: FarHost, made: Place, tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\x00one\ntwo\n\n")
    made.tool("lspci", "echo out; echo err >&2; exit 3\n")
    assert far.ask(f"read {tmp_path}/bytes").data == b"\xff\x00one\ntwo"
    assert far.ask(f"read {tmp_path}/none").status == "absent"
    assert far.ask(f"list {tmp_path}/by*").lines() == [f"{tmp_path}/bytes"]
    answer = far.ask("run lspci")
    assert (answer.status, answer.exit_code, answer.text) == ("ok", 3, "out\nerr")
    assert answer.seconds is not None
    assert far.ask("nonsense").status == "not-asked"
    assert far.answered == 5
    assert far.waiting() == ()


@pytest.mark.parametrize("searched", [":", "."], ids=["empty", "relative"])
def test_nothing_of_the_current_folder_is_imported(
    mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, searched: str
) -> None:
    folder, ran = tmp_path / "here", tmp_path / "ran"
    folder.mkdir()
    for name in ("encodings", "json", "select", "signal", "rocdoctor"):
        (folder / f"{name}.py").write_text(f"open({str(ran)!r}, 'a').write({name!r})\n")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", searched)
    host = FarHost(timeout_s=GIVE_UP_S)
    try:
        assert host.ask(f"list {folder}/json*").lines() == [f"{folder}/json.py"]
        assert not ran.exists()
    finally:
        host.close()


def test_the_environment_is_that_of_the_screens(far: FarHost) -> None:
    def names(pairs: Iterable[str]) -> list[str]:
        return sorted(one for one in pairs if not one.startswith("PYTEST_"))  # told anew for each step of a test

    pairs = (f"{name}={value}".replace("\\", "\\\\").replace("\n", "\\n") for name, value in os.environ.items())
    assert names(far.ask("env").text.split("\n")) == names(pairs)


def test_questions_are_asked_once_and_anew_in_a_fresh_view(far: FarHost, tmp_path: Path) -> None:
    path = tmp_path / "value"
    path.write_text("1")
    assert far.ask(f"read {path}").text == "1"
    path.write_text("2")
    view = far.fresh()
    assert far.ask(f"read {path}").text == "1"
    assert view.ask(f"read {path}").text == "2"
    path.write_text("3")
    assert view.ask(f"read {path}").text == "2"
    assert far.fresh().ask(f"read {path}").text == "3"
    assert far.ask(f"read {path}").text == "1"


def test_a_program_is_run_anew_for_a_fresh_view(far: FarHost, made: Place) -> None:
    made.tool("lspci", f"echo x >> {made.folder}/calls; wc -l < {made.folder}/calls\n")
    assert [far.ask("run lspci").text.strip() for _ in range(2)] == ["1", "1"]
    assert far.fresh().ask("run lspci").text.strip() == "2"


def test_a_program_that_hangs_keeps_nobody_waiting(far: FarHost, made: Place) -> None:
    made.tool("dmesg", "sleep 623\n")
    far.prefetch(["run dmesg"])
    assert far.ask("read /proc/version").ok
    assert [one.question for one in far.waiting()] == ["run dmesg"]
    assert far.waiting()[0].seconds >= 0
    began = time.monotonic()
    far.close()
    assert far.ask("run dmesg").status == "failed"
    assert time.monotonic() - began < GIVE_UP_S / 2


def test_a_question_that_timed_out_rests_before_it_is_asked_anew(mark: str, made: Place) -> None:
    made.tool("dmesg", f"echo x >> {made.folder}/calls; sleep 624\n")
    host = FarHost(timeout_s=1.0)  # the tool has written by then
    assert host.ask("run dmesg").status == "timeout"
    assert host.fresh().ask("run dmesg").status == "timeout"
    assert (made.folder / "calls").read_text() == "x\n"
    host.retry()
    assert host.fresh().ask("run dmesg").status == "timeout"
    assert (made.folder / "calls").read_text() == "x\nx\n"
    host.close()


def test_close_ends_a_stubborn_tool_and_its_daemon(far: FarHost, made: Place, mark: str) -> None:
    made.tool("dmesg", STUBBORN.format(made.folder))
    made.tool("lspci", "setsid sleep 625 >/dev/null 2>&1 &\n")
    far.prefetch(["run dmesg"])
    far.ask("run lspci")
    wait_until((made.folder / "pid").exists)
    wait_until(lambda: len(marked(mark)) >= 5)
    far.close()
    nothing_is_left(mark)


def test_a_tool_is_asked_to_end_before_it_is_killed(far: FarHost, made: Place, mark: str) -> None:
    ended = made.folder / "ended"
    made.tool(
        "dmesg", f"trap 'echo x > {ended}; exit' TERM\necho $$ > {made.folder}/pid\nwhile :; do sleep 0.05; done\n"
    )
    far.prefetch(["run dmesg"])
    wait_until((made.folder / "pid").exists)
    far.close()
    nothing_is_left(mark)
    assert ended.exists()


def test_a_child_that_breaks_fails_its_questions_and_is_replaced_a_few_times(
    far: FarHost, made: Place, mark: str
) -> None:
    made.tool("dmesg", STUBBORN.format(made.folder))
    for number in range(4):
        far.prefetch([f"run dmesg {number}"])
        wait_until((made.folder / "pid").exists)
        (made.folder / "pid").unlink()
        os.kill(_worker(far), signal.SIGKILL)
        answer = far.ask(f"run dmesg {number}")
        assert (answer.status, answer.note) == ("failed", "the process that asks this machine ended with status 3")
    answer = far.ask("read /proc/version")
    assert (answer.status, answer.note) == ("failed", "the process that asks this machine ended with status 3")
    nothing_is_left(mark)


def test_a_child_that_is_silent_too_long_is_replaced(far: FarHost, mark: str) -> None:
    assert far.ask("read /proc/version").ok
    far._silence_s = 0.3
    worker = _worker(far)
    os.kill(worker, signal.SIGSTOP)
    wait_until(lambda: Path(f"/proc/{worker}/stat").read_bytes().rpartition(b")")[2].split()[0] == b"T")
    answer = far.ask("read /proc/uptime")
    assert (answer.status, answer.note) == ("failed", "the process that asks this machine said nothing for 0.3 s")
    far._silence_s = GIVE_UP_S
    assert far.ask("read /proc/loadavg").ok
    wait_until(lambda: worker not in marked(mark))


_PARENT = """
import sys, time
from rocdoctor.host.supervised.supervised_host import FarHost
host = FarHost(100.0)
host.ask("run lspci")
host.prefetch(["run dmesg"])
{then}
"""


@pytest.mark.parametrize("then", ["time.sleep(600)", "", "raise ValueError", "import os; os._exit(0)"])
def test_the_child_ends_with_its_parent_however_that_ends(made: Place, mark: str, then: str) -> None:
    made.tool("dmesg", STUBBORN.format(made.folder))
    made.tool("lspci", "setsid sleep 625 >/dev/null 2>&1 &\n")
    wait = f"import os\nwhile not os.path.exists('{made.folder}/pid'): time.sleep(0.01)\n"
    program = _PARENT.format(then=wait + then)
    parent = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL)
    wait_until((made.folder / "pid").exists)
    if "sleep" in then:
        parent.kill()
    parent.wait(GIVE_UP_S)
    nothing_is_left(mark)


def test_many_questions_at_once(far: FarHost, tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / str(number)).write_text(f"{number} " * 500)
    questions = [f"read {tmp_path}/{number}" for number in range(300)]
    far.prefetch(questions)
    wrong: list[str] = []

    def ask() -> None:
        wrong.extend(one for one in questions if not far.ask(one).text.startswith(one.rpartition("/")[2] + " "))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert far.answered == 300


# -- masking and recording


def test_the_live_host_is_masked_and_recorded_in_this_process(mark: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("token: ghp_" + "a1B2" * 9)
    host = open_live(5.0, None, far=True)
    found = far_of(host)
    assert found is not None
    question = f"read {tmp_path}/secret"
    for one in (host, fresh(host)):
        assert "ghp_" not in one.ask(question).text
        assert isinstance(one, Recorder)
        assert list(one.answers) == [question]
        assert far_of(one) is found
    found.close()


def test_a_fresh_host_keeps_what_was_added(far: FarHost) -> None:
    host = OverlayHost(Recorder(MaskedHost(far, Masker())), {"run dmesg": Answer("run dmesg", "ok", b"added")})
    assert fresh(host).ask("run dmesg").text == "added"
    assert fresh(host).ask("read /proc/version").ok


def test_evidence_has_no_far_host() -> None:
    from rocdoctor.host.evidence.capture import Capture, CaptureHost

    host = CaptureHost(Capture({}, "", {}), "a capture")
    assert far_of(host) is None
    assert fresh(host) is host


def test_a_job_is_judged_in_the_child(mark: str) -> None:
    job = subprocess.Popen(["sleep", "626"])
    try:
        host = open_live(GIVE_UP_S, None, pid=job.pid, far=True)
        assert host.ask("read /proc/job/cmdline").text == "sleep 626"
        found = far_of(host)
        assert found is not None
        found.close()
    finally:
        job.kill()
        job.wait()
    with pytest.raises(InputError, match=f"no process {job.pid} here"):
        open_live(GIVE_UP_S, None, pid=job.pid, far=True)
