"""The pictures of the documentation, drawn from fixtures: ``python -m tools.docs.pictures FIXTURES FOLDER``."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from rocdoctor.host.base import Host
from rocdoctor.service.evidence import open_evidence
from rocdoctor.tui import look
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.background import working
from tools.docs.live_machine import LiveCapture, stopped_clock, watch

# A picture loads nothing when it is looked at: the reader's own font of fixed width serves.
_FONT_FACE = "@font-face {"
_PAUSE_S = 0.02
_STILL_S = 0.1
_MOST_PAUSES = 1500


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture: the fixture, the keys to press, the size in characters.

    ``live``: of a machine that is watched, on the screen of sensors, which the first key opens.
    """

    name: str
    fixture: str
    keys: tuple[str, ...] = ()
    size: tuple[int, int] = (110, 34)
    live: bool = False


_DESKTOP, _SERVER = "faulty/rx7900xtx-2gpu-old-guide", "faulty/mi300x-8gpu-tired"
PICTURES = (
    Picture("overview", _SERVER, (), (140, 38)),
    Picture("findings", _DESKTOP, ("2", "down")),
    Picture("topology", _SERVER, ("3",), (120, 42)),
    Picture("thermals", "mi300x-8gpu", ("4",)),
    Picture("live", "mi300x-8gpu", ("4", "s", "home", "p"), (156, 36), live=True),
    Picture("smoke", "faulty/epyc-cpu-only-proven", ("5",)),
    Picture("plan", "rx7900xtx-2gpu", ("6", "enter"), (120, 42)),
    Picture("setup", "phoenix-laptop", ("7",), (120, 42)),
    Picture("bundle", _DESKTOP, ("8",)),
)


def svg(app: App[Any]) -> str:
    """The screen as SVG, the same for the same screen."""
    return cleaned(app.export_screenshot())


def cleaned(exported: str) -> str:
    """SVG that loads no fonts and has no spaces at the ends of its lines."""
    first, *rest = exported.split(_FONT_FACE)
    text = first + "".join(part.partition("}")[2].lstrip() for part in rest)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


async def settled(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
    """Wait until the looking and all other work is over and the screen is drawn."""
    for _ in range(_MOST_PAUSES):
        await pilot.pause(_PAUSE_S)
        if not (app.keys_wait or app.look.busy or working(app) or getattr(app.screen, "at_work", False)):
            break
    await pilot.pause()
    await pilot.wait_for_scheduled_animations()


async def still(app: RocdoctorApp, pilot: Pilot[Any]) -> str:
    """The screen as SVG, once no work goes on and nothing moves any more."""
    await settled(app, pilot)
    for line in app.screen.query(Input):
        line.cursor_blink = False
    for text in app.screen.query(TextArea):
        text.cursor_blink = False
        text.notify_style_update()  # forget the line that was drawn while the cursor was dark: it would be drawn again
        text.refresh()
    drawn = ""
    while drawn != (drawn := svg(app)):
        await pilot.pause(_STILL_S)
        await settled(app, pilot)
    return drawn


async def draw(path: Path, picture: Picture) -> str:
    """The screen of some evidence after some keys."""
    if picture.live:
        with stopped_clock():
            return await _drawn(LiveCapture(path), picture)
    return await _drawn(open_evidence(str(path)), picture)


async def _drawn(host: Host, picture: Picture) -> str:
    app = RocdoctorApp(host)
    app.animation_level = "none"
    async with app.run_test(size=picture.size) as pilot:
        await settled(app, pilot)
        for number, key in enumerate(picture.keys):
            await pilot.press(key)
            await settled(app, pilot)
            if isinstance(host, LiveCapture) and number == 0:
                watch(app, host)
        return await still(app, pilot)


def main() -> None:
    """Write all pictures, with plans of the day of the tables, whatever the calendar says."""
    fixtures, folder = Path(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for one in PICTURES:
        with patch.object(look, "today", str):
            drawn = asyncio.run(draw(fixtures / f"{one.fixture}.capture", one))
        (folder / f"{one.name}.svg").write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
