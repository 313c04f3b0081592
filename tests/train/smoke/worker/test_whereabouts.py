"""A rank tells where it stands when it is asked, without a signal; who cannot tell gives no answer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rocdoctor.train.smoke.worker import whereabouts
from tests.waiting import until

_WORKER = Path(whereabouts.__file__).parent
_RANK = """
import ctypes, sys, time
from rocdoctor.train.smoke.worker import whereabouts
whereabouts.answer(sys.argv[1], 3)

def resting():
    print("there", flush=True)
    {code}

resting()
"""


@contextmanager
def _rank(folder: Path, code: str) -> Iterator[int]:
    command = [sys.executable, "-c", _RANK.replace("{code}", code), str(folder)]
    rank = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert rank.stdout is not None and rank.stdout.readline() == b"there\n"
        yield rank.pid
    finally:
        rank.kill()
        rank.communicate()


def test_a_rank_that_waits_tells_where_each_time(tmp_path: Path) -> None:
    with _rank(tmp_path, "sys.stdin.read()"):
        for _ in range(3):
            found = whereabouts.ask(str(tmp_path), [3, 4], 30.0)
            assert set(found) == {3}
            assert " in resting\n" in found[3].splitlines(keepends=True)[0]
    assert whereabouts.ask(str(tmp_path), [3], 0.1) == {}  # gone: nobody takes the request
    assert " in resting" in whereabouts.told(str(tmp_path), 3)  # what it said last stays


def test_a_rank_that_is_stopped_or_keeps_the_lock_of_the_interpreter_gives_no_answer(tmp_path: Path) -> None:
    with _rank(tmp_path, "sys.stdin.read()") as pid:
        os.kill(pid, signal.SIGSTOP)
        assert until(lambda: whereabouts.ask(str(tmp_path), [3], 0.3) == {})  # from when all its threads stand still
    with _rank(tmp_path, "ctypes.PyDLL(None).sleep(60)"):
        assert until(lambda: whereabouts.ask(str(tmp_path), [3], 0.3) == {})  # from when it has the lock


def test_no_rank_is_asked_by_a_signal() -> None:
    """A handler that walks the frames of Python is not safe: it ended healthy ranks on Python 3.11 to 3.13."""
    for path in _WORKER.rglob("*.py"):
        assert "faulthandler.register" not in path.read_text(encoding="utf-8"), path
