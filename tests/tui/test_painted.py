"""Of a text that is shown again only the lines that changed are painted."""

from __future__ import annotations

import asyncio

from rich.text import Text
from textual.app import App, ComposeResult

from rocdoctor.tui.widgets.painted import Painted, changed_lines


def test_only_lines_that_differ_are_painted() -> None:
    was = Text("power 90 W\nuse 10 %\nfan 3 rpm")
    assert changed_lines(was, was.copy(), 20) == []
    assert changed_lines(was, Text("power 90 W\nuse 20 %\nfan 3 rpm"), 20) == [1]
    hot = was.copy()
    hot.stylize("red", 11, 14)
    assert changed_lines(was, hot, 20) == [1], "another colour is another line"


def test_a_text_whose_size_may_change_is_laid_out_anew() -> None:
    was = Text("power 90 W\nuse 10 %")
    assert changed_lines(was, Text("power 90 W"), 20) is None, "fewer lines"
    assert changed_lines(was, Text("power 90 W\nuse 10 % of all that it can"), 20) is None, "a line that wraps"
    assert changed_lines(was, Text("power 90 W\nuse 10 %", justify="right"), 20) is None


def test_the_same_words_in_another_style_are_painted() -> None:
    class Shown(App[None]):
        def compose(self) -> ComposeResult:
            yield Painted(Text("hot", style="#ff0000"))

    async def walk() -> str:
        app = Shown()
        async with app.run_test(size=(20, 4)) as pilot:
            app.query_one(Painted).update(Text("hot", style="#00ff00"))
            await pilot.pause()
            return str(next(iter(app.query_one(Painted).render_line(0))).style)

    assert asyncio.run(walk()).startswith("#00ff00")
