"""Plots: the axis says what a line stands for, the limit is a line, gaps stay gaps, clocks held down are marked."""

from __future__ import annotations

from dataclasses import replace

from rich.text import Text

from rocdoctor.train.smoke.figures.sampler import Reading
from rocdoctor.tui.style import WRONG
from rocdoctor.tui.thermals.drawing import GpuNow, detail, details
from rocdoctor.tui.thermals.gpu_plots import plots
from rocdoctor.tui.thermals.plot import LEAST_COLUMNS, LEAST_LINES, Curve, plot
from tests.kit import amd_gpu


def _rising(**changes: object) -> Curve:
    times = [2.0 * one for one in range(60)]
    return replace(Curve("temperature, °C", times, [50.0 + one for one in range(60)]), **changes)  # type: ignore[arg-type]


def _dots(lines: list[str]) -> list[int]:
    """By line how many cells are drawn."""
    return [sum("\u2801" <= sign <= "\u28ff" for sign in line) for line in lines]


def test_it_has_the_room_that_it_is_given_and_both_axes() -> None:
    for width in (LEAST_COLUMNS, 60, 118):
        for height in (LEAST_LINES, 9, 12):
            lines = plot(_rising(), width, height)
            assert len(lines) == height and all(line.cell_len <= width for line in lines), (width, height)
            assert lines[1].plain.startswith("109┤") and lines[height - 3].plain.strip().startswith("50┤")
            assert lines[-1].plain.split() == ["2", "min", "ago", "now"]
    assert not plot(_rising(), LEAST_COLUMNS - 1, 12) and not plot(_rising(), 60, LEAST_LINES - 1)
    assert not plot(_rising(values=[None] * 60), 60, 12)


def test_a_rise_is_drawn_from_the_left_below_to_the_right_above() -> None:
    lines = [line.plain for line in plot(_rising(), 60, 12)][1:-2]
    firsts = [min(at for at, sign in enumerate(line) if sign >= "\u2801") for line in lines]
    assert firsts == sorted(firsts, reverse=True) and all(_dots(lines))


def test_the_limit_is_a_line_and_what_reaches_it_is_red() -> None:
    lines = plot(_rising(limit=100.0, alarm=True), 60, 12)
    marked = [number for number, line in enumerate(lines) if "╌" in line.plain]
    assert marked == [2] and "limit 100" in lines[0].plain, "the second of nine lines from 109 to 50"
    red = [number for number, line in enumerate(lines[:-2]) if _red_dots(line)]
    assert red and max(red) < marked[0], "only what is above the line"
    power = plot(_rising(limit=100.0), 60, 12)
    assert not any(_red_dots(line) for line in power), "to draw the power that is allowed is no alarm"
    far = plot(_rising(limit=400.0), 60, 12)
    assert "limit 400 (above this plot)" in far[0].plain and not any("╌" in line.plain for line in far)


def _red_dots(line: Text) -> bool:
    return any(
        str(one.style) == WRONG and "\u2801" <= line.plain[one.start : one.end][:1] <= "\u28ff" for one in line.spans
    )


def test_what_is_not_known_and_when_nobody_looked_stays_blank() -> None:
    holes = [None if 20 <= one < 40 else 50.0 for one in range(60)]
    assert _middle(plot(_rising(values=holes), 60, 8)) == 0
    away = [2.0 * one + (600.0 if one >= 30 else 0.0) for one in range(60)]
    assert _middle(plot(_rising(at_s=away, values=[50.0] * 60), 60, 8), 40) == 0
    assert _middle(plot(_rising(values=[50.0] * 60), 60, 8))


def _middle(lines: list[Text], at: int = 28) -> int:
    texts = [line.plain[at : at + 6] for line in lines[1:-2]]
    return sum(_dots(texts))


def test_times_at_which_clocks_were_held_down_are_marked_on_the_axis() -> None:
    marks = plot(_rising(held=[one >= 45 for one in range(60)]), 60, 8)[-2].plain
    assert "▀" in marks[45:] and "▀" not in marks[:40]
    assert "▀" not in plot(_rising(), 60, 8)[-2].plain


def _series() -> tuple[Reading, ...]:
    readings = [Reading(2.0 * at, None, temp_c=60.0, near_c=80.0 + at, limit_c=100.0) for at in range(20)]
    return tuple(replace(one, power_w=200.0, cap_w=300.0, busy_percent=99.0) for one in readings)


def test_a_gpu_has_as_many_plots_as_there_is_room_for() -> None:
    titles = [line for line in (one.plain for one in plots(_series(), 118, 30)) if "°C" in line or "%" in line]
    assert "temperature, °C  80 to 99, limit 100" in titles[0] and "power, W" in titles[0] and "use, %" in titles[1]
    few = "\n".join(one.plain for one in plots(_series(), 77, LEAST_LINES))
    assert "temperature" in few and "power" not in few
    assert not plots(_series(), 77, LEAST_LINES - 1) and not plots((), 118, 30)


def test_details_have_plots_below_the_values_or_alone_and_a_line_where_there_is_no_room() -> None:
    now = GpuNow(amd_gpu(0), _series())
    whole = detail(now, 118, height=50).plain
    assert "┤" in whole and "slowed by" in whole and "newest on the right" not in whole
    assert len(whole.splitlines()) <= 50
    small = detail(now, 77, height=8).plain
    assert "newest on the right" in small and "┤" not in small
    alone = details([now], 0, 77, 9, plotted=True)
    assert "┤" in str(alone) and "slowed by" not in str(alone) and len(str(alone).splitlines()) <= 9
