"""Options of the tests, and the rule that no test asks this machine unless it is marked ``live``.

How many examples a property is tried on is decided here alone. ``HYPOTHESIS_PROFILE`` or ``--hypothesis-profile`` names
``dev``, ``ci`` or ``heavy``; without a word it is ``ci`` where the environment has ``CI``, and else ``dev``.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from hypothesis import HealthCheck, settings

from rocdoctor.host.live import live_host
from rocdoctor.host.supervised import child_process
from rocdoctor.service import plan_trials
from tests.plans_once import plans_once

__all__ = ["plans_once"]  # for tests that name it

# The screens look the same whatever the person who runs the tests prefers; Textual reads some of these when imported.
for _name in [name for name in os.environ if name == "NO_COLOR" or name.startswith("TEXTUAL_")]:
    del os.environ[_name]

# Byte code of the project and of the tests is kept, also where the environment asks for none: several hundred tests
# start an interpreter.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A busy machine is no fault of the code: no example has a deadline, and slow ones are no failed health check.
_EVERYWHERE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# Other examples at each run, and those that failed before.
settings.register_profile("dev", _EVERYWHERE, max_examples=20)
# The same examples at each run, so that a build fails for what was changed.
settings.register_profile("ci", _EVERYWHERE, max_examples=30, derandomize=True, database=None, print_blob=True)
# Looks for what nobody has seen yet.
settings.register_profile("heavy", _EVERYWHERE, max_examples=1000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--update-golden`` writes the stored reports anew; read the difference before you commit it."""
    parser.addoption("--update-golden", action="store_true", help="rewrite the reports in tests/golden")


# A worker keeps what it collected and has loaded; its ranks, and programs that are started, come on top.
_WORKER_BYTES = 2 << 30


def pytest_xdist_auto_num_workers() -> int:
    """Three workers for two cores, as far as memory goes: a third of the time is waiting for others."""
    cores = psutil.Process().cpu_affinity() or [0]
    return max(1, min(len(cores) + (len(cores) + 1) // 2, psutil.virtual_memory().available // _WORKER_BYTES))


def pytest_collectstart() -> None:
    """Probes turn byte code off where they are imported: three workers would rewrite half of the tests at each run."""
    sys.dont_write_bytecode = False


def pytest_collection_finish() -> None:
    """What was collected stays to the end: nobody looks at it again for garbage, and for younger garbage less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether stored reports are written instead of compared."""
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(autouse=True)
def _hermetic(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    sys.dont_write_bytecode = False  # whatever the last module that was collected, or the test before, did
    monkeypatch.setenv("COLUMNS", "100")  # the same lines in every terminal, and in none
    # Whoever runs the tests may have tried plans here; root's lie in its home whatever the variable says.
    monkeypatch.setenv("XDG_STATE_HOME", "/nonexistent/state")
    monkeypatch.setattr(plan_trials, "place", lambda: Path("/nonexistent/state/rocdoctor/trials.json"))
    if request.node.get_closest_marker("live") is None:

        def refuse(*_: object, **__: object) -> None:
            raise AssertionError("a test without the mark 'live' asked this machine")

        monkeypatch.setattr(live_host.LiveHost, "__init__", refuse)
        monkeypatch.setattr(child_process.Link, "__init__", refuse)
    yield
