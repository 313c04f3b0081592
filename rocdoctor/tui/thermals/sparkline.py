"""A history in one line. Pure."""

from __future__ import annotations

from collections.abc import Sequence

_STEPS = "▁▂▃▄▅▆▇█"
_FULL, _EMPTY = "█", "░"


def sparkline(values: Sequence[float | None], width: int, span: float = 0.0) -> str:
    """The last values, the newest at the right; None (nothing known at that time) is a blank.

    ``span``: the least distance between the lowest and the highest step, so that noise does not look like a mountain.
    """
    shown = list(values)[-width:] if width > 0 else []
    known = [value for value in shown if value is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    if high - low < span:
        low = max(0.0, (low + high - span) / 2) if low >= 0 else (low + high - span) / 2
        high = low + span
    return "".join(" " if value is None else _STEPS[_step(value, low, high)] for value in shown)


def _step(value: float, low: float, high: float) -> int:
    if high <= low:
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
