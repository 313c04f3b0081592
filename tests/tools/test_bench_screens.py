"""The benchmark of the screens counts all that a process spends."""

from __future__ import annotations

import os
import threading
import time
import tty

import pytest

from tools.bench import screens
from tools.bench.screens import _busy_s

_SPENT_S = 0.03


def test_what_an_ended_thread_has_spent_is_counted() -> None:
    def spend() -> None:
        until = time.thread_time() + _SPENT_S
        while time.thread_time() < until:
            pass

    before = _busy_s(os.getpid())
    worker = threading.Thread(target=spend)
    worker.start()
    worker.join()
    assert _busy_s(os.getpid()) - before >= _SPENT_S


def test_a_key_that_changes_nothing_is_no_wait_of_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screens, "_GIVE_UP_S", 0.0)
    monkeypatch.setattr(screens, "_STILL_S", 0.0)
    ours, theirs = os.openpty()
    tty.setraw(theirs)  # nothing is echoed
    still = object.__new__(screens._Screens)
    still.pid, still._terminal, still.drawn = os.getpid(), ours, b""
    try:
        with pytest.raises(RuntimeError, match="changed nothing"):
            still.press("x")
        with pytest.raises(RuntimeError, match="no verdict"):
            still.began = 0.0
            still.first_verdict()
    finally:
        os.close(ours)
        os.close(theirs)
