"""The list whose highlighted option stays in view whatever room it gets."""

from __future__ import annotations

import asyncio

from textual.app import App, ComposeResult
from textual.widgets import OptionList, Static

from rocdoctor.tui.widgets.options import Options
from tests.tui.kit import seen


class _Below(App[None]):
    """A head that grows, and the list below it."""

    CSS = "Static { height: auto; } OptionList { height: 1fr; }"

    def compose(self) -> ComposeResult:
        yield Static("head")
        yield Options(*(str(at) for at in range(20)))


def test_the_highlighted_option_stays_in_view_when_the_list_gets_less_room() -> None:
    async def shrink() -> tuple[bool, bool]:
        app = _Below()
        async with app.run_test(size=(40, 12)) as pilot:
            options = app.query_one(OptionList)
            options.highlighted = 12
            await seen(pilot)
            before = _in_view(options)
            app.query_one(Static).update("head\n" * 4)
            await seen(pilot)
            return before, _in_view(options)

    assert asyncio.run(shrink()) == (True, True)


def _in_view(options: OptionList) -> bool:
    assert options.highlighted is not None
    return 0 <= options.highlighted - options.scroll_y < options.scrollable_content_region.height
