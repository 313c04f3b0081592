"""Run in the guest: the screens are open while its GPU is taken off the bus and found again."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from rocdoctor.host.live.live_host import LiveHost
from rocdoctor.tui.app import RocdoctorApp
from tests.tui.kit import shown, until
from tools.docs.pictures import settled


async def _watched(gpu: Path, out: Path) -> None:
    app = RocdoctorApp(LiveHost(60.0), lambda: LiveHost(60.0))
    app.animation_level = "none"
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(app, pilot)
        (out / "before.txt").write_text(shown(app))
        (gpu / "remove").write_text("1")
        await until(pilot, lambda: "is gone" in shown(app), 300)
        (out / "gone.txt").write_text(shown(app))
        await pilot.press("r")
        await settled(app, pilot)
        (out / "without.txt").write_text(shown(app))
        Path("/sys/bus/pci/rescan").write_text("1")
        await until(pilot, lambda: "appeared" in shown(app), 300)
        (out / "back.txt").write_text(shown(app))


asyncio.run(_watched(Path(sys.argv[1]), Path(sys.argv[2])))
