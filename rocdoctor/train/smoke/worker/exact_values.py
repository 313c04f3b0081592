"""Values for exchanges: each depends on its rank and its place, and all sums over ranks are exact."""

from __future__ import annotations

from typing import Any

from .context import Context

_APART = 7919  # how far the values of two ranks are from each other in the row of all
# Whole numbers below this, divided by the number of ranks, and their sums are exact.
_EXACT = {"float32": 1 << 24, "float64": 1 << 30, "bfloat16": 1 << 8, "float16": 1 << 11, "uint8": 1 << 8, "bool": 2}


def values(context: Context, rank: int, size: int, dtype: Any, salt: int = 0) -> Any:
    """What ``rank`` holds: whole numbers, another row of them on each rank. To be read only, it is part of one row."""
    first = _APART * rank + 331 * salt
    need = first + size
    length = 1 << max(17, (need - 1).bit_length())
    row = context.cached(("values", length, dtype), lambda: _row(context, length, dtype))
    return row[first:need]


def _row(context: Context, length: int, dtype: Any) -> Any:
    """Whole numbers by a multiplicative hash of their place: no period below 2^32."""
    torch = context.torch
    places = torch.arange(1, length + 1, dtype=torch.int64).mul_(2654435761).bitwise_and_((1 << 32) - 1)
    below = _EXACT.get(str(dtype).replace("torch.", ""), 1 << 24) // (1 if dtype == torch.bool else context.world)
    return places.bitwise_xor_(places >> 15).remainder_(max(2, below)).to(dtype).to(context.device)


def mean_rounding(context: Context) -> float:
    """NCCL and RCCL multiply each part by 1/n in fp32 and add (hostToDevRedOp in src/enqueue.cc, read 2026-11-24): 1/n
    is rounded, each product and each of n - 1 sums, by at most 2^-24; twice that where a switch adds and cuts off:
    1.9e-6 of 15 ranks."""
    return (context.world + 1) * 2.0**-23
