"""A history in one line. Pure."""

from __future__ import annotations

from collections.abc import Sequence

_STEPS = "▁▂▃▄▅▆▇█"
Scale = tuple[float, float]
"""What the lowest and the highest step stand for."""
_FULL, _EMPTY = "█", "░"


def sparkline(values: Sequence[float | None], width: int, span: float = 0.0, scale: Scale | None = None) -> str:
    """The last values, the newest at the right; None (nothing known at that time) is a blank.

    ``scale`` is that of several lines, which are compared; without it a line has its own, with ``span`` as of
    ``scale_of``.
    """
    shown = list(values)[-width:] if width > 0 else []
    scale = scale_of([shown], span) if scale is None else scale
    if scale is None or all(value is None for value in shown):
        return ""
    low, high = scale
    return "".join(" " if value is None else _STEPS[_step(value, low, high)] for value in shown)


def scale_of(lines: Sequence[Sequence[float | None]], span: float = 0.0) -> Scale | None:
    """The scale that lines have in common; None where nothing is known.

    ``span``: the least distance between the lowest and the highest step, so that noise does not look like a mountain.
    """
    known = [value for line in lines for value in line if value is not None]
    if not known:
        return None
    low, high = min(known), max(known)
    if high - low < span:
        low = max(0.0, (low + high - span) / 2) if low >= 0 else (low + high - span) / 2
        high = low + span
    return low, high


def _step(value: float, low: float, high: float) -> int:
    if high <= low or value < low:
        return 0
    return min(len(_STEPS) - 1, int((value - low) / (high - low) * len(_STEPS)))


def bar(share: float | None, width: int) -> str:
    """How much of a limit is used; blanks where that is not known."""
    if width <= 0:
        return ""
    if share is None:
        return " " * width
    full = round(max(0.0, min(1.0, share)) * width)
    return _FULL * full + _EMPTY * (width - full)
