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


def test_a_kernel_may_give_twice_the_tensor() -> None:
    found = ModeComparisons(torch)
    found.of_kernels = True
    found.check("local", "x", torch.tensor([2.0, 4.0]), torch.tensor([1.0, 2.0]))
    assert found.faults[0].get("layer") is None
    assert "it is 2 times the expected tensor" in found.faults[0]["words"]


def test_tensors_that_changed_places_are_the_frameworks_unless_an_exchange_gave_them() -> None:
    one, two, other = torch.tensor([1.0, 2.0]), torch.tensor([5.0, 3.0]), torch.tensor([9.0, 9.0, 9.0])
    found = ModeComparisons(torch)
    found.check_all("grad", {"a": two, "b": one, "c": other}, {"a": one, "b": two, "c": other})
    assert [(fault["name"], fault["layer"]) for fault in found.faults] == [("a", "framework"), ("b", "framework")]
    assert "it equals what belongs to b" in found.faults[0]["words"]
    found = ModeComparisons(torch)
    found.check_all("value", {"a": two, "b": two}, {"a": one, "b": two})
    assert "layer" not in found.faults[0]


def test_a_hint_that_has_to_be_computed_is_asked_for_where_something_differs() -> None:
    asked: list[int] = []

    def others() -> dict[str, Any]:
        asked.append(1)
        return {"a": torch.tensor([5.0, 3.0])}

    found, wanted = ModeComparisons(torch), {"a": torch.tensor([1.0, 2.0])}
    found.check_all("local", wanted, wanted, hints={"what rank 1 has": others})
    assert not asked
    found.check_all("local", {"a": torch.tensor([5.0, 3.0])}, wanted, hints={"what rank 1 has": others})
    assert "it equals what rank 1 has" in found.faults[0]["words"]
    assert found.faults[0]["layer"] == "framework"


def test_of_numbers_that_are_not_finite_the_one_that_differs_is_shown() -> None:
    nan = float("nan")
    found = ModeComparisons(torch)
    found.check("local", "x", torch.tensor([nan, 1.0, nan]), torch.tensor([nan, 1.0, 2.0]))
    assert "expected 2 at [2], got nan; 1 of 3 values differ" in found.faults[0]["words"]


@pytest.mark.parametrize(
    ("times", "words"),
    [
        (3.0, "it is 3 times the expected tensor"),
        (0.5, "it is 1/2 of the expected tensor"),
        (2 / 3, "all values are 0.667 times what is expected"),  # a mean over one rank too many, of two
        (-0.9, "all values are -0.9 times what is expected"),
    ],
)
def test_one_factor_for_all_values_is_told(times: float, words: str) -> None:
    found = ModeComparisons(torch)
    wanted = torch.tensor([1.0, -7.0, 3.0])
    found.check("grad", "x", times * wanted, wanted)
    assert found.faults[0]["words"].endswith(words)


def test_of_several_tensors_one_alone_may_be_twice_what_is_expected_by_its_kernel() -> None:
    one, two = torch.tensor([1.0, 2.0]), torch.tensor([5.0, 3.0])
    found = ModeComparisons(torch)
    found.check_all("local", {"a": 2 * one, "b": two}, {"a": one, "b": two})
    assert "it is 2 times" in found.faults[0]["words"]
    assert "layer" not in found.faults[0]
    found = ModeComparisons(torch)
    found.check_all("local", {"a": 2 * one, "b": 2 * two}, {"a": one, "b": two})
    assert [fault["layer"] for fault in found.faults] == ["framework", "framework"]
    found = ModeComparisons(torch)
    found.check_all("local", {"a": 2 * one, "b": two}, {"a": one, "b": two}, layer="collectives")
    assert found.faults[0]["layer"] == "collectives"


def test_a_small_error_is_no_other_tensor_that_is_as_near() -> None:
    one = torch.tensor([1.0, 2.0])
    near = one + torch.tensor([3e-5, 0.0])
    found = ModeComparisons(torch)
    found.check_all("grad", {"a": near, "b": near}, {"a": one, "b": near}, tolerance=1e-5)
    assert [fault["name"] for fault in found.faults] == ["a"]
    assert "equals" not in found.faults[0]["words"]
    assert "layer" not in found.faults[0]


