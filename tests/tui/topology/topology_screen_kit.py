"""Driving the topology screen in tests."""

from __future__ import annotations

import re
from typing import Any

from textual.pilot import Pilot

from rocdoctor.host.base import Host
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.topology.drawn import Drawn, DrawnPane
from rocdoctor.tui.topology.screen import TopologyPage
from tests.golden.edits import Broken
from tests.tui.kit import Drive, T, driven, seen, shown


def narrow_link() -> Host:
    """The fourth GPU has four lanes of sixteen."""
    broken = Broken("mi300x-8gpu")
    for folder in ("bus/pci/devices/0000:68:00.0", "bus/pci/devices/0000:6a:00.0", "class/drm/card4/device"):
        broken.set(f"read /sys/{folder}/current_link_width", "4")
    return broken.host


def on_topology(
    host: Host, drive: Drive[T], size: tuple[int, int] = (80, 24), keys: tuple[str, ...] = (), tree: bool = True
) -> T:
    """``tree``: where the screen begins with boxes, go to the tree first."""

    async def there(app: RocdoctorApp, pilot: Pilot[Any]) -> T:
        await pilot.press("3")
        await drawn(app, pilot)
        drawing = page(app)._drawing
        if tree and drawing is not None and drawing.spots:
            await pilot.press("v")
            await seen(pilot)
        for key in keys:
            await pilot.press(key)
            await seen(pilot)
        return await drive(app, pilot)

    return driven(host, there, size)


async def drawn(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
    """Wait until the screen has its drawing."""
    for _ in range(500):
        await pilot.pause(0.02)
        if isinstance(app.screen, TopologyPage) and app.screen.query_one("#drawing", Drawn).virtual_size.height > 3:
            break
    await seen(pilot)


async def screen(app: RocdoctorApp, pilot: Pilot[Any]) -> str:
    return shown(app)


def selected(text: str) -> list[str]:
    """The GPUs on the lines with the mark."""
    return [found[1] for line in text.splitlines() if line.startswith("▸") if (found := re.search(r"(gpu \d+) ", line))]


def page(app: RocdoctorApp) -> TopologyPage:
    assert isinstance(app.screen, TopologyPage)
    return app.screen


def details(app: RocdoctorApp) -> str:
    return "\n".join(line.plain for line in page(app).query_one(DrawnPane)._lines)
