"""Tensor and sequence parallel: right on a healthy machine, and faults of every exchange are named in their order."""

from __future__ import annotations

import pytest

from rocdoctor.train.smoke.worker.modes import tensor_parallel
from tests.train.smoke import kit

pytest.importorskip("torch")
PLAIN, SEQUENCE = "tensor-parallel", "sequence-parallel"


def _agrees(mode: str, world: int) -> None:
    result = kit.run(mode, world, beside=(PLAIN, SEQUENCE))
    assert result.state == "pass", result.message
    assert {"before", "local", "value", "loss", "grad", "param"} <= set(result.max_error)
    assert all(result.max_error[name] <= result.tolerance[name] for name in result.max_error)


@pytest.mark.parametrize(("mode", "world"), [(PLAIN, 2), (SEQUENCE, 2), (PLAIN, 3), (SEQUENCE, 3)])
def test_agrees_with_one_process(mode: str, world: int) -> None:
    _agrees(mode, world)


@pytest.mark.heavy
@pytest.mark.parametrize("world", (1, 2, 3, 4, 6, 8))
@pytest.mark.parametrize("mode", (PLAIN, SEQUENCE))
def test_agrees_with_one_process_on_any_number_of_ranks(mode: str, world: int) -> None:
    _agrees(mode, world)


FAULTS = (
    ("tp-sum-bit", 1, PLAIN, 2, "fail", (1,), "collectives", "output of blocks.0.down"),
    ("tp-backward-not-summed", 1, PLAIN, 2, "fail", (1,), "collectives", "gradient for the output of blocks.1.norm1"),
    ("tp-other-part", 1, PLAIN, 2, "fail", (1,), "collectives", "before step 0, embedding.weight"),
    ("compute-bit", 0, PLAIN, 2, "fail", (0,), "device", "input of blocks.0.down"),
    ("sp-gather-order", 0, SEQUENCE, 2, "fail", (0,), "collectives", "whole input of blocks.0"),
    ("sp-backward-scatter-bit", 1, SEQUENCE, 2, "fail", (1,), "collectives", "1 of 2048 values"),
    ("sp-backward-gather-bit", 1, SEQUENCE, 2, "fail", (1,), "collectives", "the gradients of step 0, embedding"),
    ("gradient-bit", 1, PLAIN, 2, "fail", (1,), "device", "the gradients of step 0"),
    # A plan that is ignored is no success.
    ("tp-not-split", "all", PLAIN, 2, "fail", (0, 1), "framework", "has shape [128, 32] instead of [64, 32]"),
)


def test_a_fault_of_one_rank_is_named_where_it_came_in() -> None:
    assert not kit.wrong_of(FAULTS)


@pytest.mark.heavy
@pytest.mark.parametrize("world", (2, 4))
@pytest.mark.parametrize(
    ("fault", "mode"),
    [
        ("tp-sum-bit", PLAIN),
        ("tp-not-summed", PLAIN),
        ("tp-backward-sum-bit", PLAIN),
        ("tp-backward-not-summed", PLAIN),
        ("tp-other-part", PLAIN),
        ("compute-bit", PLAIN),
        ("gradient-bit", PLAIN),
        ("sp-scatter-bit", SEQUENCE),
        ("sp-gather-order", SEQUENCE),
        ("sp-backward-scatter-bit", SEQUENCE),
        ("sp-backward-gather-bit", SEQUENCE),
        ("tp-other-part", SEQUENCE),
        ("compute-bit", SEQUENCE),
        ("gradient-bit", SEQUENCE),
    ],
)
def test_every_fault_is_named_at_any_number_of_ranks(fault: str, mode: str, world: int) -> None:
    result = kit.planted(fault, world - 1, mode, world)
    assert (result.state, result.named) == ("fail", (world - 1,)), result.message


def test_what_is_split_where() -> None:
    names = ["embedding.weight", "blocks.0.up.bias", "blocks.0.down.weight", "blocks.0.down.bias", "norm.weight"]
    assert [tensor_parallel.split_dim(name) for name in names] == [0, 0, 1, None, None]
