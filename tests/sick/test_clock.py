"""The clock jumps (a time server corrects it, a laptop wakes): deadlines and reports do not follow it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit import ROOT
from tests.sick.kit import usual

_LIBRARY = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(_LIBRARY is None, reason="libfaketime is not installed (Debian: faketime)"),
]
# A wall clock that gains two hours every second, one that stands in 1971, and one far ahead.
_CLOCKS = {"running away": "+0 x7200", "far behind": "@1971-01-01 00:00:00", "far ahead": "@2037-06-01 00:00:00 x2"}


_SHARED = Path("/dev/shm")


def _kept_by_faketime() -> set[Path]:
    """What libfaketime keeps in shared memory, for processes that have ended (the number at the end of the name)."""
    found = (*_SHARED.glob("faketime_shm_*"), *_SHARED.glob("sem.faketime_sem_*"))
    return {one for one in found if not Path("/proc", one.name.rpartition("_")[2]).exists()}


@pytest.fixture(autouse=True)
def nothing_stays_in_shared_memory() -> Iterator[None]:
    """libfaketime removes its segment in an exit handler, which a process that ends itself at once never runs."""
    before = _kept_by_faketime()
    yield
    for one in _kept_by_faketime() - before:
        one.unlink(missing_ok=True)


def _run(clock: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "LD_PRELOAD": str(_LIBRARY),
        "FAKETIME": clock,
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_FORCE_MONOTONIC_FIX": "0",  # else whoever waits for the interpreter's lock wakes at once, and again
        "NO_FAKE_STAT": "1",  # a clock that jumps changes no file
        "NO_COLOR": "1",
    }
    return subprocess.run(
        [sys.executable, "-m", "rocdoctor", *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        timeout=240,
        check=False,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("clock", _CLOCKS)
def test_the_report_comes_whatever_the_clock_does(clock: str, tmp_path: Path) -> None:
    done = _run(_CLOCKS[clock], "check", "--json", "--timeout", "30", folder=tmp_path)
    assert done.returncode in (0, 1), done.stderr
    report = json.loads(done.stdout)
    assert report["summary"]["crashed"] == 0
    assert 0 <= report["timing"]["total_s"] < 200
    # Nothing timed out because the wall clock ran: the questions' deadlines are the monotonic clock's.
    assert "30s" not in json.dumps(report["verdicts"])


@pytest.mark.parametrize("clock", usual(_CLOCKS, "running away"))
def test_a_bundle_is_written_whatever_the_clock_does(clock: str, tmp_path: Path) -> None:
    done = _run(_CLOCKS[clock], "bundle", "--timeout", "30", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.iterdir()
    again = subprocess.run(
        [sys.executable, "-m", "rocdoctor", "check", "--from", str(path), "--fail-on", "never"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=240,
        check=False,
    )
    assert again.returncode == 0, again.stderr


def test_the_clock_is_faked(tmp_path: Path) -> None:
    environment = {**os.environ, "LD_PRELOAD": str(_LIBRARY), "FAKETIME": _CLOCKS["far behind"]}
    program = [sys.executable, "-c", "import time; print(time.gmtime().tm_year)"]
    said = subprocess.run(program, capture_output=True, text=True, env=environment, cwd=tmp_path, check=True).stdout
    assert said.strip() in ("1970", "1971")


def test_a_process_that_ends_at_once_leaves_a_segment_that_is_found(tmp_path: Path) -> None:
    environment = {**os.environ, "LD_PRELOAD": str(_LIBRARY), "FAKETIME": _CLOCKS["far behind"]}
    before = _kept_by_faketime()
    subprocess.run([sys.executable, "-c", "import os; os._exit(0)"], env=environment, cwd=tmp_path, check=True)
    assert _kept_by_faketime() - before
