"""The list whose highlighted option stays in view whatever room it gets."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from rocdoctor.tui.widgets.ask import Ask
from rocdoctor.tui.widgets.options import Options, RowOptions, SearchedOptions
from tests.tui.kit import seen


class _Below(App[None]):
    """A head that grows, and the list below it."""

    CSS = "Static { height: auto; } OptionList { height: 1fr; }"

    def compose(self) -> ComposeResult:
        yield Static("head")
        yield Options(*(str(at) for at in range(20)))


def test_a_click_goes_to_a_row_and_one_more_is_enter() -> None:
    class Chosen(App[None]):
        chosen: ClassVar[list[int]] = []

        def compose(self) -> ComposeResult:
            yield RowOptions("zero", "one", "two")

        def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
            self.chosen.append(event.option_index)

    async def clicks() -> tuple[int | None, list[int], list[int]]:
        app = Chosen()
        async with app.run_test(size=(40, 12)) as pilot:
            options = app.query_one(OptionList)
            await pilot.click(options, offset=(4, 2))
            await seen(pilot)
            before = [*app.chosen]
            await pilot.click(options, offset=(4, 2))
            await seen(pilot)
            return options.highlighted, before, app.chosen

    assert asyncio.run(clicks()) == (1, [], [1])


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


class _Searched(App[None]):
    def compose(self) -> ComposeResult:
        yield SearchedOptions("Heading", "ddp on GPUs", "fsdp", Option("ddp, in a heading", disabled=True), "ddp again")


def test_a_search_goes_to_the_next_row_with_all_words_and_begins_anew_after_the_last() -> None:
    async def search() -> list[int | None]:
        app = _Searched()
        async with app.run_test(size=(40, 12)) as pilot:
            options = app.query_one(SearchedOptions)
            options.focus()
            options.highlighted = 0
            await pilot.press("slash")
            assert isinstance(app.screen, Ask)
            app.screen.query_one(Input).value = "DDP"
            await pilot.press("enter")
            await seen(pilot)
            places: list[int | None] = [options.highlighted]
            for words in ("ddp", "ddp", "gpus ddp", "nothing of this"):
                found = options.find(words)
                assert found == (words != "nothing of this"), words
                places.append(options.highlighted)
            return places

    assert asyncio.run(search()) == [1, 4, 1, 1, 1]


def test_a_page_of_a_list_that_has_no_room_yet_is_none() -> None:
    """A key that came before the list was laid out, or in a terminal of a few lines, ended the screens."""
    options = Options("zero", "one", "two")
    vars(options)["_reactive_highlighted"] = 1  # without an app nobody watches
    options._move_page(1)
    options._move_page(-1)
    assert options.highlighted == 1
