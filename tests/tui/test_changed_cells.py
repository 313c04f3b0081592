"""What is written to the terminal: little, and the same picture as everything would give."""

from __future__ import annotations

import runpy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.control import Control
from rich.segment import Segment
from rich.style import Style
from textual import _compositor
from textual.pilot import Pilot
from textual.screen import Screen

from rocdoctor.tui import changed_cells
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.changed_cells import ChangedUpdate, ShownCells, changed_only
from tests.examples import examples
from tests.tui.cells import Cells
from tests.tui.kit import WIDE as BIG
from tests.tui.kit import driven, fixture_host, seen, until

WIDTH, HEIGHT = 40, 3
_CONSOLE = Console(color_system="truecolor", force_terminal=True)
_STYLES = tuple(
    Style.parse(one)
    for one in (
        "none",
        "bold",
        "dim red",
        "bold #e0e0e0 on #121212",
        "#e0e0e0 on #121212",
        "reverse",
        "underline on blue",
        "bright_red on color(200)",
        "italic strike",
        "link https://example.org/a",
        "default on default",
    )
)
_TEXTS = st.one_of(
    st.sampled_from(("gpu 3", " " * 25, "  indented" + " " * 9, "é▸", "a  b")), st.text("ab ", min_size=1, max_size=30)
)
_RUNS = st.lists(st.tuples(_TEXTS, st.sampled_from(_STYLES)), max_size=4)
_UPDATES = st.lists(st.tuples(st.integers(0, HEIGHT - 1), st.integers(0, WIDTH - 1), _RUNS), max_size=6)


def _segments(update: list[tuple[int, int, list[tuple[str, Style]]]]) -> list[Segment]:
    found: list[Segment] = []
    for y, x, run in update:
        found.append(Control.move_to(x, y).segment)
        left = WIDTH - x
        for text, style in run:
            found.append(Segment(text[:left], style))
            left -= len(text[:left])
        found.append(Segment("\n"))
    return found


def _whole(segments: list[Segment]) -> str:
    return "".join(
        one.text
        if one.control or one.style is None
        else one.style.render(one.text, color_system=_CONSOLE._color_system)
        for one in segments
    )


@examples(2)
@given(st.lists(_UPDATES, max_size=5), st.booleans())
def test_the_picture_is_that_of_writing_everything(
    updates: list[list[tuple[int, int, list[tuple[str, Style]]]]], erase: bool
) -> None:
    shown, told, full = ShownCells(erase), Cells(WIDTH, HEIGHT), Cells(WIDTH, HEIGHT)
    for update in updates:
        segments = _segments(update)
        full.write(_whole(segments))
        told.write(shown.bytes_for(segments, _CONSOLE))
        assert told.grid == full.grid


@pytest.mark.parametrize("indent", range(10))
@pytest.mark.parametrize("after", (0, 7, 8, 12))
def test_a_word_after_blanks_is_written_whatever_follows(indent: int, after: int) -> None:
    shown, told = ShownCells(), Cells(WIDTH, HEIGHT)
    for line in ("x" * WIDTH, (" " * indent + "indented" + " " * after + "|").ljust(WIDTH)):
        told.write(shown.bytes_for(_segments([(0, 0, [(line, _STYLES[0])])]), _CONSOLE))
    assert "".join(str(cell[0]) for cell in told.grid[0] if isinstance(cell, tuple)) == line


def _page(*lines: str) -> list[Segment]:
    return _segments([(y, 0, [(line, _STYLES[3])]) for y, line in enumerate(lines)])


def test_what_is_there_already_is_not_written_again() -> None:
    shown = ShownCells()
    assert shown.bytes_for(_page("gpu 0   64 °C"), _CONSOLE)
    assert shown.bytes_for(_page("gpu 0   64 °C"), _CONSOLE) == ""
    again = shown.bytes_for(_page("gpu 0   65 °C"), _CONSOLE)
    assert again.startswith("\x1b[1;10H") and "5" in again and "gpu" not in again
    shown.forget()
    assert "gpu 0" in shown.bytes_for(_page("gpu 0   65 °C"), _CONSOLE)


def test_blanks_are_erased_where_the_terminal_colours_erased_cells() -> None:
    for erase, most in ((True, 40), (False, 80)):
        shown = ShownCells(erase)
        shown.bytes_for(_page("x" * WIDTH), _CONSOLE)
        written = shown.bytes_for(_page(" " * WIDTH), _CONSOLE)
        assert ("\x1b[40X" in written) is erase and len(written) < most


def test_a_wide_character_is_written_and_replaced_as_a_whole() -> None:
    shown = ShownCells()
    shown.bytes_for(_page("a漢b"), _CONSOLE)
    assert "c " in shown.bytes_for(_page("ac b"), _CONSOLE), "no half of it may be left"
    assert "漢" in shown.bytes_for(_page("a漢b"), _CONSOLE)


def test_a_textual_that_draws_otherwise_writes_what_it_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = _compositor.ChopsUpdate([], [], [])
    assert isinstance(changed_only(drawn, ShownCells()), ChangedUpdate)
    assert changed_only("text", ShownCells()) == "text"
    monkeypatch.delattr(_compositor, "CompositorUpdate")
    names = runpy.run_path(changed_cells.__file__)
    assert names["changed_only"](drawn, ShownCells()) is drawn


class _Counted(ShownCells):
    """Counts the bytes of an app that has no terminal."""

    count = 0

    def display(self, screen: Screen[Any], update: Any) -> None:
        if isinstance(update, ChangedUpdate):
            self.count += len(update.render_segments(_CONSOLE).encode())


@pytest.mark.usefixtures("every_frame")
def test_an_arrow_key_sends_little(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = _Counted()
    monkeypatch.setattr("textual.app.App._display", lambda self, screen, update: counted.display(screen, update))

    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> list[tuple[str, int]]:
        app._shown_cells = counted
        sent: list[tuple[str, int]] = []
        for key in "2378":
            await pilot.press(key)
            await until(pilot, lambda: app.screen.is_current)
            await seen(pilot)
            await until(pilot, lambda: not getattr(app.screen, "filling", False))
            for _ in range(3):
                before = counted.count
                await pilot.press("down")
                await until(pilot, lambda: not getattr(app.screen, "at_work", False))
                await seen(pilot)
                sent.append((key, counted.count - before))
        return sent

    sent = driven(fixture_host("faulty/mi300x-8gpu-tired"), drive, BIG)
    assert any(count for _, count in sent), "nothing was counted"
    assert [one for one in sent if one[1] > 4096] == []
