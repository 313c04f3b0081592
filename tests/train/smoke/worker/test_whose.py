"""Whose part explains a wrong sum, and when nobody's does."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
from rocdoctor.train.smoke.worker import whose  # noqa: E402

_WORLD = 4


def _parts(salt: int = 0) -> dict[int, list[Any]]:
    generator = torch.Generator().manual_seed(7 + salt)
    return {rank: [torch.randn(64, generator=generator), torch.randn(3, 5, generator=generator)] for rank in range(4)}


_PARTS, _BEFORE = _parts(), _parts(1)
_NOTHING: dict[int, list[list[Any]]] = {}


def _error(rank: int, times: float) -> list[Any]:
    return [times * one for one in _PARTS[rank]]


@pytest.mark.parametrize("rank", range(_WORLD))
@pytest.mark.parametrize(
    ("times", "words"), [(-1.0, "is missing"), (1.0, "counts 2 times"), (-0.5, "counts 0.5 times")]
)
def test_a_part_that_is_lost_or_counts_otherwise_tells_its_rank(rank: int, times: float, words: str) -> None:
    assert whose.explained(torch, _error(rank, times), _PARTS, _NOTHING) == (rank, words)


def test_a_part_that_is_lost_in_some_places_tells_its_rank() -> None:
    error = [torch.zeros_like(one) for one in _PARTS[2]]
    error[0][16:32] = -_PARTS[2][0][16:32]
    assert whose.explained(torch, error, _PARTS, _NOTHING) == (2, "is missing there")
    assert whose.explained(torch, error, _PARTS, _NOTHING, partly=False) is None


def test_a_part_of_before_in_its_place_tells_its_rank() -> None:
    error = [old - new for old, new in zip(_BEFORE[1], _PARTS[1], strict=True)]
    others = {rank: [[one] for one in many] for rank, many in _BEFORE.items()}
    assert whose.explained(torch, error, _PARTS, others) == (1, "is one that it gave before, or elsewhere")
    assert whose.explained(torch, error, _PARTS, _NOTHING) is None  # nobody knows what that was
    half = [error[0], torch.randn(3, 5)]
    assert whose.explained(torch, half, _PARTS, others) is None  # of one tensor alone


def _some(values: int) -> list[Any]:
    error = [torch.zeros_like(one) for one in _PARTS[0]]
    error[0][:values] = -_PARTS[0][0][:values]
    return error


@pytest.mark.parametrize(
    "error",
    [
        [torch.randn(64), torch.randn(3, 5)],  # no rank's
        [one + two for one, two in zip(_PARTS[0], _PARTS[1], strict=True)],  # two ranks'
        [torch.full((64,), float("nan")), torch.zeros(3, 5)],
        [torch.full((64,), float("inf")), torch.zeros(3, 5)],
        [0.3 * _PARTS[0][0] * (torch.arange(64) < 20), torch.zeros(3, 5)],  # of some values any factor may fit
        _some(7),  # by chance
    ],
)
def test_what_no_single_part_explains_is_nobodys(error: list[Any]) -> None:
    assert whose.explained(torch, error, _PARTS, _NOTHING) is None


def test_eight_values_are_no_chance() -> None:
    assert whose.explained(torch, _some(8), _PARTS, _NOTHING) == (0, "is missing there")


def test_two_explanations_are_none() -> None:
    same = {**_PARTS, 3: _PARTS[0]}
    assert whose.explained(torch, _error(0, -1.0), same, _NOTHING) is None


def test_a_part_that_is_as_it_should_be_was_put_nowhere_else() -> None:
    fault: dict[str, Any] = {"name": "w", "origins": [3]}
    ones, owners = {"w": torch.ones(8, 4)}, {"w": (torch.arange(8) // 2).view(8, 1)}
    whose.placed_wrongly(torch, [fault], ones, ones, owners)
    assert "alike" not in fault


def _gathered(instead: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    wanted = torch.arange(32.0).view(8, 4)
    got = wanted.clone()
    got[6:] = instead
    return {"w": got}, {"w": wanted}, {"w": (torch.arange(8) // 2).view(8, 1)}


@pytest.mark.parametrize(
    ("instead", "origins", "told"),
    [
        (torch.arange(32.0).view(8, 4)[2:4], [3], True),  # rank 1's part in the place of rank 3's
        (torch.zeros(2, 4), [3], False),
        (torch.arange(32.0).view(8, 4)[3:5], [3], False),  # no part of one rank
        (torch.arange(32.0).view(8, 4)[2:4], [3, 2], False),
        (torch.arange(32.0).view(8, 4)[2:4], [], False),
    ],
)
def test_a_part_of_another_rank_was_put_there_by_who_gathers(instead: Any, origins: list[int], told: bool) -> None:
    fault: dict[str, Any] = {"name": "w", "origins": origins}
    whose.placed_wrongly(torch, [fault], *_gathered(instead))
    assert ("alike" in fault) is told


def _replicas() -> dict[int, list[Any]]:
    """Parts that differ by no more than replicas do after one step."""
    return {rank: [_PARTS[0][0] + 1e-3 * one[0]] for rank, one in _PARTS.items()}


def test_of_parts_that_are_much_alike_one_that_fits_to_the_last_bit_is_meant() -> None:
    parts = _replicas()
    error = [(-0.5 * parts[2][0]).float()]
    assert whose.explained(torch, error, parts, _NOTHING) == (2, "counts 0.5 times")
    rounded = [error[0] * (1 + 1e-4 * torch.randn(64))]
    assert whose.explained(torch, rounded, parts, _NOTHING) is None
    same = {**parts, 3: parts[2]}
    assert whose.explained(torch, error, same, _NOTHING) is None