@pytest.mark.parametrize(
    ("got", "whole"),
    [
        ([2.0, 3.0, 5.0], True),
        ([1.0, 2.0, 5.0], False),  # a bit on the way
        ([1.5, 3.0, 4.5], True),
        ([0.0, 0.0, 0.0], True),
    ],
)
def test_whether_the_whole_of_a_tensor_is_wrong_or_a_few_values(got: list[float], whole: bool) -> None:
    found = ModeComparisons(torch)
    found.check("grad", "x", torch.tensor(got), torch.tensor([1.0, 2.0, 3.0]))
    assert found.faults[0].get("whole", False) is whole
    found = ModeComparisons(torch)
    found.check("loss", "loss", torch.tensor(2.0), torch.tensor(1.0))
    assert "whole" not in found.faults[0]


def test_small_values_need_not_show_that_all_are_wrong() -> None:
    found = ModeComparisons(torch)
    wanted = torch.tensor([0.1, 2.0, 3.0])
    found.check("grad", "x", 1.09 * wanted, wanted, tolerance=0.01)
    assert "2 of 3 values differ" in found.faults[0]["words"]
    assert found.faults[0]["whole"]


@pytest.mark.parametrize(
    ("change", "layer", "words"),
    [
        (lambda x: x.bfloat16().float(), "framework", "it is rounded to bfloat16"),
        (lambda x: x.flip(0), "framework", "it has the expected values in another order"),
        (lambda x: 2 * x, "framework", "it is 2 times the expected tensor"),
        (lambda x: x * 0, "configuration", "all values are zero"),  # as where nothing was written
        (lambda x: x + 0.1 * (x == x.max()), "configuration", ""),  # a few values
    ],
)
def test_what_a_disk_does_not_do_comes_from_who_wrote(change: Any, layer: str, words: str) -> None:
    wanted = torch.linspace(0.1, 0.77, 16)
    found = ModeComparisons(torch)
    found.check("local", "x", change(wanted), wanted, tolerance=0.0, layer="configuration")
    assert found.faults[0]["layer"] == layer
    assert found.faults[0]["words"].endswith(words)


def test_few_values_are_not_called_rounded() -> None:
    found = ModeComparisons(torch)
    found.check("local", "x", torch.ones(16), torch.full((16,), 1.0004), tolerance=0.0)
    assert "rounded" not in found.faults[0]["words"]


@pytest.mark.parametrize("large", [3e38, -3e38, float("inf"), float("nan")])
def test_numbers_of_any_size_have_words(large: float) -> None:
    found = ModeComparisons(torch)
    found.check("value", "x", torch.tensor([large, 1.0]), torch.tensor([1e-30, 1.0]))
    assert "2 values differ" in found.faults[0]["words"]


def test_a_scale_that_was_not_taken_off_is_a_power_of_two() -> None:
    found, one, two = ModeComparisons(torch), torch.tensor([1.0, 2.0]), torch.tensor([5.0, 3.0])
    found.check_all("local", {"a": one / 1024, "b": two / 1024}, {"a": one, "b": two})
    assert [fault["layer"] for fault in found.faults] == ["framework", "framework"]
    assert "1/1024 of the expected tensor" in found.faults[0]["words"]


def test_what_is_missing_is_no_fault_of_arithmetic() -> None:
    found = ModeComparisons(torch)
    found.check_all("local", {}, {"a": torch.ones(2)}, layer="device")
    assert found.faults[0]["layer"] == "framework"


@pytest.mark.parametrize(
    ("made", "layer", "words"),
    [
        (lambda step: 0.5 * step, "framework", "all values made 0.5 of the step"),
        (lambda step: 0 * step, "framework", "no value was moved by the step"),
        (lambda step: -step, "framework", "all values made -1 of the step"),
        (lambda step: 1.03 * step, "device", ""),  # too near to tell a rate from a kernel
        (lambda step: step * torch.arange(1.0, 9.0), "device", ""),
    ],
)
def test_a_step_that_is_too_short_everywhere_is_a_rate(made: Any, layer: str, words: str) -> None:
    before = {"a": torch.linspace(-1, 1, 8), "b": torch.linspace(3, 4, 8)}
    steps = {"a": torch.linspace(0.1, 0.2, 8), "b": torch.linspace(0.2, 0.3, 8)}
    wanted = {name: one - steps[name] for name, one in before.items()}
    got = {name: one - made(steps[name]) for name, one in before.items()}
    found = ModeComparisons(torch)
    found.check_all("param", got, wanted, layer="device", moved_from=before)
    assert {fault["layer"] for fault in found.faults} == {layer}
    assert found.faults[0]["words"].endswith(words)


