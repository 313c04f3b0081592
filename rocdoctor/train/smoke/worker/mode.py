"""What a mode is, and the list of all modes: one family a file in ``modes/``, found by looking into the folder."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

from .tolerance import Proof


class ModeNotApplicable(Exception):
    """The mode cannot be tried here; the message says why and names what would be needed."""


class OtherRankFailed(Exception):
    """This rank is well; the message says which other one could not go on."""


def release(torch: Any) -> tuple[int, int]:
    """(major, minor) of torch, where nothing in it tells of a change."""
    major, minor = str(torch.__version__).split("+")[0].split(".")[:2]
    return int("".join(filter(str.isdigit, major)) or 0), int("".join(filter(str.isdigit, minor)) or 0)


class LaunchPlan:
    """What a launcher's command is made of.

    ``interpreter`` is the Python under test; ``program`` the arguments that start one rank with it; ``address`` and
    ``port`` a place of this machine where the ranks may meet; ``folder`` one for files that the launcher reads.
    """

    __slots__ = ("address", "device", "folder", "interpreter", "port", "program", "world")

    def __init__(
        self, interpreter: str, program: list[str], world: int, device: str, folder: str, address: str, port: int
    ) -> None:
        self.interpreter = interpreter
        self.program = program
        self.world = world
        self.device = device
        self.folder = folder
        self.address = address
        self.port = port


class Launch:
    """How a mode is started by a launcher that is not ours.

    ``command`` gives its argument list; it runs beside the runner and may write files into the plan's folder.
    ``packages``: distributions that must be installed in the interpreter under test. ``needs``: gives why the launcher
    cannot start the mode for ``(world, backend, device)``, or nothing. ``environment``: variables that it needs, by
    device. ``restarts``: how often the group is started again after a loss that the mode brings about itself.
    ``segments``: how the names of shared memory begin that its library leaves behind, also after a good end.
    """

    __slots__ = ("command", "environment", "needs", "packages", "restarts", "segments")

    def __init__(
        self,
        command: Callable[[LaunchPlan], list[str]],
        *,
        packages: tuple[str, ...] = (),
        needs: Callable[[int, str, str], str] | None = None,
        environment: Callable[[str], dict[str, str]] | None = None,
        restarts: int = 0,
        segments: Callable[[LaunchPlan], tuple[str, ...]] | None = None,
    ) -> None:
        self.command = command
        self.packages = packages
        self.needs = needs
        self.environment = environment
        self.restarts = restarts
        self.segments = segments


class Mode:
    """One parallelism mode. ``proof``: what it computes, against what, and what may differ (``smoke --explain``).

    ``run`` gets a Context and checks numbers through it; it returns nothing. ``full``: only in the full set.
    ``objects``: ranks unpickle what others send, so over several nodes it runs only where it is named.
    ``min_world``: fewer ranks are not applicable. ``slow``: how many times the usual deadline it may take.
    ``launch``: the ranks are not those of the pool but started by another launcher; ``run`` is the program of one rank
    all the same and gets a LaunchedContext. ``leaves``: on GPUs it leaves memory or contexts that only the end of a
    process gives back, so the ranks after it are new ones.
    """

    __slots__ = ("full", "launch", "leaves", "min_world", "name", "objects", "proof", "run", "slow", "title")

    def __init__(
        self,
        name: str,
        title: str,
        run: Callable[[Any], None],
        proof: Proof | None = None,
        *,
        full: bool = False,
        min_world: int = 1,
        slow: float = 1.0,
        launch: Launch | None = None,
        objects: bool = False,
        leaves: bool = False,
    ) -> None:
        self.name = name
        self.title = title
        self.run = run
        self.proof = proof
        self.full = full
        self.min_world = min_world
        self.slow = slow
        self.launch = launch
        self.objects = objects
        self.leaves = leaves


def all_modes() -> tuple[Mode, ...]:
    """Every mode in the order of the families' ORDER, then of their own list. Imports no torch."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "modes")
    package = f"{__package__}.modes"
    families = [
        importlib.import_module(f"{package}.{name[:-3]}")
        for name in sorted(os.listdir(folder))
        if name.endswith(".py") and not name.startswith("_")
    ]
    families.sort(key=lambda family: (family.ORDER, family.__name__))
    return tuple(mode for family in families for mode in family.MODES)
