"""Smoke tests in a process of their own: progress, results, and ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from rocdoctor.host.base import Answer
from rocdoctor.host.recorder import Recorder
from rocdoctor.host.supervised.supervised_host import FarHost, far_of, fresh, perform
from rocdoctor.service.live_machine import open_live
from tests.host.supervised.supervised_kit import nothing_is_left
from tests.sick.kit import GIVE_UP_S, Place, wait_until

pytestmark = pytest.mark.live


def test_smoke_tests_tell_how_far_they_are_and_are_recorded(mark: str) -> None:
    pytest.importorskip("torch")
    host = open_live(5.0, sys.executable, far=True)
    found = far_of(host)
    assert found is not None and isinstance(host, Recorder)
    told: list[str] = []
    question = "smoke quick modes=ddp world=2 device=cpu"
    answer = perform(host, question, lambda what, mode, rank, state: told.append(what))
    assert answer.ok, answer.note
    assert b'"ddp"' in answer.data
    assert "mode" in told and "done" in told
    assert host.answers[question] == host.ask(question) == answer
    assert fresh(host).ask(question) == answer  # asking does not run them again
    found.close()
    nothing_is_left(mark)


_STUCK_PYTHON = (
    "echo $$ > {}/pid\ntrap '' TERM INT HUP QUIT\nsetsid sleep 627 >/dev/null 2>&1 &\nwhile :; do sleep 628; done\n"
)


@pytest.mark.parametrize("how", ["cancel", "close", "silent"])
def test_cancelled_smoke_tests_leave_nothing(how: str, mark: str, made: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(made.folder / "home"))
    monkeypatch.setattr("tempfile.tempdir", str(made.folder / "home"))
    python = made.tool("stuck-python", _STUCK_PYTHON.format(made.folder))
    host = open_live(5.0, str(python), far=True)
    found = far_of(host)
    assert found is not None and isinstance(host, Recorder)
    answers: list[Answer] = []
    thread = threading.Thread(target=lambda: answers.append(perform(host, "smoke quick")))
    thread.start()
    wait_until((made.folder / "pid").exists)
    assert perform(host, "smoke quick").note == "smoke tests are running already"
    if how == "silent":  # the worker hears nothing
        link = found._smoke._link
        assert link is not None
        os.kill(link.worker, signal.SIGSTOP)
    (found.close if how == "close" else found.cancel)()
    thread.join(GIVE_UP_S)
    assert [(one.status, one.note) for one in answers] == [("failed", "cancelled")]
    assert host.answers == {}
    if how != "close":  # the rest goes on
        assert host.ask("read /proc/version").ok
        found.close()
    nothing_is_left(mark)
    assert not list((made.folder / "home").iterdir())


def test_smoke_tests_end_with_the_screens_however_these_end(
    mark: str, made: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(made.folder / "home"))
    python = made.tool("stuck-python", _STUCK_PYTHON.format(made.folder))
    program = (
        "from rocdoctor.host.supervised.supervised_host import FarHost\n"
        f"FarHost(5.0, {str(python)!r}).perform('smoke quick')"
    )
    parent = subprocess.Popen([sys.executable, "-c", program])
    wait_until((made.folder / "pid").exists, parent)
    parent.kill()
    parent.wait()
    nothing_is_left(mark)
    assert not list((made.folder / "home").iterdir())


@pytest.mark.heavy
def test_progress_that_breaks_ends_the_smoke_tests(mark: str) -> None:
    pytest.importorskip("torch")
    far = FarHost(5.0, sys.executable)

    def told(*_: object) -> None:
        raise RuntimeError("the screens are gone")

    with pytest.raises(RuntimeError, match="the screens are gone"):
        far.perform("smoke quick modes=ddp world=2 device=cpu", told)
    far.close()
    nothing_is_left(mark)
