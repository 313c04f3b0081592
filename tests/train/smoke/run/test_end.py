"""However rocdoctor itself ends, no process and no folder of its smoke tests is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rocdoctor.train.smoke.run.processes import MARK, marked
from tests.waiting import until

pytest.importorskip("torch")
# Ranks that never end by themselves, so that there is always something to end.
_RUNNER = """
import sys
from rocdoctor.train.smoke.run.pool import Pool
pool = Pool(sys.executable)
pool.start(2, "gloo", "cpu", 30.0, 30.0)
print(pool.mark, flush=True)
sys.stdin.read()
pool.run("ddp", 30.0)
"""


# A runner without handlers of its own ends by SIGTERM and SIGHUP as it does by SIGKILL: nothing of it runs any more.
@pytest.mark.parametrize(
    "number",
    [
        signal.SIGKILL,
        signal.SIGINT,
        pytest.param(signal.SIGTERM, marks=pytest.mark.heavy),
        pytest.param(signal.SIGHUP, marks=pytest.mark.heavy),
    ],
)
def test_nothing_is_left_when_the_runner_is_ended(number: int) -> None:
    runner = subprocess.Popen(
        [sys.executable, "-c", _RUNNER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert runner.stdout is not None
    mark = runner.stdout.readline().strip()
    found = marked(mark)
    assert len(found) == 3  # a server and two ranks
    folders = {os.readlink(f"/proc/{pid}/cwd") for pid in found}
    runner.send_signal(number)
    runner.communicate(timeout=20)
    assert until(lambda: not marked(mark)), marked(mark)
    assert not any(Path(folder).exists() for folder in folders)


def test_the_mark_is_found_in_what_a_rank_starts() -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env={**os.environ, MARK: "abc-123"}
    )
    try:
        assert child.pid in marked("abc-123")
        assert child.pid not in marked("abc-1234")
    finally:
        child.communicate(b"\n")
