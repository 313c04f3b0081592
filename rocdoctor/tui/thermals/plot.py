"""Values over time as a plot: an axis each way, a line for the limit, marks of when clocks were held down. Pure.

Drawn here, since a plot library would be one more dependency, and the limit and the marks would be ours all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.text import Text

from rocdoctor.tui.style import NOTE, RISK, UNKNOWN, WRONG

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # of a braille sign: from above, left and right
_BRAILLE = 0x2800
_TICKS = 4  # lines between two figures of the axis
LEAST_LINES, LEAST_COLUMNS = 6, 30
# What the width stands for: few steps, so that a plot does not change as a whole at each look (slow lines).
_WIDTHS_S = (60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0)
_GAP_S = 30.0  # nobody looked for so long: what was between is not known


@dataclass(frozen=True, slots=True)
class Curve:
    """``values`` at the times ``at_s``, oldest first, None where it is not known; ``limit`` of these values.

    ``span``: so much lies between the lowest and the highest line at least. ``held``: whether clocks were held down.
    ``alarm``: to reach the limit is a fault, as of heat; a GPU that draws the power it may is at work. ``common``: what
    the plots of several GPUs show at least, so that they can be compared.
    """

    name: str
    at_s: Sequence[float]
    values: Sequence[float | None]
    limit: float | None = None
    span: float = 10.0
    held: Sequence[bool] = ()
    alarm: bool = False
    common: tuple[float, float] | None = None


def plot(curve: Curve, width: int, height: int) -> list[Text]:
    """``height`` lines of at most ``width`` cells; none where there is no room, or nothing to draw."""
    known = [one for one in curve.values if one is not None]
    if width < LEAST_COLUMNS or height < LEAST_LINES or len(known) < 2:
        return []
    low, high = _range(curve, known)
    rows = height - 3  # the name, the axis of time and its figures
    labels = _labels(low, high, rows)
    head = max(len(one) for one in labels.values())
    columns = width - head - 1
    seen = curve.at_s[-1] - curve.at_s[0]
    seconds = next((one for one in _WIDTHS_S if seen <= one), seen)
    dots = _drawn(curve, (low, high), (columns, rows), seconds)
    limit = _row(curve.limit, low, high, rows) if curve.limit is not None else None
    lines = [_title(curve, low)]
    for at in range(rows):
        line = Text(f"{labels.get(at, ''):>{head}}", no_wrap=True, end="")
        line.append("┤" if at in labels else "│", style=UNKNOWN)
        style = NOTE
        if curve.alarm and limit is not None and at <= limit:
            style = RISK if at == limit else WRONG
        blank = "╌" if at == limit else " "
        empty = (WRONG if curve.alarm else "") if at == limit else ""
        for drawn, signs in groupby(dots[at], bool):
            if drawn:
                line.append("".join(chr(_BRAILLE + one) for one in signs), style=style)
            else:
                line.append(blank * len(list(signs)), style=empty)
        line.rstrip()
        lines.append(line)
    return [*lines, _axis(curve, head, columns, seconds), _times(head, columns, seconds)]


def _range(curve: Curve, known: Sequence[float]) -> tuple[float, float]:
    """What lowest and highest line stand for: all that was seen, and the limit where that is not far above it."""
    limit, span = curve.limit, curve.span
    low, high = min((*known, *(curve.common or ()))), max((*known, *(curve.common or ())))
    if limit is not None and limit - low <= 3 * max(span, high - low):
        high = max(high, limit)
    if high - low < span:
        middle = (high + low) / 2
        low, high = middle - span / 2, middle + span / 2
        if low < 0 <= min(known):
            low, high = 0.0, span
    return low, high


def _row(value: float, low: float, high: float, rows: int) -> int | None:
    """The line that a value stands in, counted from above; None above the highest."""
    if value > high:
        return None
    return min(rows - 1, int((high - value) / (high - low) * rows))


def _labels(low: float, high: float, rows: int) -> dict[int, str]:
    """Figures by line: of the middle of a line, but the ends of the first and the last."""
    at = [*range(0, rows - 1, _TICKS), rows - 1]
    if len(at) > 2 and at[-1] - at[-2] < 2:
        del at[-2]
    values = {0: high, rows - 1: low}
    return {one: f"{values.get(one, high - (one + 0.5) * (high - low) / rows):.0f}" for one in at}


def _title(curve: Curve, low: float) -> Text:
    text = Text(curve.name, style="bold", no_wrap=True, end="")
    known = [one for one in curve.values if one is not None]
    text.append(f"  {min(known):.0f} to {max(known):.0f}", style="not bold")
    if curve.limit is not None:
        text.append(f", limit {curve.limit:.0f}", style="not bold")
        if _range(curve, known)[1] < curve.limit:
            text.append(" (above this plot)", style="not bold")
    return text


def _drawn(curve: Curve, ends: tuple[float, float], size: tuple[int, int], seconds: float) -> list[list[int]]:
    """The dots of each cell: in each column from the lowest to the highest value of its time, joined to the last."""
    columns, rows = size
    low, high = ends
    newest, wide, tall = curve.at_s[-1], columns * 2, rows * 4
    reach: dict[int, tuple[int, int]] = {}
    before: tuple[int, int] | None = None
    last_s = curve.at_s[0]
    for at_s, value in zip(curve.at_s, curve.values, strict=True):
        if value is None or at_s - last_s > _GAP_S:
            before = None
        last_s = at_s
        if value is None:
            continue
        x = max(0, wide - 1 - _steps(newest, at_s, seconds, wide))
        y = min(tall - 1, max(0, int((high - value) / (high - low) * tall)))
        if before is not None:
            x0, y0 = before
            last = y0
            for step in range(x0 + 1, x + 1):  # a straight line from one look to the next
                there = y0 + round((y - y0) * (step - x0) / (x - x0))
                _widen(reach, step, min(last, there), max(last, there))
                last = there
            if x == x0:
                _widen(reach, x, min(y0, y), max(y0, y))
        _widen(reach, x, y, y)
        before = (x, y)
    cells = [[0] * columns for _ in range(rows)]
    for x, (top, bottom) in reach.items():
        for y in range(top, bottom + 1):
            cells[y // 4][x // 2] |= _DOTS[y % 4][x % 2]
    return cells


def _steps(newest: float, at_s: float, seconds: float, count: int) -> int:
    """How many of ``count`` columns a time is before the newest one, on a grid that stays where it is."""
    each = seconds / count
    return int(newest // each) - int(at_s // each)


def _widen(reach: dict[int, tuple[int, int]], x: int, top: int, bottom: int) -> None:
    had = reach.get(x, (top, bottom))
    reach[x] = (min(had[0], top), max(had[1], bottom))


def _axis(curve: Curve, head: int, columns: int, seconds: float) -> Text:
    """The axis of time; where clocks were held down it is thick and red."""
    held = {
        max(0, columns - 1 - _steps(curve.at_s[-1], at_s, seconds, columns))
        for at_s, one in zip(curve.at_s, curve.held, strict=False)
        if one
    }
    line = Text(" " * head, no_wrap=True, end="").append("└", style=UNKNOWN)
    for marked, places in groupby(range(columns), held.__contains__):
        line.append(("▀" if marked else "─") * len(list(places)), style=WRONG if marked else UNKNOWN)
    return line


def _times(head: int, columns: int, seconds: float) -> Text:
    """When the ends of the axis were."""
    ago = f"{seconds / 60:.0f} min ago" if seconds > _WIDTHS_S[0] else f"{seconds:.0f} s ago"
    return Text(f"{' ' * head} {ago:<{columns - 3}}now", style=UNKNOWN, no_wrap=True, end="")
