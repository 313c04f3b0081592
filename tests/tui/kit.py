"""Driving the screens in tests: evidence from fixtures, a pilot, and pictures that are compared with kept ones."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from textual.pilot import Pilot

from rocdoctor.host.base import Host
from rocdoctor.host.evidence.capture import CaptureHost, parse
from rocdoctor.tui.app import RocdoctorApp
from tests.kit import ROOT
from tools.docs.pictures import settled, still

SIZES = ((80, 24), (200, 60))
SNAPSHOTS = Path(__file__).parent / "snapshots"
T = TypeVar("T")
Drive = Callable[[RocdoctorApp, Pilot[Any]], Awaitable[T]]


def fixture_host(name: str) -> CaptureHost:
    """A machine of the fixtures."""
    return CaptureHost(parse((ROOT / "fixtures" / f"{name}.capture").read_bytes()), f"{name}.capture")


def driven(host: Host, drive: Drive[T], size: tuple[int, int] = (80, 24)) -> T:
    """Open the app, wait for the report, do what the test does."""

    async def run() -> T:
        app = RocdoctorApp(host)
        app.animation_level = "none"
        async with app.run_test(size=size) as pilot:
            await settled(app, pilot)
            return await drive(app, pilot)

    return asyncio.run(run())


async def until(pilot: Pilot[Any], true: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait until something is so, and seen on the screen; a test that waits for ever fails."""
    for _ in range(int(seconds / 0.02)):
        if true():
            return await seen(pilot)
        await pilot.pause(0.02)
    raise AssertionError("it never came to be")


async def seen(pilot: Pilot[Any]) -> None:
    """Let the screen show what has changed by now: each pause ends with the messages that wait and a layout."""
    for _ in range(4):  # a part gets its room, its text is made for it, that has a height, what is below moves
        await pilot.pause(0)


def shown(app: RocdoctorApp) -> str:
    """The characters on the screen, a line each."""
    lines = [[""] * app.size.width for _ in range(app.size.height)]
    rows = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in rows) if rows else str(lines)


async def same_picture(request: pytest.FixtureRequest, app: RocdoctorApp, pilot: Pilot[Any], name: str) -> None:
    """Compare the screen, once it is still, with the kept picture; ``--update-golden`` keeps this one (look at it)."""
    size = app.size
    path = SNAPSHOTS / f"{name}-{size.width}x{size.height}.svg"
    drawn = await still(app, pilot)
    if request.config.getoption("--update-golden"):
        SNAPSHOTS.mkdir(exist_ok=True)
        path.write_text(drawn, encoding="utf-8")
        return
    assert path.exists(), f"no picture {path.name}; look at the screen, then run with --update-golden"
    kept = path.read_text(encoding="utf-8")
    if drawn != kept:
        pytest.fail(f"{path.name} differs:\n{_changed(kept, drawn)}")


def _changed(kept: str, drawn: str) -> str:
    old, new = (re.findall(r">([^<>]+)</text>", text) for text in (kept, drawn))
    gone = [line for line in old if line not in new]
    came = [line for line in new if line not in old]
    return "\n".join([*(f"- {line}" for line in gone[:20]), *(f"+ {line}" for line in came[:20])]) or "colours only"
