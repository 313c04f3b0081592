"""In which order GPUs are listed. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from rocdoctor.insight.gpus.gpu_health import telling
from rocdoctor.model.evidence import value_or
from rocdoctor.tui.thermals.drawing import GpuNow

Order = Literal["number", "heat", "power", "use"]
ORDERS: tuple[Order, ...] = get_args(Order)


def ordered(views: Sequence[GpuNow], order: Order) -> list[GpuNow]:
    """By number, or the highest first; of heat the nearest to its limit, then those without one. Unknown is last."""
    return list(views) if order == "number" else sorted(views, key=lambda one: (_rank(one, order), one.gpu.index))


def _rank(one: GpuNow, order: Order) -> tuple[int, float]:
    if order == "heat":
        seen = telling(one.gpu)
        if seen is None:
            return 2, 0.0
        return (1, -seen.input_c) if seen.margin_c is None else (0, seen.margin_c)
    fact = one.gpu.power.now_w if order == "power" else one.gpu.busy_percent
    value = value_or(fact, None)
    return (2, 0.0) if value is None else (0, -float(value))
