"""How many examples a property gets whose examples are much quicker, or much slower, than those of others."""

from __future__ import annotations

from hypothesis import settings


def examples(times: float) -> settings:
    """``times`` the examples that the profile gives to every property (``tests/conftest.py``), one at least."""
    return settings(max_examples=max(1, round(times * settings().max_examples)))
