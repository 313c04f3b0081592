"""How much of what could be tried belongs to each run of the suite, and how much to the heavy stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import settings


def examples(times: float) -> settings:
    """``times`` the examples that the profile gives to every property (``tests/conftest.py``), one at least."""
    return settings(max_examples=max(1, round(times * settings().max_examples)))


def some(cases: Sequence[Any], each: int = 3) -> list[Any]:
    """Every ``each``-th case, spread over all of them; the others belong to the heavy stage."""
    return [one if at % each == 0 else pytest.param(one, marks=pytest.mark.heavy) for at, one in enumerate(cases)]
