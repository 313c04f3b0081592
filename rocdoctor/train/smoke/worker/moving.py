"""What moves, chooses and rounds numbers: each result is exact, and the expected ones are made by Python alone."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .context import Context

Rows = list[list[int]]
# (name, what the library does with the matrix of ROWS, the same with a list of rows)
Move = tuple[str, Callable[[Any], Any], Callable[[Rows], Any]]

HEIGHT, WIDTH = 37, 11
# Whole numbers up to 256 are exact in every type; within a row no two are alike.
ROWS: Rows = [[(row * WIDTH + column) * 7 % 401 - 200 for column in range(WIDTH)] for row in range(HEIGHT)]
_PLACES = [row * 5 % HEIGHT for row in range(HEIGHT)]  # each row once, in another order
_BINS = 5


def check_moves(context: Context) -> None:
    """What moves, chooses, joins and rounds numbers, in each type: exactly as Python does it."""
    torch = context.torch
    for kind in ("float32", "bfloat16", "float16"):
        dtype = getattr(torch, kind)
        matrix = torch.tensor(ROWS, dtype=dtype, device=context.device)
        line = torch.tensor(row(), dtype=dtype, device=context.device)
        context.mark(f"moved numbers in {kind}")
        done = ((name, function(matrix), plainly(ROWS)) for name, function, plainly in moves(torch))
        for name, got, wanted in itertools.chain(done, elementwise(line)):
            context.check("local", f"{name} in {kind}", got, wanted, tolerance=0.0, step=context.marks)
        if kind == "float32":
            continue
        context.mark(f"rounding to {kind}")
        numbers = to_round(kind)
        between = torch.tensor(numbers, dtype=torch.float32, device=context.device)
        written = torch.empty(len(between), dtype=dtype, device=context.device).copy_(between)
        for name, got in (("rounding", between.to(dtype)), ("a copy that rounds", written)):
            wanted = rounded(numbers, kind)
            context.check("local", f"{name} to {kind}", got, wanted, tolerance=0.0, step=context.marks)


def moves(torch: Any) -> Iterator[Move]:
    """Those with rows, columns and places of one matrix."""
    yield "rows of two matrices", lambda x: torch.cat((x, x[:5])), lambda rows: rows + rows[:5]
    yield "columns of two", lambda x: torch.cat((x, x[:, :3]), 1), lambda rows: [row + row[:3] for row in rows]
    yield "a stack of two", lambda x: torch.stack((x, -x)), lambda rows: [rows, _each(rows, lambda one: -one)]
    yield "parts put together", lambda x: torch.cat(x.chunk(3)), lambda rows: rows
    yield "a copy of a transposed matrix", lambda x: x.T.contiguous(), lambda rows: [list(one) for one in zip(*rows)]
    yield "a copy of every second column", lambda x: x[:, 1::2].clone(), lambda rows: [row[1::2] for row in rows]
    yield "columns in reverse", lambda x: x.flip(1), lambda rows: [row[::-1] for row in rows]
    yield "rows moved around", lambda x: x.roll(3, 0), lambda rows: rows[-3:] + rows[:-3]
    yield "each row twice", lambda x: x.repeat_interleave(2, 0), lambda rows: [row for row in rows for _ in range(2)]
    yield "a choice of two", lambda x: torch.where(x > 3, x, -x), lambda rows: _each(rows, _turned)
    yield "a filled mask", lambda x: x.masked_fill(x <= 3, 9), lambda rows: _each(rows, _filled)
    yield "numbers of a mask", lambda x: x[x > 3], lambda rows: [one for row in rows for one in row if one > 3]
    yield "rows by number", lambda x: x[_places(torch, x)], lambda rows: [rows[place] for place in _PLACES]
    yield (
        "rows by number, one by one",
        lambda x: x.index_select(0, _places(torch, x)),
        lambda rows: [rows[place] for place in _PLACES],
    )
    yield "rows put to places", lambda x: _put(torch, x), _placed
    yield "rows copied to places", lambda x: torch.zeros_like(x).index_copy_(0, _places(torch, x), x), _placed
    yield "the largest four", lambda x: x.topk(4).values, lambda rows: [sorted(row)[:-5:-1] for row in rows]
    yield "places of the largest four", lambda x: x.topk(4).indices, lambda rows: [_order(row)[:-5:-1] for row in rows]
    yield "places in order", lambda x: x.argsort(-1), lambda rows: [_order(row) for row in rows]
    yield "the place of the largest", lambda x: x.argmax(-1), lambda rows: [row.index(max(row)) for row in rows]
    yield from _added_up(torch)


def _added_up(torch: Any) -> Iterator[Move]:
    """In place, with several numbers for one place: small ones, whose sums are exact in every type too."""

    def zeros(x: Any) -> Any:
        return torch.zeros(_BINS, WIDTH, dtype=x.dtype, device=x.device)

    def bins(x: Any) -> Any:
        return torch.arange(HEIGHT, device=x.device) % _BINS

    yield "rows added up in place", lambda x: zeros(x).index_add_(0, bins(x), x % 5), _sums
    yield "rows put and added up", lambda x: zeros(x).index_put_((bins(x),), x % 5, accumulate=True), _sums
    yield (
        "numbers scattered and added up",
        lambda x: zeros(x).scatter_add_(0, bins(x)[:, None].expand(HEIGHT, WIDTH).contiguous(), x % 5),
        _sums,
    )


def elementwise(x: Any) -> Iterator[tuple[str, Any, list[int]]]:
    """(name, result, expected) for a row of numbers whose length is no multiple of a block: ``row()`` in any type."""
    numbers = row()
    yield "product of each two", x * x.flip(0), [one * two for one, two in zip(numbers, numbers[::-1])]
    yield "sum of each two", x + x.flip(0), [one + two for one, two in zip(numbers, numbers[::-1])]
    yield (
        "difference with a factor",
        x.sub(x.flip(0), alpha=2),
        [one - 2 * two for one, two in zip(numbers, numbers[::-1])],
    )
    yield "product of every third", x[:-1:3] * x[1::3], [one * two for one, two in zip(numbers[::3], numbers[1::3])]
    yield "product in place", x.clone().mul_(3), [3 * one for one in numbers]


def row() -> list[int]:
    """4,111 whole numbers from -9 to 9; the count is prime, and one more than a multiple of three."""
    return [place * 7 % 19 - 9 for place in range(4111)]


_BITS = {"bfloat16": 7, "float16": 10}


def to_round(kind: str) -> list[float]:
    """Numbers between two of a 16-bit type: just below, at and just above their middle, of both signs."""
    places = 2.0 ** _BITS[kind]
    shares = (0.25, 0.5 - 2.0**-10, 0.5, 0.5 + 2.0**-10, 0.75)
    return [
        (1 + (step + share) / places) * 2.0**exponent * (-1) ** step
        for exponent in (-6, 0, 3, 9)
        for step in range(64)
        for share in shares
    ]


def rounded(numbers: Sequence[float], kind: str) -> list[float]:
    """To the nearest number of the type, to the even one of two (IEEE 754): ``bfloat16`` or ``float16``."""
    if kind == "float16":
        return [struct.unpack("<e", struct.pack("<e", one))[0] for one in numbers]
    bits = [struct.unpack("<I", struct.pack("<f", one))[0] for one in numbers]
    kept = [(one + 0x7FFF + (one >> 16 & 1)) >> 16 << 16 for one in bits]
    return [struct.unpack("<f", struct.pack("<I", one))[0] for one in kept]


def _places(torch: Any, x: Any) -> Any:
    return torch.tensor(_PLACES, device=x.device)


def _put(torch: Any, x: Any) -> Any:
    found = torch.zeros_like(x)
    found[_places(torch, x)] = x
    return found


def _placed(rows: Rows) -> Rows:
    found = list(rows)
    for one, place in zip(rows, _PLACES):
        found[place] = one
    return found


def _sums(rows: Rows) -> Rows:
    return [[sum(one % 5 for one in column) for column in zip(*rows[first::_BINS])] for first in range(_BINS)]


def _each(rows: Rows, change: Callable[[int], int]) -> Rows:
    return [[change(one) for one in row] for row in rows]


def _turned(one: int) -> int:
    return one if one > 3 else -one


def _filled(one: int) -> int:
    return one if one > 3 else 9


def _order(row: Sequence[int]) -> list[int]:
    return sorted(range(len(row)), key=row.__getitem__)
