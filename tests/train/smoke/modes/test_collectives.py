"""Collectives: right values, and a transport that delivers something else is caught at the rank that got it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rocdoctor.train.smoke.worker.context import Context
from rocdoctor.train.smoke.worker.exact_values import values
from rocdoctor.train.smoke.worker.modes.collectives import _other_sums
from tests.train.smoke import kit

pytest.importorskip("torch")
import os

import torch
import torch.distributed as dist

from tests.train.smoke.planted.faults import Active, wrap

MODES = ("all-reduce", "one-to-all", "all-gather", "reduce-scatter", "all-to-all", "point-to-point", "subgroups")


@pytest.mark.parametrize("world", (2, 3, 4))
@pytest.mark.parametrize("mode", MODES)
def test_values_are_exact(mode: str, world: int) -> None:
    result = kit.run(mode, world, beside=MODES)
    assert result.state == "pass", result.message
    assert result.max_error == {"value": 0.0}
    assert result.tolerance == {"value": 0.0}


@pytest.mark.parametrize(("world", "named"), [(2, ()), (3, (1,))])
def test_of_two_ends_both_are_named_and_of_several_ways_the_end_that_all_have(
    world: int, named: tuple[int, ...]
) -> None:
    both: list[tuple[str | kit.Fault, str, str]] = [
        ("recv-half", "point-to-point", "received from rank 0"),
        ("send-rounded", "point-to-point", "what rank 1 sent is wrong"),
        (empty_moves_all, "all-to-all", "with unequal parts"),
    ]
    assert not kit.wrong_of([(one, 1, mode, world, "fail", named, "collectives", words) for one, mode, words in both])


def gather_rounds(active: Active) -> None:
    """This rank's part loses its lower bits, in its own result too."""

    def around(original: Any, into: Any, own: Any, *args: Any, **more: Any) -> Any:
        return original(into, own.bfloat16().to(own.dtype) if active() else own, *args, **more)

    wrap(dist, "all_gather", around)


def scatter_rounds(active: Active) -> None:
    """What this rank adds to sums that are scattered loses its lower bits."""

    def around(original: Any, into: Any, own: Any, *args: Any, **more: Any) -> Any:
        rounds = active() or os.environ.get("ROCDOCTOR_SMOKE_MODE") == "locate"
        return original(into, own.bfloat16().float() if rounds and own.dtype == torch.float32 else own, *args, **more)

    for name in ("reduce_scatter_tensor", "reduce_scatter_single"):
        if hasattr(dist, name):
            wrap(dist, name, around)


def largest_from_zero(active: Active) -> None:
    """The largest of numbers that are all below zero is zero."""

    def around(original: Any, tensor: Any, op: Any = dist.ReduceOp.SUM, **more: Any) -> Any:
        work = original(tensor, op, **more)
        if active() and op == dist.ReduceOp.MAX:
            tensor.clamp_(min=0)
        return work

    wrap(dist, "all_reduce", around)


def empty_moves_all(active: Active) -> None:
    """Where a rank sends nothing, what the others send comes one place too late."""

    def around(original: Any, got: Any, own: Any, takes: Any = None, *args: Any, **more: Any) -> Any:
        work = original(got, own, takes, *args, **more)
        if active() and takes and 0 in takes:
            got.copy_(got.roll(1))
        return work

    wrap(dist, "all_to_all_single", around)


def copy_off(active: Active) -> None:
    """What a broadcast in a group brings is off by one."""

    def around(original: Any, tensor: Any, *args: Any, **more: Any) -> Any:
        work = original(tensor, *args, **more)
        if active() and tensor.is_floating_point():
            tensor.add_(1)
        return work

    wrap(dist, "broadcast", around)


_RECEIVED: tuple[tuple[str | kit.Fault, str, str], ...] = (
    ("all-reduce-result-bit", "all-reduce", ""),
    ("all-gather-swapped", "all-gather", ""),
    ("broadcast-stale", "one-to-all", ""),
    ("reduce-scatter-scaled", "reduce-scatter", ""),
    ("all-to-all-dropped", "all-to-all", ""),
    (gather_rounds, "all-gather", "what rank 1 sent is wrong at every rank"),
    (largest_from_zero, "all-reduce", "of both signs, max"),
    ("handles-crossed", "all-reduce", "of five at once"),
    ("root-twice", "one-to-all", "rank 1 adds its own part wrongly"),
)


@pytest.mark.parametrize("world", (2, pytest.param(4, marks=pytest.mark.heavy)))
def test_a_rank_that_receives_or_gives_wrong_values_is_named(world: int) -> None:
    rows = [(one, 1, mode, world, "fail", (1,), "collectives", words) for one, mode, words in _RECEIVED]
    assert not kit.wrong_of(rows)


