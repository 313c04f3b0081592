"""Driving the screens in tests: evidence from fixtures, a pilot, and pictures that are compared with kept ones."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, TypeVar

import pytest
from rich.console import Console
from rich.segment import Segment, Segments
from textual.pilot import Pilot

from rocdoctor.host.base import Host
from rocdoctor.host.evidence.capture import Capture, CaptureHost, parse
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.look import Again, Look, examine
from tests.kit import ROOT
from tools.docs.pictures import cleaned, settled, still

NARROW, WIDE = SIZES = ((80, 24), (200, 60))
SNAPSHOTS = Path(__file__).parent / "snapshots"
T = TypeVar("T")
Drive = Callable[[RocdoctorApp, Pilot[Any]], Awaitable[T]]


class FixtureHost(CaptureHost):
    """A machine of the fixtures as it is: what is known of it is worked out once a process."""

    def __init__(self, name: str) -> None:
        super().__init__(_capture(name), f"{name}.capture")
        self.name = name


@cache
def _capture(name: str) -> Capture:
    return parse((ROOT / "fixtures" / f"{name}.capture").read_bytes())


def fixture_host(name: str) -> CaptureHost:
    """A machine of the fixtures."""
    return FixtureHost(name)


_known: dict[str, list[Look]] = {}


def examined(
    host: Host,
    tell: Callable[[Look], None],
    cancelled: Callable[[], bool],
    smoke: str = "",
    again: Again | None = None,
) -> None:
    """``look.examine``, which collects from a machine of the fixtures and judges it the first time only."""
    if not isinstance(host, FixtureHost) or smoke or again is not None:
        examine(host, tell, cancelled, smoke, again)
        return
    if host.name not in _known:
        looks: list[Look] = []
        examine(host, looks.append, lambda: False)
        if looks[-1].phase != "done":
            tell(looks[-1])
            return
        _known[host.name] = looks
    for look in _known[host.name]:
        if cancelled():
            return
        # Equal and not the same, as another look at it has them.
        diagnosis = look.diagnosis and replace(look.diagnosis)
        tell(replace(look, diagnosis=diagnosis, setup=look.setup and replace(look.setup)))


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


_COUNTED = re.compile(r"\d+(?=(?: |&#160;)(?:passed|unknown|not(?: |&#160;)applicable|cannot|do\b))")


def without_counts(drawn: str) -> str:
    """A picture that stays the same when a check is added: its numbers of verdicts are N, digit by digit."""
    return re.sub(r"terminal-\d+", "terminal", _COUNTED.sub(lambda found: "N" * len(found[0]), drawn))


def body(app: RocdoctorApp) -> str:
    """What stands between the bars as SVG; the bars are those of every screen."""
    region = app.screen.query_one("#body").region
    console = Console(
        width=region.width,
        height=region.height,
        file=StringIO(),
        force_terminal=True,
        color_system="truecolor",
        record=True,
        legacy_windows=False,
        safe_box=False,
    )
    for row in app.screen._compositor.render_strips()[region.y : region.bottom]:
        console.print(Segments([*row, Segment.line()]))
    return cleaned(console.export_svg(title=app.title))


async def same_picture(
    request: pytest.FixtureRequest, app: RocdoctorApp, pilot: Pilot[Any], name: str, whole: bool = False
) -> None:
    """Compare a screen, once it is still, with the kept picture; ``--update-golden`` keeps this one (look at it).

    The picture is one of what stands between the bars, or of the ``whole`` screen.
    """
    size = app.size
    path = SNAPSHOTS / f"{name}-{size.width}x{size.height}.svg"
    drawn = await still(app, pilot)
    drawn = without_counts(drawn if whole else body(app))
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
