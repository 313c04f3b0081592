"""What the modes of one run tell of each other. Pure.

Where every rank ends up with wrong gradients, a rank may have computed its part wrongly, the library may have added
them up wrongly, or the framework above it did not ask for that. Modes that test one of these by itself, on the same
ranks, tell which: ``compute`` each operation of one rank alone, others nothing but exchanges, with exact values of many
types and sizes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from rocdoctor.parsers.own.smoke_results import Layer, ModeResult

# Modes in which a rank computes by itself.
_ALONE = ("compute", "memory", "optimizers")
# Modes that are exchanges and nothing else; training is made of the first four.
_NEEDED = ("all-reduce", "one-to-all", "all-gather", "reduce-scatter")
_EXCHANGES = (*_NEEDED, "all-to-all", "point-to-point", "subgroups", "objects", "large-messages")


def weighed(results: Sequence[ModeResult], alike: Mapping[str, str]) -> list[ModeResult]:
    """The results; a mode that went wrong alike on every rank is laid to what was wrong by itself, or was not.

    ``alike``: modes in which all ranks have the same first fault, and its stage. Where a mode has found right what each
    rank computed before the exchange, no rank's arithmetic explains what the exchange brings.
    """
    states = {one.mode: one.state for one in results}
    wrong_alone = [one for one in results if one.mode in _ALONE and one.state == "fail" and one.layer == "device"]
    guilty = {rank for one in wrong_alone for rank in one.named}
    if wrong_alone:
        who = "rank " + ", ".join(map(str, sorted(guilty)))
        return [
            _laid_to(one, "device", guilty, f"{who} computes wrongly by itself (mode {wrong_alone[0].mode}); ")
            if (_may_be_laid(one, alike) and len(guilty) < len(one.ranks) and not _own_part_right(one, alike))
            or (one.mode in _ALONE and one.layer == "framework" and guilty == {*one.named})  # all its ways wrong alike
            else one
            for one in results
        ]
    right = all(states.get(name) == "pass" for name in _NEEDED)
    if not right or any(states.get(name) in ("fail", "crashed") for name in _EXCHANGES):
        return list(results)
    told = "the exchanges by themselves were right on these ranks; "
    return [
        _laid_to(one, "framework", one.named, told) if _may_be_laid(one, alike) and one.mode not in _EXCHANGES else one
        for one in results
    ]


def _may_be_laid(one: ModeResult, alike: Mapping[str, str]) -> bool:
    """Whether every rank got the same wrong result, which an exchange brought."""
    return bool(alike.get(one.mode)) and one.layer == "collectives" and len(one.named) in (0, len(one.ranks))


def _own_part_right(one: ModeResult, alike: Mapping[str, str]) -> bool:
    """Whether each rank's own part was compared, before what is wrong first."""
    return "local" in one.max_error and alike[one.mode] != "param"


def _laid_to(one: ModeResult, layer: Layer, named: Collection[int], words: str) -> ModeResult:
    ranks = tuple(replace(rank, named=rank.rank in named) for rank in one.ranks)
    return replace(one, layer=layer, ranks=ranks, message=(words + one.message)[:600])
