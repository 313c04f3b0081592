"""Time in which this process was stopped, or still looked for a program, is no silence of that program."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

import pytest

from rocdoctor.host.base import Answer
from rocdoctor.host.live import live_host, patience, trust
from rocdoctor.host.live.live_host import LiveHost
from rocdoctor.host.live.patience import Looking

pytestmark = pytest.mark.live


def _script(path: Path, text: str) -> str:
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return str(path)


def _find(monkeypatch: pytest.MonkeyPatch, overdue: threading.Event) -> None:
    """Finding the program takes until its deadline is over, and tells a step."""

    def find(name: str) -> str:
        patience.tell()
        overdue.wait(60)
        return name

    monkeypatch.setattr(live_host, "find_program", find)


def test_a_program_that_was_not_yet_begun_does_not_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()
    _find(monkeypatch, begun)
    answer = LiveHost(0.01).ask("run /bin/true")
    begun.set()
    assert (answer.status, answer.note.startswith("/bin/true was not run: ")) == ("failed", True)


def test_as_long_as_root_gets_on_with_judging_a_program_it_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    overdue, steps = threading.Event(), []
    _find(monkeypatch, overdue)

    class Goes(Looking):
        """Asked only where the deadline of the question is over."""

        @property
        def busy(self) -> bool:
            overdue.set()
            return True

        def step(self) -> None:
            steps.append(1)

    monkeypatch.setattr(live_host, "Looking", Goes)
    host = LiveHost(0.5)
    answer = host.ask(f"run {_script(tmp_path / 'x', 'echo half; kill -SEGV $$')}")
    assert (overdue.is_set(), steps, answer.status, answer.exit_code) == (True, [1], "ok", -signal.SIGSEGV)


def test_without_a_folder_for_temporary_files_that_is_said_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    import tempfile

    def none() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp', '/home/somebody']")

    monkeypatch.setattr(tempfile, "gettempdir", none)
    host = LiveHost(
        60.0, verbs={"smoke": lambda _host, _question: Answer("", "ok", trust.private_folder("x-").encode())}
    )
    answer = host.ask("smoke all-reduce")
    assert (answer.status, answer.note.partition(" (")[0]) == (
        "failed",
        "no folder for temporary files can be written to",
    )


def test_a_question_does_not_age_while_we_are_stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The one who asks may wake before the thread that has the answer."""
    gone, real, wait = [0.0], time.monotonic, threading.Event.wait
    monkeypatch.setattr(time, "monotonic", lambda: real() + gone[0])

    def stopped(event: threading.Event, seconds: float | None = None) -> bool:
        if not gone[0]:
            gone[0] = 3600.0
            return False
        return wait(event, seconds)

    host = LiveHost(20.0)
    monkeypatch.setattr(threading.Event, "wait", stopped)
    answer = host.ask(f"run {_script(tmp_path / 'x', 'sleep 0.5; echo half; kill -SEGV $$')}")
    assert (gone[0], answer.status, answer.exit_code) == (3600.0, "ok", -signal.SIGSEGV)
