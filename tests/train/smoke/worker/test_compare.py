"""Where a difference stands in the flow of data, and what it says about its cause."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
from rocdoctor.train.smoke.worker.compare import ModeComparisons, agreed, order_of  # noqa: E402


def _stages(found: ModeComparisons) -> list[tuple[str, int]]:
    return [(fault["stage"], fault["turn"]) for fault in found.faults]


def test_a_result_of_an_early_layer_comes_before_the_own_part_of_a_later_one() -> None:
    found = ModeComparisons(torch)
    for stage, turn in (("grad", None), ("local", 5), ("value", 2), ("loss", None), ("before", None)):
        found.check(stage, "x", torch.ones(2), torch.zeros(2), turn=turn)
    assert [stage for stage, _ in _stages(found)] == ["before", "value", "local", "loss", "grad"]


def test_an_earlier_step_comes_first_whatever_its_turn() -> None:
    found = ModeComparisons(torch)
    found.check("input", "x", torch.ones(2), torch.zeros(2), step=1)
    found.check("param", "x", torch.ones(2), torch.zeros(2), step=0)
    assert [fault["step"] for fault in sorted(found.faults, key=order_of)] == [0, 1]


@pytest.mark.parametrize(
    ("got", "layer"),
    [
        (torch.tensor([2.0, 4.0, 6.0]), "framework"),  # twice the tensor
        (torch.tensor([7.0, 8.0, 9.0]), "framework"),  # another tensor that is known
        (torch.tensor([1.0, 2.0, 3.5]), None),
        (torch.tensor([0.0, 0.0, 0.0]), None),
    ],
)
def test_another_tensor_in_its_place_is_no_wrong_arithmetic(got: Any, layer: str | None) -> None:
    found = ModeComparisons(torch)
    hints = {"that of micro-batch 1": torch.tensor([7.0, 8.0, 9.0])}
    found.check("local", "x", got, torch.tensor([1.0, 2.0, 3.0]), hints=hints)
    assert found.faults[0].get("layer") == layer


def test_only_a_majority_tells_who_is_wrong() -> None:
    one, two, nan = (torch.tensor([value]) for value in (1.0, 2.0, float("nan")))
    assert agreed(torch, [one, two]) is None
    assert agreed(torch, [one, one, two, two]) is None
    assert agreed(torch, [nan, nan]) is None
    for many in ([one, two, two], [two, one, two]):
        found = agreed(torch, many)
        assert found is not None and torch.equal(found, two)
