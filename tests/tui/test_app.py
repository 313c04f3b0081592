from __future__ import annotations

import asyncio

from rocdoctor.host.capture import Capture, CaptureHost
from rocdoctor.tui.app import RocdoctorApp


def _app() -> RocdoctorApp:
    return RocdoctorApp(CaptureHost(Capture({}, "", {}), "a capture"))


async def _text(app: RocdoctorApp, size: tuple[int, int]) -> str:
    async with app.run_test(size=size) as pilot:
        for _ in range(200):
            await pilot.pause(0.05)
            shown = str(app.query_one("#report").render())
            if "Asking" not in shown:
                await pilot.pause()
                return shown
    raise AssertionError("the report never came")


def test_the_screen_shows_the_report_of_the_host_it_was_given() -> None:
    shown = asyncio.run(_text(_app(), (80, 24)))
    assert "this evidence" in shown
    assert "Verdicts:" in shown


def test_no_line_is_wider_than_a_small_terminal() -> None:
    shown = asyncio.run(_text(_app(), (80, 24)))
    assert max(len(line) for line in shown.splitlines()) <= 76


def test_q_leaves() -> None:
    async def leave() -> bool:
        app = _app()
        async with app.run_test() as pilot:
            await pilot.press("q")
        return not app.is_running

    assert asyncio.run(leave())
