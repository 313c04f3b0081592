"""The topology screen, driven: the selection, and what stays when the evidence changes."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import pytest
from rich.segment import Segment
from textual.pilot import Pilot
from textual.widgets import Input

from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import Diagnosis
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.look import Look
from rocdoctor.tui.topology.drawn import Drawn
from tests.tui.kit import SIZES, fixture_host, seen, shown, until
from tests.tui.topology.topology_screen_kit import details, drawn, narrow_link, on_topology, page, selected

# -- selection


def test_the_arrows_go_from_gpu_to_gpu_to_both_ends_and_the_details_follow() -> None:
    async def go(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        assert selected(shown(app)) == ["gpu 0"]
        assert "root port 0000:00:01.1 (1022:14ab)" in details(app)
        for number in (1, 2, 3, 4, 5, 6, 7):
            await pilot.press("down")
            await seen(pilot)
            assert selected(shown(app)) == [f"gpu {number}"]
            assert f"gpu {number} (0000:" in shown(app)
        assert "root port 0000:e0:01.1 (1022:14ab)" in details(app)
        assert "gpu 0-6: XGMI, a direct link" in details(app)
        assert "weight" not in details(app), "the same for all of them"
        for _ in range(33):
            page(app).action_go(1)
        await seen(pilot)
        assert "the higher, the slower" in shown(app)
        assert "gpu 7 (0000:ea:00.0)" in shown(app)
        for number in (7, 6):  # the end of the drawing, then the GPU before
            await pilot.press("up")
            await seen(pilot)
            assert selected(shown(app)) == [f"gpu {number}"]
        for _ in range(20):
            page(app).action_go(-1)
        await seen(pilot)
        assert selected(shown(app)) == ["gpu 0"]
        assert "CPU AMD EPYC 9354" in shown(app)
        await pilot.press("tab")  # to the details, which scroll
        for _ in range(30):
            await pilot.press("down")
        await seen(pilot)
        assert "HIP 0, torch 0, smi 0" in shown(app)
        assert selected(shown(app)) == ["gpu 0"]

    on_topology(fixture_host("mi300x-8gpu"), go)


@pytest.mark.parametrize("size", SIZES)
def test_a_click_selects_the_gpu_under_the_pointer(size: tuple[int, int]) -> None:
    async def click(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await pilot.press("pagedown")
        await seen(pilot)
        rows = shown(app).splitlines()
        lines = [number for number, line in enumerate(rows) if "gpu 2 " in line]
        line = lines[0] + (0 if size[0] > 100 else 1)  # on a narrow screen its second line
        await pilot.click(offset=(12, line))
        await seen(pilot)
        assert selected(shown(app)) == ["gpu 2"]
        assert "0000:47:00.0" in details(app)
        await pilot.click(offset=(12, lines[0] - 1))  # the switch above: no GPU
        await seen(pilot)
        assert selected(shown(app)) == ["gpu 2"]

    on_topology(fixture_host("mi300x-8gpu"), click, size)


def test_enter_goes_to_the_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    async def area(self: RocdoctorApp, module: str) -> None:
        asked.append(module)

    async def press(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        assert "warning: pcie-link-narrow" in details(app)
        monkeypatch.setattr(RocdoctorApp, "action_area", area)
        await pilot.press("enter")
        await seen(pilot)

    on_topology(narrow_link(), press, keys=())
    assert asked == ["findings"]


def test_m_shows_the_links_and_d_gives_their_room_to_the_drawing() -> None:
    async def press(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await pilot.press("m")
        await seen(pilot)
        text = shown(app)
        assert text.splitlines()[2].strip() == "GPU to GPU"
        assert len(re.findall(r"^  gpu \d +(?:-|NV18) ", text, re.MULTILINE)) == 8
        assert "NV18: 18 NVLinks side by side" in text
        assert "path from the CPU" in text
        await pilot.press("d")
        await seen(pilot)
        assert "path from the CPU" not in shown(app)
        assert page(app).query_one("#drawing", Drawn).size.height == 21
        await pilot.press("d")
        await seen(pilot)
        assert "path from the CPU" in shown(app)

    on_topology(fixture_host("h100-8gpu"), press)


def test_a_machine_without_gpus_scrolls_with_the_arrows() -> None:
    async def go(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        assert not page(app).query_one("#details").display
        assert "NUMA node 0 " in shown(app)
        for _ in range(8):
            await pilot.press("down")
        await pilot.press("end")
        await seen(pilot)
        assert "No GPU is on the PCI bus." in shown(app)
        await pilot.press("home")
        await seen(pilot)
        assert "CPU AMD EPYC 9654" in shown(app)

    on_topology(fixture_host("epyc-cpu-only"), go, (80, 16))


@pytest.mark.parametrize("size", SIZES)
def test_it_begins_with_the_gpu_that_has_a_fault(size: tuple[int, int]) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        drawing = page(app).query_one("#drawing", Drawn)
        assert drawing.in_sight(3)
        assert "error: ras-uncorrectable" in details(app)
        await pilot.press("up")
        await until(pilot, lambda: selected(shown(app)) == ["gpu 2"])
        app.look = Look("done", app.look.diagnosis)
        await seen(pilot)
        assert selected(shown(app)) == ["gpu 2"], "a later look leaves the choice to the person"

    on_topology(fixture_host("faulty/mi300x-8gpu-tired"), look, size)


# -- what stays


def test_selection_and_place_stay_through_resize_other_screens_and_a_later_look() -> None:
    async def go(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        for gpu in range(1, 5):
            await pilot.press("down")
            await until(pilot, partial(lambda gpu: selected(shown(app)) == [f"gpu {gpu}"], gpu))
        before = page(app).query_one("#drawing", Drawn).scroll_y
        assert before > 0
        await pilot.press("1")
        await until(pilot, lambda: app.current_mode == "overview")
        app.look = Look("done", app.look.diagnosis)
        await pilot.press("3")
        await drawn(app, pilot)
        assert selected(shown(app)) == ["gpu 4"]
        assert page(app).query_one("#drawing", Drawn).scroll_y == before
        await pilot.resize_terminal(200, 60)
        await until(pilot, lambda: page(app).has_class("wide") and "NUMA node 0 CPUs" in shown(app))
        assert selected(shown(app)) == ["gpu 4"]
        assert "gpu 4 0000:8a:00.0 AMD Instinct MI300X, gfx942, 192 GiB, SPX/NPS1" in shown(app)
        assert "NUMA node 0 CPUs" in shown(app)
        await pilot.resize_terminal(80, 24)
        lines = page(app).query_one("#drawing", Drawn)
        await until(pilot, lambda: max(len(line.plain) for line in lines._lines) <= 76)
        app.look = Look("done", app.look.diagnosis)
        await seen(pilot)
        assert "gpu 4 (0000:8a:00.0)" in shown(app)
        assert "root port 0000:80:01.1" in details(app)
        await _other_evidence_starts_anew(app, pilot)

    on_topology(fixture_host("mi300x-8gpu"), go)


async def _other_evidence_starts_anew(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
    app.open(fixture_host("h100-8gpu"))
    await until(pilot, lambda: "H100" in shown(app))
    assert selected(shown(app)) == ["gpu 0"]
    assert "CPU Intel(R) Xeon(R)" in shown(app)
    assert "8086:352a" in details(app)
    app.open(fixture_host("recorded-cpu-vm"))
    await until(pilot, lambda: "No GPU" in shown(app))
    assert "0000:1b:00.0" not in shown(app)
    assert not page(app).query_one("#details").display


def test_other_evidence_that_was_opened_elsewhere_starts_anew_and_each_state_is_said() -> None:
    async def go(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        await pilot.press("down", "down", "down", "down", "down")
        await pilot.press("1")
        app.open(fixture_host("h100-8gpu"))
        await until(pilot, lambda: not app.look.busy)
        await pilot.press("3")
        await until(pilot, lambda: "CPU Intel(R) Xeon(R)" in shown(app))
        assert selected(shown(app)) == ["gpu 0"]
        app.host = fixture_host("mi300x-8gpu")
        app.look = Look()
        await until(pilot, lambda: "Looking ..." in shown(app))
        assert "0000:1b:00.0" not in shown(app)
        app.look = Look("failed", problem="ValueError: [b]odd[/b]")
        await until(pilot, lambda: "rocdoctor itself failed: ValueError: [b]odd[/b]" in shown(app))
        app.look = Look("done", Diagnosis(Machine(), (), ()))
        await until(pilot, lambda: "NUMA nodes: not in this evidence" in shown(app))
        assert "0000:0a:00.0" not in shown(app) and "0000:1b:00.0" not in shown(app)

    on_topology(fixture_host("mi300x-8gpu"), go)


# -- search


@pytest.mark.parametrize("size", [(60, 20), *SIZES])
def test_a_search_goes_from_line_to_line_and_selects_the_gpu_that_it_finds(size: tuple[int, int]) -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        async def search(words: str) -> None:
            await pilot.press("slash")
            app.screen.query_one(Input).value = words
            await pilot.press("enter")
            await seen(pilot)

        await search("8a:00.0")  # of the fifth GPU
        assert page(app)._gpu == 4
        assert "0000:8a:00.0" in shown(app)
        at = page(app)._found
        await search("gpu")  # other words: from the top
        assert page(app)._found <= at
        first = page(app)._found
        await pilot.press("slash", "enter")  # the same words stand there: the next line
        await seen(pilot)
        assert page(app)._found > first
        await search("MLX5_3 0000")  # a network card, whatever the case
        found = page(app)._drawing.lines[page(app)._found].plain  # type: ignore[union-attr]
        assert "mlx5_3" in found
        assert "mlx5_3" in shown(app)
        reversed_ = "".join(one.text for one in _pointed(app) if one.style is not None and one.style.reverse)
        assert reversed_ == "mlx5_30000"
        before = page(app)._found
        await search("nothing of this kind")
        assert page(app)._found == before
        assert any("no line has 'nothing of this kind'" in str(one.message) for one in app._notifications)

    on_topology(fixture_host("mi300x-8gpu"), look, size)


def _pointed(app: RocdoctorApp) -> list[Segment]:
    pane = page(app).query_one("#drawing", Drawn)
    return list(pane.render_line(page(app)._found - round(pane.scroll_y)))


def test_a_search_in_boxes_selects_the_box_that_has_the_words() -> None:
    async def look(app: RocdoctorApp, pilot: Pilot[Any]) -> list[int | None]:
        drawing = page(app)._drawing
        assert drawing is not None
        assert drawing.spots
        known = page(app)._diagnosis
        assert known is not None
        found: list[int | None] = []
        for gpu in known.machine.gpus:
            assert page(app)._find(f"{value_or(gpu.bdf, '')[5:]} GPU")
            found.append(page(app)._gpu)
        await seen(pilot)
        return found

    assert on_topology(fixture_host("mi300x-8gpu"), look, (200, 60), tree=False) == [*range(8)]
