"""Data parallel with other communication: right on a healthy machine, planted faults caught at their rank."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rocdoctor.train.smoke.worker.context import Context
from rocdoctor.train.smoke.worker.powersgd import _same_everywhere
from tests.train.smoke import kit

pytest.importorskip("torch")
import torch

from tests.train.smoke.planted.faults import Active, _parameters, _reference, wrap

MODES = ("ddp-fp16-hook", "ddp-powersgd", "post-local-sgd", "zero-1", "ddp-autocast", "ddp-grad-scaler")


@pytest.mark.parametrize("world", (2, 4))
@pytest.mark.parametrize("mode", MODES)
def test_agrees_with_one_process(mode: str, world: int) -> None:
    result = kit.run(mode, world, beside=MODES)
    assert result.state == "pass", result.message


@pytest.mark.parametrize("mode", ("ddp-bf16-hook", "sync-batch-norm"))
def test_what_needs_a_gpu_is_not_applicable_on_the_cpu(mode: str) -> None:
    result = kit.run(mode)
    assert result.state == "not-applicable"
    assert result.message


def loss_forgotten(active: Active) -> None:
    """What compression lost in a step is not sent in the next."""
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook

    def around(original: Any, state: Any, bucket: Any) -> Any:
        if active():
            state.error_dict.clear()
        return original(state, bucket)

    wrap(powerSGD_hook, "powerSGD_hook", around)


FAULTS: list[tuple[str | kit.Fault, int | str, str, tuple[int, ...], str]] = [
    ("no-exchange", "all", "ddp", (0, 1, 2, 3), "nothing was exchanged"),
    ("not-broadcast", "all", "ddp", (1, 2, 3), "before step 0"),
    ("sum-for-mean", "all", "ddp", (0, 1, 2, 3), "it is 4 times the expected tensor"),
    ("same-share", "all", "ddp-no-sync", (1, 2, 3), "own part"),
    ("wrong-product", 2, "ddp", (2,), "own part"),
    ("lost-step", 2, "ddp", (2,), "the parameters after step 0"),
    ("lost-step", 2, "zero-1", (2,), "the parameters after step 0"),
    ("hook-ignored", "all", "ddp-fp16-hook", (0, 1, 2, 3), "travelled uncompressed"),
    ("not-averaged", "all", "post-local-sgd", (0, 1, 2, 3), "the parameters after step 0"),
    ("no-autocast", 1, "ddp-autocast", (1,), "autocast did nothing"),
    ("scale-lost", 3, "ddp-grad-scaler", (3,), "own part of step 0"),
    ("loss-summed", 1, "ddp-powersgd", (1,), "own part of step 0, embedding.weight: "),
    ("loss-summed", 2, "post-local-sgd", (2,), "own part of step 0"),
    ("gradient-bit", 1, "ddp-powersgd", (1,), "the gradients of step 0"),
    (loss_forgotten, 1, "ddp-powersgd", (1,), "what compression lost"),
]


def test_a_planted_fault_is_caught_and_its_rank_named() -> None:
    assert not kit.wrong_of([(*case[:3], 4, "fail", case[3], None, case[4]) for case in FAULTS])


def share_lost_among_many(active: Active) -> None:
    """One of 64 ranks takes no part in the mean: its share is taken out of what arrives, as far as 2 ranks show it."""

    def around(original: Any, *args: Any, **keywords: Any) -> Any:
        result = original(*args, **keywords)
        if active() and not _reference():
            for one in _parameters():
                if one.grad is not None:
                    one.grad.mul_(1 - 1 / 64)
        return result

    wrap(torch.Tensor, "backward", around)


def test_under_autocast_a_share_that_is_lost_among_many_ranks_shows() -> None:
    result = kit.planted(share_lost_among_many, "all", "ddp-autocast", 2)
    assert result.state == "fail", result.message
    assert "the gradients of step 0" in result.message


def rounds_elsewhere(active: Active) -> None:
    """Products in bf16 of this rank differ in their last place now and then, as on a processor of another kind."""

    def around(original: Any, *args: Any, **keywords: Any) -> Any:
        made = original(*args, **keywords)
        if active() and made.dtype == torch.bfloat16:
            made = made * (1 + 2**-7 * (torch.arange(made.numel()).reshape(made.shape) % 17 == 0).to(made.dtype))
        return made

    wrap(torch.nn.functional, "linear", around)


def test_under_autocast_processors_that_round_in_other_places_accuse_nobody() -> None:
    result = kit.planted(rounds_elsewhere, 1, "ddp-autocast", 2)
    assert result.state == "pass", result.message
    assert "round in other places" in result.facts["untested"]


def rounds_differently_each_time(active: Active) -> None:
    """Products in bf16 are added up in another order at each call, as by split-K kernels or atomic additions."""
    calls = iter(range(1 << 30))

    def around(original: Any, *args: Any, **keywords: Any) -> Any:
        made = original(*args, **keywords)
        if active() and made.dtype == torch.bfloat16:
            place = (torch.arange(made.numel()) + next(calls) * 7).reshape(made.shape)
            made = made * (1 + 2**-7 * (place % 97 == 0).to(made.dtype))
        return made

    wrap(torch.nn.functional, "linear", around)


@pytest.mark.parametrize("rank", (1, "all"))
def test_under_autocast_kernels_that_never_round_alike_accuse_nobody(rank: int | str) -> None:
    result = kit.planted(rounds_differently_each_time, rank, "ddp-autocast", 2)
    assert result.state == "pass", result.message
    assert "differently each time" in result.facts["untested"]


@pytest.mark.parametrize(("sums", "faults"), [((1.0, 1.0), (0, 0)), ((1.0, 2.0), (1, 1)), ((1.0, 2.0, 1.0), (0, 1, 0))])
def test_of_two_ranks_that_differ_at_the_end_both_are_named(
    monkeypatch: pytest.MonkeyPatch, sums: tuple[float, ...], faults: tuple[int, ...]
) -> None:
    def all_gather(many: list[Any], _own: Any) -> None:
        many[:] = [torch.tensor([value], dtype=torch.float64) for value in sums]

    monkeypatch.setattr(torch.distributed, "all_gather", all_gather)
    board: Any = SimpleNamespace(mark=lambda _text: None)
    for rank, value in enumerate(sums):
        context = Context(torch, rank, len(sums), torch.device("cpu"), "gloo", "", board, {})
        _same_everywhere(context, {"weight": torch.tensor([value])}, 8)
        assert len(context.comparison.faults) == faults[rank], (rank, context.comparison.faults)
