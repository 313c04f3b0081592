"""Values for exchanges: each depends on its rank and its place, and all sums over ranks are exact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import whose
from .context import Context
from .tolerance import EXACT, Proof, Tolerance

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


# hostToDevRedOp in src/enqueue.cc, read 2026-11-24.
_MEAN = Tolerance(
    2.0**-23,
    "means (AVG)",
    "NCCL and RCCL multiply each of n parts by 1/n in fp32 and add: 1/n, each product and each of n - 1 sums are "
    "rounded by at most 2^-24, or twice that if a switch adds and truncates",
    unit="of the largest expected value, times the number of ranks plus one",
)
_ELEMENTS = (
    "whole numbers. Each encodes its rank and position and occurs once, so a lost, doubled or moved element shows. "
    "Every sum of them is exact in the type that is used"
)
MOVED = Proof("every element that each rank gets from the exchange", _ELEMENTS, (EXACT,))
SUMMED = MOVED.but(_MEAN)


def mean_rounding(context: Context) -> float:
    """How far a mean over all ranks may be off, as a share of the largest."""
    return (context.world + 1) * _MEAN


def all_values(context: Context, size: int, dtype: Any, salt: int = 0) -> list[Any]:
    """``values`` of every rank."""
    return [values(context, rank, size, dtype, salt) for rank in range(context.world)]


def exact_sum(context: Context, parts: list[Any]) -> Any:
    """Exact in the type itself: whole numbers."""
    total = parts[0].clone()
    for one in parts[1:]:
        total += one
    return total


def check_exact(
    context: Context,
    name: str,
    got: Any,
    wanted: Any,
    tolerance: float = 0.0,
    parts: Sequence[Any] = (),
) -> None:
    """Compare what came with what should have come; ``parts``: those of all ranks, of a sum that all of them get."""
    # The number of announced steps is the same on every rank, so the first collective that went wrong decides.
    if context.check("value", name, got, wanted, tolerance=tolerance, step=context.marks) or not parts:
        return
    error = [got.double() - wanted.double()]
    faults = [one for one in context.comparison.faults if (one["name"], one["step"]) == (name, context.marks)]
    for one in faults:
        one["total"] = True
    if found := whose.explained(context.torch, error, {rank: [one] for rank, one in enumerate(parts)}, {}):
        whose.note(faults, found)


def check_reduced(context: Context, name: str, got: Any, parts: Sequence[Any], step: int) -> None:
    """A sum that this rank alone gets, each other rank in its turn. Where this rank's own part explains all that is
    wrong with it, no other rank has to do with that."""
    wanted, rank = exact_sum(context, [*parts]), context.rank
    if context.check("value", name, got, wanted, tolerance=0.0, step=step, reduced=True):
        return
    error = [got.double() - wanted.double()]
    found = whose.explained(context.torch, error, {each: [one] for each, one in enumerate(parts)}, {}, partly=False)
    if found and found[0] == rank:
        whose.note((one for one in context.comparison.faults if one["name"] == name), found)


def came_from(
    context: Context,
    name: str,
    got: Any,
    wanted: Any,
    sender: int,
    kept: Any = None,
    step: int | None = None,
    parts: Sequence[Any] = (),
    among: int = 0,
) -> None:
    """The same of what one rank alone sent, which may be at fault as well.

    ``kept``: what the buffer held before, given only for what one rank sends to several (``among``, by default all).
    Where each wrong element still has that value, this rank received nothing, and the sender is not suspected. With
    three ranks or more, what is wrong at one rank alone was sent correctly. ``step``: given where several exchanges
    count as one step: which of them are wrong tells more than which was first. ``parts``: what all ranks gave to the
    same exchange: who gathers has put one of them in another's place.
    """
    missed = kept is not None and bool(((got == wanted) | (got == kept)).all())
    owners = None if missed else context.torch.tensor(sender)
    place = context.marks if step is None else step
    right = context.check("value", name, got, wanted, tolerance=0.0, step=place, owners=owners)
    to_several = kept is not None and (among or context.world) > 2
    others = (one for rank, one in enumerate(parts) if rank != sender)
    if not right and (to_several or any(context.torch.equal(got, one) for one in others)):
        for fault in context.comparison.faults:
            if (fault["name"], fault["step"]) == (name, place):
                fault["alike"] = True


def announce(context: Context, call: str, words: str, size: int) -> str:
    """Mark an exchange of so many elements of a type; gives its name."""
    # The words are those of the board, so that a rank in another collective than announced is told apart.
    context.mark(f"{call} {words}[{size}]")
    return f"{call} of {size} {words}"


# What back ends say of a kind of sum, a type or a layout that they do not have.
_REFUSALS = ("cannot use reduceop", "unsupported", "not support", "must be contiguous", "not implemented")


def refused(context: Context, what: str, call: Callable[[], Any]) -> bool:
    """Whether the back end says that it does not do this, which it says on all ranks, before anything is sent."""
    try:
        call()
    except (RuntimeError, ValueError, NotImplementedError) as error:
        if not any(word in str(error).lower() for word in _REFUSALS):
            raise
        context.facts.setdefault("not_implemented", []).append(what)
        return True
    return False
