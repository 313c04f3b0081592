"""Four steps of AdamW, optimizers by themselves, dropout: right on healthy ranks, on an odd number of them too."""

from __future__ import annotations

from typing import Any

import pytest

from tests.train.smoke import kit

pytest.importorskip("torch")
import torch
import torch.distributed as dist

from tests.train.smoke.planted.faults import Active, wrap

MODES = ("ddp-longer", "fsdp2-longer", "dropout")


@pytest.mark.parametrize("world", (2, 3))
@pytest.mark.parametrize("mode", MODES)
def test_agrees_with_one_process(mode: str, world: int) -> None:
    result = kit.run(mode, world, beside=MODES)
    assert result.state == "pass", result.message
    # Far from what is allowed, so that another processor passes too.
    assert all(result.max_error[name] <= result.tolerance[name] / 2 for name in result.max_error)
    if mode == "ddp-longer":
        assert result.facts["buckets"] >= 3
    if mode == "fsdp2-longer":
        assert {"loss", "grad", "param"} <= set(result.max_error)


def test_every_way_of_every_optimizer_is_tried() -> None:
    result = kit.run("optimizers", 1)
    assert result.state == "pass", result.message
    assert "not_implemented" not in result.facts
    assert result.max_error["local"] <= result.tolerance["local"] / 4


def other_numbers(active: Active) -> None:
    """The lower half of the ranks draws other numbers from the seed that all share."""

    def around(original: Any, seed: int) -> Any:
        low = active() and dist.is_initialized() and dist.get_rank() < dist.get_world_size() / 2
        return original(78 if seed == 77 and low else seed)

    wrap(torch, "manual_seed", around)


def one_stream(active: Active) -> None:
    """All seeds are one."""
    wrap(torch, "manual_seed", lambda original, seed: original(77 if active() else seed))


@pytest.mark.parametrize(("world", "named"), [(2, ()), (3, (2,)), (4, ())])
def test_without_a_majority_no_rank_alone_is_accused_of_its_random_numbers(world: int, named: tuple[int, ...]) -> None:
    # Of three ranks two draw other numbers: they are the majority, so the third alone differs.
    result = kit.planted(other_numbers, "all", "dropout", world)
    assert (result.state, result.named) == ("fail", named), result.message
    if not named:
        assert "random numbers from one seed: differ between the ranks" in result.message


def test_ranks_that_draw_alike_are_named_with_each_other() -> None:
    result = kit.planted(one_stream, "all", "dropout", 3)
    assert (result.state, result.named) == ("fail", (0, 1, 2)), result.message
    assert "drew the same random numbers as rank 1 and rank 2, although" in result.message


def rounded_as_elsewhere(active: Active) -> None:
    """Gradients that are off by a hundred-thousandth of the largest, as those of another device may be."""

    def around(original: Any, self: Any, *args: Any, **keywords: Any) -> Any:
        held = [one.grad for group in self.param_groups for one in group["params"] if one.grad is not None]
        held = [getattr(one, "_local_tensor", one) for one in held]
        largest = max((float(one.abs().max()) for one in held if one.numel()), default=0.0)
        for one in held if active() else ():
            one.add_(torch.arange(one.numel()).mul(0.7).sin().reshape(one.shape), alpha=1e-5 * largest)
        return original(self, *args, **keywords)

    wrap(torch.optim.AdamW, "step", around)


@pytest.mark.parametrize("mode", ("zero-1", "ddp-longer", "fsdp2-longer"))
def test_what_rounding_decides_in_adamw_accuses_nobody(mode: str) -> None:
    result = kit.planted(rounded_as_elsewhere, "all", mode, 2)
    assert result.state == "pass", result.message
