"""Options of the tests, and the rule that no test asks this machine unless it is marked ``live``."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from rocdoctor.host.live import live_host
from rocdoctor.host.supervised import child_process

# The screens look the same whatever the person who runs the tests prefers; Textual reads some of these when imported.
for _name in [name for name in os.environ if name == "NO_COLOR" or name.startswith("TEXTUAL_")]:
    del os.environ[_name]


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--update-golden`` writes the stored reports anew; read the difference before you commit it."""
    parser.addoption("--update-golden", action="store_true", help="rewrite the reports in tests/golden")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether stored reports are written instead of compared."""
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(autouse=True)
def _hermetic(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("COLUMNS", "100")  # the same lines in every terminal, and in none
    if request.node.get_closest_marker("live") is None:

        def refuse(*_: object, **__: object) -> None:
            raise AssertionError("a test without the mark 'live' asked this machine")

        monkeypatch.setattr(live_host.LiveHost, "__init__", refuse)
        monkeypatch.setattr(child_process.Link, "__init__", refuse)
    yield
