"""What moves, chooses and rounds numbers: Python's answers are right by hand, and a wrong kernel shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rocdoctor.train.smoke.worker import moving

torch = pytest.importorskip("torch")


def _wrong(kind: str = "float32") -> list[str]:
    """The names of what does not come out as Python says."""
    dtype = getattr(torch, kind)
    matrix, line = torch.tensor(moving.ROWS, dtype=dtype), torch.tensor(moving.row(), dtype=dtype)
    found = [(name, function(matrix), plain(moving.ROWS)) for name, function, plain in moving.moves(torch)]
    found += list(moving.elementwise(line))
    return [name for name, got, wanted in found if got.tolist() != wanted]


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "float16"])
def test_a_sound_library_does_as_python_does(kind: str) -> None:
    assert _wrong(kind) == []


@pytest.mark.parametrize(
    ("place", "change", "names"),
    [
        ("cat", lambda made, *_: made[:-1], ["rows of two matrices", "columns of two", "parts put together"]),
        ("where", lambda made, *_: -made, ["a choice of two"]),
        ("Tensor.contiguous", lambda made, *_: made.flip(0), ["a copy of a transposed matrix"]),
        ("Tensor.clone", lambda made, _, x: made if x.is_contiguous() else made * 0, ["a copy of every second column"]),
        ("Tensor.index_add_", lambda made, *_: made.clamp_(max=4), ["rows added up in place"]),
        ("Tensor.index_put_", lambda made, *_: made.clamp_(max=4), ["rows put and added up"]),
        ("Tensor.scatter_add_", lambda made, *_: made.clamp_(max=4), ["numbers scattered and added up"]),
        ("Tensor.argsort", lambda made, *_: made.flip(-1), ["places in order"]),
        ("Tensor.sub", lambda made, *_: made + 1, ["difference with a factor"]),
    ],
)
def test_a_wrong_kernel_shows(
    place: str, change: Callable[..., Any], names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    owner: Any = torch.Tensor if "." in place else torch
    name = place.rpartition(".")[2]
    original = getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *args, **more: change(original(*args, **more), original, *args[:1]))
    found = _wrong()
    assert set(names) <= set(found) and len(found) <= 4, found


def test_the_last_number_of_a_row_of_odd_length_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    product = torch.Tensor.__mul__

    def short(one: Any, two: Any) -> Any:
        found = product(one, two)
        if found.dim() == 1:
            found[-1] += 1
        return found

    monkeypatch.setattr(torch.Tensor, "__mul__", short)
    assert _wrong() == ["product of each two", "product of every third"]


def test_rounding_goes_to_the_nearest_and_to_the_even_one_of_two() -> None:
    half, quarter = 2.0**-8, 2.0**-9  # bfloat16 has steps of 2^-7 from 1 on, float16 those of 2^-10
    given = [1 + half, 1 + 3 * half, 1 + quarter, 1 + 3 * quarter, -1 - 3 * half, 0.0]
    assert moving.rounded(given, "bfloat16") == [1.0, 1 + 4 * half, 1.0, 1 + 2 * half, -1 - 4 * half, 0.0]
    assert moving.rounded([1 + 2.0**-11, 1 + 3 * 2.0**-11], "float16") == [1.0, 1 + 2.0**-9]


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_torch_rounds_as_python_does_and_ties_go_both_ways(kind: str) -> None:
    numbers = moving.to_round(kind)
    right = moving.rounded(numbers, kind)
    assert torch.tensor(numbers).to(getattr(torch, kind)).tolist() == right
    middle = range(2, len(numbers), 5)  # the third of each five is halfway between two
    up = sum(abs(right[place]) > abs(numbers[place]) for place in middle)
    assert up == len(middle) / 2, "one half of them goes up, and a library that always does is caught"
