"""Whose part explains a wrong sum over ranks: lost, counted otherwise than once, or another one in its place.

Each rank's part is known, so what is wrong with the sum can be compared with it. Only where one rank alone explains it,
everywhere, it is noted: two explanations are none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

_NEAR = 0.02  # of the largest error
# An explanation of fewer wrong values may hold by chance.
_LEAST = 8
# What is left of an error, as a share of it, where a part explains it but for rounding in fp32: 3e-7 was seen of means
# of replicas after one step (torch 2.13.0, 2 and 4 ranks), and 3e-4 or more with the part of another replica.
_EXACTLY, _FARTHER = 2e-6, 10.0


class _Explanation(NamedTuple):
    """How a part explains an error, if words say so; ``left``: what of it is left, as a share of the largest.

    ``whole``: all of the part has to do with it, not only where values are wrong.
    """

    words: str
    left: float
    whole: bool = True


def explained(
    torch: Any,
    error: Sequence[Any],
    parts: Mapping[int, Sequence[Any]],
    others: Mapping[int, Sequence[Sequence[Any]]],
    partly: bool = True,
) -> tuple[int, str] | None:
    """(rank, words) of the one rank whose part explains the error; None where none does, or more than one.

    ``partly``: also one whose part explains only the values that are wrong.

    ``error``: of some tensors, what came less what should have come; ``parts``: of each rank, what it gives to each of
    these; ``others``: of each rank, for each tensor, what else it has given: in another step, or to another tensor.
    """
    wrong = torch.cat([one.flatten().double().cpu() for one in error])
    at = wrong.abs() > 1e-3 * wrong.abs().max()
    if int(at.sum()) < _LEAST:
        return None
    told = {rank: _of_rank(torch, error, parts[rank], others.get(rank, ())) for rank in parts}
    found = {rank: one.words for rank, one in told.items() if one.words}
    if len(found) > 1:  # parts that are much alike, as of replicas: one of them may explain it to the last bit
        exact = [rank for rank in found if told[rank].left <= _EXACTLY]
        clear = all(told[rank].left >= _FARTHER * _EXACTLY for rank in found if rank not in exact)
        found = {rank: found[rank] for rank in exact} if clear else {}
    if len(found) != 1:
        return None
    (rank, words) = next(iter(found.items()))
    return (rank, words) if partly or told[rank].whole else None


def _of_rank(torch: Any, error: Sequence[Any], part: Sequence[Any], others: Sequence[Sequence[Any]]) -> _Explanation:
    """How a rank's part explains all of the error; without words where it does not."""
    wrong, share = (torch.cat([one.flatten().double().cpu() for one in many]) for many in (error, part))
    limit = _NEAR * float(wrong.abs().max())
    at = wrong.abs() > limit
    for where in (slice(None), at):  # the whole of it, or what is wrong alone
        chosen = share[where]
        times = float((wrong[where] * chosen).sum() / (chosen * chosen).sum().clamp(min=1e-30))
        whole = isinstance(where, slice)
        if not whole and abs(times + 1) > _NEAR and abs(times - 1) > _NEAR:
            continue  # of some of the values any factor may fit
        left = float((wrong[where] - times * chosen).abs().max())
        if left <= limit:
            words = "is missing" if abs(times + 1) < _NEAR else f"counts {1 + times:.3g} times"
            return _Explanation(words if whole else f"{words} there", left / float(wrong.abs().max()), whole)
    for one, own, instead in zip(error, part, others):
        missed = one.flatten().double().cpu()
        near = _NEAR * float(missed.abs().max())
        given = [each.flatten().double().cpu() - own.flatten().double().cpu() for each in instead]
        if not any(float((missed - each).abs().max()) <= near for each in given):
            return _Explanation("", 1.0)
    return _Explanation("is one that it gave before, or elsewhere" if len(others) == len(error) > 0 else "", 1.0)


def placed_wrongly(
    torch: Any, faults: Iterable[dict[str, Any]], got: Mapping[str, Any], wanted: Mapping[str, Any], owners: Any
) -> None:
    """Tell of faults in what was gathered that the part of one rank is that of another one, which it never gives: who
    gathers has put it there. ``owners``: of each tensor the rank of each element, in a shape that broadcasts to it."""
    for fault in faults:
        name, origins = fault["name"], fault.get("origins", ())
        if len(origins) != 1 or name not in got or got[name].shape != wanted[name].shape:
            continue
        whose = owners[name].to(wanted[name].device).expand(wanted[name].shape)
        mine = got[name][whose == origins[0]]
        others = (wanted[name][whose == rank] for rank in whose.unique().tolist() if rank != origins[0])
        if torch.equal(mine, wanted[name][whose == origins[0]].to(mine.dtype)):
            continue
        if any(mine.shape == one.shape and torch.equal(mine, one.to(mine.dtype)) for one in others):
            fault["alike"] = True


def note(faults: Iterable[dict[str, Any]], found: tuple[int, str]) -> None:
    """Tell it with these faults."""
    rank, words = found
    for one in faults:
        one["origins"], one["words"] = [rank], f"{one['words']}; rank {rank}'s share {words}"[:400]
