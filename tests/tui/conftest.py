"""The app collects garbage rarely, and widgets refer to each other: many apps in one process need a hand."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from itertools import count

import pytest

from rocdoctor.tui import app, look
from tests.tui.kit import examined


@pytest.fixture(autouse=True)
def _day(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans of the day of the tables: what is tested must not depend on the calendar."""
    monkeypatch.setattr(look, "today", str)


@pytest.fixture(autouse=True)
def _no_look_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A live machine is looked at again when a test says so, also where the tests take long."""
    monkeypatch.setattr(app, "EVERY_S", 86_400.0)


@pytest.fixture(autouse=True)
def _fixtures_examined_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "examine", examined)


_EVERY = 40  # tests; an app leaves about 4 MiB
_tests = count(1)


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    yield
    if next(_tests) % _EVERY == 0:
        gc.collect()
        gc.freeze()  # what is left is kept anyway: the next collection need not walk over it
