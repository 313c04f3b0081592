"""What was seen of one GPU as plots, as many as there is room for. Pure."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from rich.text import Text

from rocdoctor.insight.gpus.traffic import xgmi_rates_kb_s
from rocdoctor.train.smoke.figures.sampler import Reading
from rocdoctor.tui.alarms import limit_of
from rocdoctor.tui.thermals.live_values import held_down
from rocdoctor.tui.thermals.plot import LEAST_COLUMNS, LEAST_LINES, Curve, plot
from rocdoctor.tui.thermals.sparkline import Scale

_MOST_LINES = 12
_BESIDE = 45  # columns that a plot needs beside another
# The font of the Linux console has no braille.
_NO_SIGNS = os.environ.get("TERM") == "linux"
# Changes below these do not fill the height of a history.
SPANS = {"temperature": 10.0, "power": 30.0, "clock": 300.0, "use": 20.0, "PCIe": 100.0, "XGMI": 1.0}


def curves(series: Sequence[Reading], scale: Scale | None = None, own_c: float | None = None) -> list[Curve]:
    """What is known of a GPU over time: the temperature nearest to its limit, power, clock, use, and what
    moves over PCIe and XGMI.

    ``scale`` is that of the temperatures of all GPUs, ``own_c`` the user's limit of them.
    """
    at_s = [one.at_s for one in series]
    held = [bool(one.slowed) and bool({"heat", "outside"} & held_down((), one.slowed).keys()) for one in series]
    limited = any(one.near_c is not None for one in series)

    def curve(name: str, unit: str, value: Callable[[Reading], float | None], limit: float | None = None) -> Curve:
        values = [value(one) for one in series]
        heat = name == "temperature"
        return Curve(f"{name}, {unit}", at_s, values, limit, SPANS[name], held, heat, scale if heat else None)

    limit_c = limit_of(_last(series, "limit_c"), own_c)
    moved = [None if one is None else sum(one) / 1e6 for one in xgmi_rates_kb_s(series)]
    found = (
        curve("temperature", "°C", lambda one: one.near_c if limited else one.temp_c, limit_c),
        curve("power", "W", lambda one: one.power_w, _last(series, "cap_w")),
        curve("clock", "MHz", lambda one: one.clock_mhz),
        curve("use", "%", lambda one: one.busy_percent),
        curve("PCIe", "MB/s", lambda one: None if one.pcie_kb_s is None else one.pcie_kb_s / 1e3),
        Curve("XGMI, GB/s", at_s, moved, None, SPANS["XGMI"], held),
    )
    return [one for one in found if sum(value is not None for value in one.values) > 1]


def _last(series: Sequence[Reading], name: str) -> float | None:
    return next((value for one in reversed(series) if (value := getattr(one, name)) is not None), None)


def plots(
    series: Sequence[Reading], width: int, height: int, scale: Scale | None = None, own_c: float | None = None
) -> list[Text]:
    """Lines of at most ``width`` cells and ``height`` in all: plots beside and below each other; none without room."""
    found = curves(series, scale, own_c)
    if _NO_SIGNS or not found or height < LEAST_LINES or width < LEAST_COLUMNS:
        return []
    across = 2 if width >= 2 * _BESIDE and len(found) > 1 else 1
    down = min(-(-len(found) // across), height // LEAST_LINES)
    tall, wide = min(_MOST_LINES, height // down), width // across - (across - 1) * 2
    lines: list[Text] = []
    for first in range(0, across * down, across):
        drawn = [plot(one, wide, tall) for one in found[first : first + across]]
        for parts in zip(*drawn, strict=True):
            line = Text(no_wrap=True, end="")
            for at, part in enumerate(parts):
                if at:
                    line.append(" " * (at * (wide + 2) - line.cell_len))
                line.append_text(part)
            lines.append(line)
    return lines
