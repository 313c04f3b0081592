"""The benchmark of the screens counts all that a process spends."""

from __future__ import annotations

import os
import threading
import time

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
