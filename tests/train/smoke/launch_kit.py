"""Launching modes with and without a planted fault, and looking for what a launch has left running."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
from pathlib import Path

from rocdoctor.parsers.own.smoke_results import ModeResult
from rocdoctor.train.smoke.run.launch import LaunchPlace, launch
from rocdoctor.train.smoke.worker.mode import all_modes

PLANTED = Path(__file__).with_name("planted_launch")
_TOKEN = "ROCDOCTOR_TEST_LAUNCH"


def run(
    mode: str,
    fault: str = "none",
    rank: int | str = "all",
    world: int = 2,
    limit_s: float = 120.0,
    interpreter: str = sys.executable,
) -> ModeResult:
    """One launch on CPU ranks; nothing of it may be left afterwards."""
    token = f"{_TOKEN}={secrets.token_hex(8)}"
    surroundings = {
        **os.environ,
        "PYTHONPATH": str(PLANTED),
        "ROCDOCTOR_PLANT_LAUNCH": f"{fault} {rank}",
        _TOKEN: token.partition("=")[2],
    }
    chosen = next(one for one in all_modes() if one.name == mode)
    result = launch(chosen, LaunchPlace(interpreter, surroundings, world, "gloo", "cpu", limit_s))
    assert running_with(token) == []
    return result


def running_with(token: str) -> list[str]:
    """Processes that carry the token in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if token.encode() in path.read_bytes().split(b"\0"):
                found.append(path.parent.name)
    return found
