"""Keeping what was made of the latest value: checks ask the same of one machine hundreds of times."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")


def of_same(make: Callable[[Given], Made]) -> Callable[[Given], Made]:
    """``make`` called once for a value as long as no other comes; the same is the same object, not an equal one.

    For values that never change, and of which comparing would cost as much as making.
    """
    latest: list[tuple[Given, Made]] = []

    @wraps(make)
    def kept(given: Given) -> Made:
        for known, made in latest:
            if known is given:
                return made
        made = make(given)
        latest[:] = [(given, made)]
        return made

    return kept