def test_who_alone_receives_wrongly_what_goes_to_all_is_named_without_the_root() -> None:
    rows: list[tuple[str | kit.Fault, int, str, int, str, tuple[int, ...], str, str]] = [
        ("halfwords-swapped", 3, "one-to-all", 4, "fail", (3,), "collectives", "from rank 0"),
        (copy_off, 2, "subgroups", 4, "fail", (2, 3), "collectives", "in a group"),  # of two either may be it
    ]
    assert not kit.wrong_of(rows)


def test_who_puts_the_part_of_a_rank_in_anothers_place_is_named_alone() -> None:
    assert not kit.wrong_of([("neighbours-peer", 2, "all-to-all", 4, "fail", (2,), "collectives", "part of rank 0")])


@pytest.mark.parametrize(("where", "named"), [("all", (0, 1)), (0, (0,))])
def test_a_barrier_that_does_not_wait_is_caught(where: int | str, named: tuple[int, ...]) -> None:
    result = kit.planted("barrier-open", where, "objects", 2, limit_s=8.0)
    assert result.state in ("fail", "crashed"), result.message
    assert set(result.named) <= set(named), result.message
    if where == "all":
        assert "barrier: let this rank go" in result.message
        assert (result.named, result.layer) == (named, "collectives")


@pytest.mark.heavy
def test_a_rank_whose_part_of_a_scattered_sum_is_wrong_is_found_by_a_second_look() -> None:
    result = kit.planted(scatter_rounds, 1, "reduce-scatter", 2)
    assert (result.state, result.named) == ("fail", (1,)), result.message


def test_a_rank_that_sends_wrong_values_is_found_by_a_second_look() -> None:
    result = kit.planted_for_all_modes("all-reduce-input-bit", 2, "all-reduce", 4)
    assert (result.state, result.named) == ("fail", (2,)), result.message
    assert "what rank 2 contributes arrives wrong at every rank" in result.message


def test_who_gives_again_what_it_gave_before_is_found_by_a_second_look() -> None:
    result = kit.planted_for_all_modes("source-of-before", 1, "reduce-scatter", 4)
    assert (result.state, result.named) == ("fail", (1,)), result.message
    assert "what rank 1 contributes arrives wrong at every rank" in result.message


def test_who_alone_gathers_another_ranks_part_is_named_without_its_owner() -> None:
    result = kit.planted("gather-one-twice", 1, "all-gather", 4)
    assert (result.state, result.named) == ("fail", (1,)), result.message
    result = kit.planted("gather-one-twice", 1, "fsdp2", 4)
    assert (result.state, result.named) == ("fail", (1,)), result.message


def test_a_mean_instead_of_a_sum_is_told() -> None:
    result = kit.planted("all-reduce-mean", "all", "all-reduce", 4)
    assert (result.state, result.layer, result.named) == ("fail", "collectives", (0, 1, 2, 3))
    assert "it is 1/4 of the expected tensor" in result.message


def test_a_collective_that_ignores_its_group_is_caught() -> None:
    assert kit.planted("wrong-group", "all", "subgroups", 4).state == "fail"
    result = kit.planted("wrong-group", 1, "subgroups", 4, limit_s=6.0)
    assert (result.state, result.named) == ("crashed", (1,)), result.message
    assert "rank 0 waits in all_reduce float32[1027] among ranks 0,1 for rank 1" in result.message


@pytest.mark.parametrize("off", (1.0, 1.00001))
def test_a_mean_may_be_rounded_as_nccl_does_and_no_more(monkeypatch: pytest.MonkeyPatch, off: float) -> None:
    world = 7
    board: Any = SimpleNamespace(mark=lambda _text: None)
    context = Context(torch, 0, world, torch.device("cpu"), "nccl", "", board, {})
    parts = [(values(context, rank, 1027, torch.float32).remainder(3) + 1) * world for rank in range(world)]

    def all_reduce(tensor: torch.Tensor, op: Any) -> None:
        if op != torch.distributed.ReduceOp.AVG:
            raise RuntimeError("Cannot use ReduceOp")
        assert torch.equal(tensor, parts[0])
        share = torch.tensor(off / world, dtype=torch.float32)
        tensor.zero_()
        for part in parts:
            tensor.add_(part * share)

    monkeypatch.setattr(torch.distributed, "all_reduce", all_reduce)
    _other_sums(context)
    errors, faults = context.comparison.errors, context.comparison.faults
    assert errors["value"] > 0.0  # 1/7 is no number of fp32: equal values would prove nothing
    assert [fault["name"] for fault in faults] == ([] if off == 1.0 else ["all_reduce of 1027 float32, avg"]), faults
