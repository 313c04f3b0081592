"""The machine as boxes: everything is in it once, what is at fault stands first, nothing is wider than the room."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from textual.pilot import Pilot

from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import Verdict
from rocdoctor.tui.app import RocdoctorApp
from rocdoctor.tui.style import WRONG
from rocdoctor.tui.topology.boxes import boxes
from tests.golden.replay import judged_fixture
from tests.kit import amd_gpu, machine
from tests.tui.kit import WIDE, fixture_host, shown
from tests.tui.topology.topology_kit import WIDTHS, big
from tests.tui.topology.topology_screen_kit import on_topology, page

_FIXTURES = ("faulty/mi300x-8gpu-tired", "mi250-4module", "strix-halo", "rx7900xtx-2gpu", "egpu-thunderbolt")


def _machines() -> Iterator[tuple[str, Machine, tuple[Verdict, ...]]]:
    for name in _FIXTURES:
        judged = judged_fixture(name)
        yield name, judged.machine, tuple(judged.verdicts)
    yield "32 GPUs", big(), ()
    yield "nothing but a GPU", machine(amd_gpu(0)), ()


def test_every_device_is_there_once_and_no_line_is_too_long() -> None:
    for name, one, verdicts in _machines():
        for width in WIDTHS:
            drawn = boxes(one, verdicts, width)
            text = "\n".join(line.plain for line in drawn.lines)
            assert all(line.cell_len <= width for line in drawn.lines), (name, width)
            for gpu in one.gpus:
                assert text.count(f"gpu {gpu.index} ") == 1, (name, width, gpu.index)
                x, y, wide, tall = drawn.spots[gpu.index]
                assert f"gpu {gpu.index} " in drawn.lines[y].plain[x : x + wide], (name, width)
                assert drawn.lines[y + tall - 1].plain[x] in "└┗", (name, width)
            assert [*drawn.spots] and all(text.count(f"nic {nic.name}") for nic in one.network), (name, width)


def test_what_is_at_fault_is_red_and_first_in_all_that_hold_it() -> None:
    judged = judged_fixture("faulty/mi300x-8gpu-tired")
    drawn = boxes(judged.machine, judged.verdicts, 116, selected=1)
    assert next(iter(drawn.spots)) == 3, "GPU 3 reports uncorrectable errors"
    _, y, *_ = drawn.spots[3]
    assert WRONG in {str(span.style) for span in drawn.lines[y].spans}
    text = "\n".join(line.plain for line in drawn.lines)
    assert "ras-uncorrectable" in text and "32 GT/s x4" in text and "could be 32 GT/s x16" in text
    assert "┏━gpu 1 " in text and text.count("┏") == 1


def test_v_shows_the_tree_or_boxes_and_arrows_and_clicks_select_in_both() -> None:
    async def drive(app: RocdoctorApp, pilot: Pilot[Any]) -> None:
        assert "┏━gpu 3 " in shown(app), "there is room for all boxes, and the GPU at fault is selected"
        await pilot.press("down")
        await pilot.pause()
        assert page(app)._gpu == 0 and "┏━gpu 0 " in shown(app)
        rows = shown(app).splitlines()
        at = next(number for number, line in enumerate(rows) if "gpu 6 " in line)
        await pilot.click(offset=(rows[at].index("gpu 6 "), at))
        await pilot.pause()
        assert page(app)._gpu == 6 and "gpu 6 0000:ca:00.0" in shown(app)
        await pilot.press("v")
        await pilot.pause()
        assert "▸" in shown(app) and "root port" in shown(app) and "┏" not in shown(app)

    on_topology(fixture_host("faulty/mi300x-8gpu-tired"), drive, WIDE, tree=False)
