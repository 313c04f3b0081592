"""A terminal may claim any size: no more is drawn than a person can see."""

from __future__ import annotations

import asyncio

from textual.events import Resize
from textual.geometry import Size
from textual.widgets import Static

from rocdoctor.tui.bounded_app import MOST, BoundedApp
from rocdoctor.tui.typed_ahead import TypedAhead


class _App(BoundedApp):
    def compose(self):  # type: ignore[no-untyped-def]
        yield Static("x")


def _sizes(first: tuple[int, int], then: tuple[int, int]) -> list[Size]:
    async def look() -> list[Size]:
        app = _App()
        async with app.run_test(size=first) as pilot:
            await pilot.pause()
            found = [app.size, app.screen.size]
            app.post_message(Resize(Size(*then), Size(*then)))
            await pilot.pause(0.05)
            return [*found, app.size, app.screen.size]

    return asyncio.run(look())


def test_a_claimed_size_is_drawn_in_part() -> None:
    assert _sizes((3000, 1000), (65535, 60)) == [MOST, MOST, Size(MOST.width, 60), Size(MOST.width, 60)]


def test_a_size_that_a_person_can_see_is_taken_as_it_is() -> None:
    assert _sizes((80, 24), (400, 200)) == [Size(80, 24), Size(80, 24), Size(400, 200), Size(400, 200)]


def test_the_screens_are_such_an_app() -> None:
    assert issubclass(TypedAhead, BoundedApp)