def test_a_step_that_is_wrong_in_one_tensor_alone_is_no_rate() -> None:
    before = {"a": torch.zeros(8), "b": torch.zeros(8)}
    wanted = {"a": torch.ones(8), "b": torch.ones(8)}
    found = ModeComparisons(torch)
    found.check_all("param", {**wanted, "a": before["a"]}, wanted, layer="device", moved_from=before)
    assert [fault["layer"] for fault in found.faults] == ["device"]


def test_parameters_that_are_wrong_as_a_whole_at_first_were_handed_out_wrongly() -> None:
    wanted = torch.linspace(1, 2, 16)
    for got, step, layer in ((wanted.roll(1), 0, "framework"), (wanted.roll(1), 1, "device")):
        found = ModeComparisons(torch)
        found.check("before", "x", got, wanted, step=step, tolerance=0.0, layer="device")
        assert found.faults[0]["layer"] == layer
    bit = wanted.clone()
    bit[3] += 1
    found = ModeComparisons(torch)
    found.check("before", "x", bit, wanted, tolerance=0.0, layer="device")
    assert found.faults[0]["layer"] == "device"


def test_a_rank_tells_at_once_that_its_own_part_is_wrong() -> None:
    told: list[tuple[str, str, str]] = []
    found = ModeComparisons(torch, told=lambda *words: told.append(words))
    found.check("value", "came", torch.ones(1), torch.zeros(1))
    assert told == []  # it came from others
    found = ModeComparisons(torch, told=lambda *words: told.append(words))
    found.expect("local", "places", False, "are others", layer="framework")
    assert told == [("local", "places: are others", "framework")]


def _steps_of(change: Any) -> ModeComparisons:
    """Two steps of three tensors; ``change(step, before, right)`` is the step that was made in their second."""
    found = ModeComparisons(torch)
    generator = torch.Generator().manual_seed(5)

    def draw(scale: float) -> dict[str, Any]:
        return {name: scale * torch.randn(9, 7, generator=generator, dtype=torch.float64) for name in "abc"}

    held = draw(1.0)
    last = dict.fromkeys(held, torch.zeros(9, 7))
    for step in range(2):
        moves = draw(0.01)
        right = {name: one + moves[name] for name, one in held.items()}
        made = {
            name: right[name] + (change(last[name], one, moves[name]) if step else 0.0) for name, one in held.items()
        }
        found.check_all("param", made, right, step=step, layer="device", moved_from=held)
        held, last = right, moves
    return found


@pytest.mark.parametrize(
    ("change", "layer", "words"),
    [
        (lambda last, held, move: 0.003 * held, "framework", "the same share of the parameters"),  # a decay
        (lambda last, held, move: 0.5 * last, "framework", "the same share of the step before"),  # a momentum
        (lambda last, held, move: 3.0 * move.roll(1, 0), "framework", "no tensor made the right step"),
        (lambda last, held, move: torch.where(held > 1, 0.003 * held, 0.0), "device", ""),  # some values alone
        (lambda last, held, move: 0.3 * move * (torch.arange(7) == 3), "device", ""),  # one lane
    ],
)
def test_what_all_steps_miss_alike_is_a_setting(change: Any, layer: str, words: str) -> None:
    faults = _steps_of(change).faults
    assert {fault["layer"] for fault in faults} == {layer}, faults[0]
    assert all(words in fault["words"] for fault in faults)


def test_every_tensor_wrong_as_a_whole_is_told_from_one_of_them() -> None:
    for names, spoilt, every in (("abc", "abc", True), ("abc", "ab", None), ("abcd", "abc", None)):
        found = ModeComparisons(torch)
        wanted = {name: torch.full((4, 4), 1.0) for name in names}
        got = {name: one + (1.0 + torch.rand(4, 4)) * (name in spoilt) for name, one in wanted.items()}
        found.check_all("grad", got, wanted)
        assert {fault.get("every") for fault in found.faults} == {every}


def test_what_is_accumulated_as_another_tensor_was_no_arithmetic() -> None:
    half, other, one = torch.tensor([0.5, 1.0, 1.5]), torch.tensor([7.0, -3.0, 1.0]), torch.tensor([1.0, 2.0, 3.5])
    for got, layer in ((half, "framework"), (other, "framework"), (one, None)):
        found = ModeComparisons(torch)
        right = {"b": torch.ones(2)}
        wanted = {"a": torch.tensor([1.0, 2.0, 3.0]), **right}
        found.check_all("local", {"a": got, **right}, wanted, whole_layer="framework")
        found.check_all("local", wanted, wanted)  # another look at the same names takes nothing back
        assert found.faults[0].get("layer") == layer
