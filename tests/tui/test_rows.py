"""Lines of which some have a marked part: steps from one to the next."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from textual.app import App, ComposeResult

from rocdoctor.tui.widgets.rows import Lines
from tests.tui.kit import seen


class _Hidden(App[None]):
    def compose(self) -> ComposeResult:
        lines = Lines()
        lines.display = False
        yield lines


def _marked(line: str) -> Sequence[tuple[int, int]]:
    return [(0, 1)] if line == "100" else ()


def test_the_first_step_is_in_view_where_the_lines_were_hidden_before() -> None:
    async def step() -> tuple[int, int]:
        app = _Hidden()
        async with app.run_test(size=(30, 12)) as pilot:
            lines = app.query_one(Lines)
            lines.display = True
            lines.put(lambda width: [str(number) for number in range(200)], _marked)
            app.call_after_refresh(lines.step)
            await seen(pilot)
            return lines.scroll_offset.y, lines.size.height

    top, height = asyncio.run(step())
    assert top <= 100 < top + height
