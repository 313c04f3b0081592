"""What tests of the far host share: a place with tools of its own, and a mark on all that is started."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocdoctor.host.supervised.supervised_host import FarHost
from tests.sick.kit import GIVE_UP_S, MARK, Place, marked, place


@pytest.fixture
def made(tmp_path: Path) -> Place:
    return place(tmp_path)


@pytest.fixture
def mark(made: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """What is started carries it; whatever is left at the end is ended."""
    mark = f"far-{os.getpid()}-{time.monotonic_ns()}"
    monkeypatch.setenv(MARK, mark)
    monkeypatch.setenv("PATH", f"{made.tools}:{os.environ['PATH']}")
    yield mark
    for pid in marked(mark):
        if pid != os.getpid():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
def far(mark: str) -> Iterator[FarHost]:
    host = FarHost(timeout_s=GIVE_UP_S)
    yield host
    host.close()
