"""What is laid out for a room is laid out once: no person sees a text jump, and no picture depends on the moment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from rich.text import Text
from textual._compositor import Compositor, ReflowResult
from textual.geometry import Size
from textual.pilot import Pilot
from textual.widget import Widget

from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.areas import AREAS, KEYS
from rocdoctor.tui.smoke.grid import SmokeGrid
from rocdoctor.tui.topology.drawn import Drawn
from rocdoctor.tui.topology.screen import TopologyPage
from rocdoctor.tui.widgets.flow import FlowFrame, FlowText, StillScroll
from rocdoctor.tui.widgets.rows import Lines
from tests.tui.kit import driven, fixture_host
from tools.docs.pictures import settled

# Below and above what the screens call wide, and between.
SIZES = ((80, 24), (110, 34), (120, 42), (200, 60))
# Screens that may show none of the widgets that are watched.
_OWN_LINES = ("bundle", "paste", "thermals")
Laid = dict[str, list[object]]


@pytest.fixture
def laid(monkeypatch: pytest.MonkeyPatch) -> Iterator[Laid]:
    """The rooms for which the text of each widget was made, and the widths that it got, one after the other."""
    found: Laid = defaultdict(list)

    def watch(kind: type[Any], name: str, room: Callable[[Any], object], what: str = "the text of ") -> None:
        before = getattr(kind, name)

        def after(widget: Widget, *arguments: object, **named: object) -> object:
            result = before(widget, *arguments, **named)
            rooms = found[f"{what}{kind.__name__} #{widget.id}"]
            if room(widget) and room(widget) not in rooms[-1:]:
                rooms.append(room(widget))
            return result

        monkeypatch.setattr(kind, name, after)

    watch(FlowText, "_draw", lambda one: one._width if one._make is not None else 0)
    watch(FlowFrame, "_draw", lambda one: one._room if one._fill is not None else Size())
    watch(Lines, "_lay", lambda one: one._width if one._cut is not None else 0)
    watch(SmokeGrid, "put", lambda one: one._width)
    watch(Drawn, "put", lambda one: one.room)
    for kind in (FlowText, FlowFrame, Lines, SmokeGrid, Drawn):
        watch(kind, "_size_updated", lambda one: one.outer_size.width, "the width of ")
    yield found


def twice(laid: Laid) -> Laid:
    return {name: rooms for name, rooms in laid.items() if len(rooms) > 1}


@pytest.mark.parametrize(
    ("fixture", "size"),
    [
        *(("faulty/mi300x-8gpu-tired", size) for size in (SIZES[0], SIZES[-1])),
        *(pytest.param("faulty/mi300x-8gpu-tired", size, marks=pytest.mark.heavy) for size in SIZES[1:-1]),
        ("faulty/epyc-cpu-only-proven", SIZES[0]),
        *(pytest.param("faulty/epyc-cpu-only-proven", size, marks=pytest.mark.heavy) for size in SIZES[1:]),
    ],
    ids=lambda one: one if isinstance(one, str) else f"{one[0]}x{one[1]}",
)
def test_each_screen_is_laid_out_once(fixture: str, size: tuple[int, int], laid: Laid) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> dict[str, Laid]:
        again = {}
        # What was laid out until here is the first screen, which is already there; the last one takes keys as text.
        for area in sorted(AREAS, key=lambda one: one.module == "paste"):
            await pilot.press(KEYS[AREAS.index(area)])
            await settled(app, pilot)
            assert laid or area.module in _OWN_LINES, f"{area.module} lays out nothing that this test knows"
            again[area.module] = twice(laid)
            laid.clear()
        return again

    assert {area: rooms for area, rooms in driven(fixture_host(fixture), look, size).items() if rooms} == {}


_LEFT = [area.module for area in AREAS if area.module != "paste"]  # that one takes keys as text


@pytest.mark.parametrize(
    ("there", "left"),
    [("bundle", [one for one in _LEFT if one != "bundle"]), ("overview", ["bundle"])],
    ids=["all but the bundle", "the bundle"],
)
def test_screens_that_were_left_are_laid_out_once_for_a_terminal_of_another_size(
    there: str, left: list[str], laid: Laid
) -> None:
    keys = {area.module: KEYS[AREAS.index(area)] for area in AREAS}

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> dict[str, Laid]:
        again = {}
        for module in (*left, there):
            await pilot.press(keys[module])
            await settled(app, pilot)
        await pilot.resize_terminal(80, 24)
        await settled(app, pilot)
        for module in left:
            laid.clear()
            await pilot.press(keys[module])
            await settled(app, pilot)
            assert f".tui.{module}." in type(app.screen).__module__
            again[module] = twice(laid)
        return again

    found = driven(fixture_host("faulty/mi300x-8gpu-tired"), look, (200, 60))
    assert {module: rooms for module, rooms in found.items() if rooms} == {}


def test_a_drawing_has_the_same_room_with_and_without_a_scrollbar() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> tuple[set[int], set[bool]]:
        await pilot.press("3")
        await settled(app, pilot)
        pane, rooms, bars = app.screen.query_one("#drawing", Drawn), set(), set()
        lines, parts = pane._lines, pane._parts
        for count in (3, len(lines), 3):
            pane.put(lines[:count], parts[:count])
            await pilot.pause()
            rooms.add(pane.room)
            bars.add(pane.show_vertical_scrollbar)
        return rooms, bars

    rooms, bars = driven(fixture_host("mi300x-8gpu"), look)
    assert bars == {True, False}
    assert rooms == {80 - 2 - 2}  # a scrollbar, and the mark of a selected GPU


def test_keys_that_come_before_the_drawing_count() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> int | None:
        await app.action_area("topology")
        page = app.screen
        assert isinstance(page, TopologyPage) and page._drawing is None
        for by in (1, 1, 1, -1):
            page.action_go(by)
        await settled(app, pilot)
        return page._gpu

    assert driven(fixture_host("mi300x-8gpu"), look) == 2


# -- how often the places of all parts are worked out

# Textual itself needs two for what is new (its parts, then their sizes) and two where the bar of keys turns out to have
# others; the rest is for what a thread finds meanwhile: Bundle lists its questions, and again when all is masked. A key
# changes one part: that, and a scrollbar for what is longer now.
_MOST_FIRST, _MOST_OF_BUNDLE, _MOST_AGAIN, _MOST_KEY = 6, 8, 3, 2
_KEYS = ("down", "down", "end", "home")


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
def test_places_are_worked_out_no_more_often_than_something_changes(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = 0
    before = Compositor.reflow

    def reflow(self: Compositor, parent: Widget, size: Size) -> ReflowResult:
        nonlocal counted
        counted += 1
        return before(self, parent, size)

    monkeypatch.setattr(Compositor, "reflow", reflow)

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
        async def passes(keys: str) -> int:
            nonlocal counted
            counted = 0
            await pilot.press(keys)
            await settled(app, pilot)
            return counted

        first, again, by_key = dict[str, int](), dict[str, int](), dict[str, int]()
        keys = {
            area.module: KEYS[AREAS.index(area)] for area in AREAS if area.module != "paste"
        }  # it takes keys as text
        for module, key in keys.items():
            first[module] = await passes(key)
            by_key |= {f"{module}: {one} ({at})": await passes(one) for at, one in enumerate(_KEYS)}
        for module, key in keys.items():
            again[module] = await passes(key)
        return first, again, by_key

    first, again, by_key = driven(fixture_host("faulty/mi300x-8gpu-tired"), look, size)
    assert first.pop("bundle") <= _MOST_OF_BUNDLE
    assert {name: count for name, count in first.items() if count > _MOST_FIRST} == {}
    assert {name: count for name, count in again.items() if count > _MOST_AGAIN} == {}
    assert {name: count for name, count in by_key.items() if count > _MOST_KEY} == {}
    assert min(first["findings"], again["findings"], by_key["findings: down (0)"]) > 0, "they are counted at all"


def test_a_scrollbar_that_appears_is_laid_out_with_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = 0
    before = Compositor.reflow

    def reflow(self: Compositor, parent: Widget, size: Size) -> ReflowResult:
        nonlocal counted
        counted += 1
        return before(self, parent, size)

    monkeypatch.setattr(Compositor, "reflow", reflow)

    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> tuple[bool, int]:
        nonlocal counted
        await pilot.press(KEYS[[area.module for area in AREAS].index("recommend")])
        await settled(app, pilot)
        box, text = app.screen.query_one("#plan-box", StillScroll), app.screen.query_one("#plan", FlowText)
        assert not box.show_vertical_scrollbar, "the plan has room here"
        counted = 0
        text.set(lambda width: Text("line\n" * 200))
        box.show_vertical_scrollbar = box.vertical_scrollbar.display = True
        await settled(app, pilot)
        return box.vertical_scrollbar.size.height > 0, counted

    assert driven(fixture_host("mi300x-8gpu"), look, (200, 150)) == (True, 1)
