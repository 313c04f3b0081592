"""What a mode is, and the list of all modes: one family a file in ``modes/``, found by looking into the folder."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any


class NotApplicable(Exception):
    """The mode cannot be tried here; the message says why and names what would be needed."""


class OtherRankFailed(Exception):
    """This rank is well; the message says which other one could not go on."""


class Mode:
    """One parallelism mode.

    ``run`` gets a Context and checks numbers through it; it returns nothing. ``full``: only in the full set.
    ``min_world``: fewer ranks are not applicable. ``slow``: how many times the usual deadline it may take.
    ``launched``: the mode is not run in the pool; ``run`` gets a LaunchContext and starts processes of its own.
    """

    __slots__ = ("full", "launched", "min_world", "name", "run", "slow", "title")

    def __init__(
        self, name: str, title: str, run: Callable[[Any], None], *, full: bool = False, min_world: int = 1,
        slow: float = 1.0, launched: bool = False,
    ) -> None:  # fmt: skip
        self.name = name
        self.title = title
        self.run = run
        self.full = full
        self.min_world = min_world
        self.slow = slow
        self.launched = launched


def all_modes() -> tuple[Mode, ...]:
    """Every mode in the order of the families' ORDER, then of their own list. Imports no torch."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "modes")
    package = __package__ + ".modes"
    families = [
        importlib.import_module(f"{package}.{name[:-3]}")
        for name in sorted(os.listdir(folder))
        if name.endswith(".py") and not name.startswith("_")
    ]
    families.sort(key=lambda family: (family.ORDER, family.__name__))
    return tuple(mode for family in families for mode in family.MODES)
