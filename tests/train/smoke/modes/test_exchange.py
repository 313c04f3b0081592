"""Context and expert parallel: right on a healthy machine, planted faults caught at the rank that has them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.train.smoke import kit

pytest.importorskip("torch")

import torch
import torch.distributed as dist

from tests.train.smoke.planted.faults import Active, at_collective, flip_bit, wrap

MODES = ("ring-attention", "ulysses", "expert-parallel")


@pytest.mark.parametrize("world", (2, 3, 4))
@pytest.mark.parametrize("mode", MODES)
def test_agrees_with_one_process(mode: str, world: int) -> None:
    result = kit.run(mode, world, beside=MODES)
    assert result.state == "pass", result.message
    assert result.max_error["grad"] < 1e-12


def ring_stale(active: Active) -> None:
    """What comes around the ring is thrown away: the rank goes on with zeros."""

    def act(original: Any, operations: Any) -> Any:
        for one in original(operations):
            one.wait()
        for one in operations:
            if "recv" in one.op.__name__:
                one.tensor.zero_()
        return []

    at_collective(act, active, turn=1, names=("batch_isend_irecv",))


def ring_reversed(active: Active) -> None:
    """The ring runs the other way."""

    def around(original: Any, operations: Any) -> Any:
        if active():
            peers = [one.peer for one in operations]
            operations = [
                dist.P2POp(one.op, one.tensor, peer) for one, peer in zip(operations, reversed(peers), strict=True)
            ]
        return original(operations)

    for owner in (dist, dist.distributed_c10d):
        wrap(owner, "batch_isend_irecv", around)


def backward_bit(active: Active) -> None:
    """One bit of what the sixth exchange (in the backward pass) delivers."""

    def act(original: Any, got: Any, *args: Any, **keywords: Any) -> Any:
        work = original(got, *args, **keywords)
        got.view(-1)[3] += 0.5
        return work

    at_collective(act, active, turn=6, names=("all_to_all_single",))


def ring_sends_wrong(active: Active) -> None:
    """What leaves this rank is not what it holds."""

    def around(original: Any, way: Any, tensor: Any, *args: Any, **keywords: Any) -> Any:
        wrong = active() and way.__name__ == "isend"
        return original(way, tensor + 1 if wrong else tensor, *args, **keywords)

    wrap(torch.distributed, "P2POp", around)


def bad_expert(active: Active) -> None:
    """The experts of this rank compute wrongly."""

    def around(original: Any, tensor: Any, **keywords: Any) -> Any:
        result = original(tensor, **keywords)
        if active():
            flat = result.detach().view(-1)
            if flat.numel():
                flat[0] += 1
        return result

    wrap(torch.nn.functional, "gelu", around)


def lost_count(active: Active) -> None:
    """The counts that arrive say that the first rank sends one token less."""

    def act(original: Any, got: Any, *args: Any, **keywords: Any) -> Any:
        work = original(got, *args, **keywords)
        got[0] -= 1
        return work

    at_collective(act, active, turn=1, names=("all_to_all_single",))


def router_bit(active: Active) -> None:
    """One bit of the sum of the router's gradients."""

    def act(original: Any, tensor: Any, *args: Any, **keywords: Any) -> Any:
        work = original(tensor, *args, **keywords)
        flip_bit(tensor.view(torch.float32), 20)
        return work

    at_collective(act, active, turn=1)


def expert_backward(active: Active) -> None:
    """What comes back to this rank's experts is off in its first row."""

    def around(original: Any, got: Any, *args: Any, **keywords: Any) -> Any:
        work = original(got, *args, **keywords)
        if active() and torch._C._current_graph_task_id() != -1:
            got[:1] += 0.5
        return work

    wrap(dist, "all_to_all_single", around)


FAULTS: list[tuple[str | kit.Fault, int | str, str, tuple[int, ...], str]] = [
    (ring_sends_wrong, 1, "ring-attention", (1, 2), "keys and values of rank 1"),
    (ring_stale, 1, "ring-attention", (0, 1), "keys and values of rank 0"),
    (ring_reversed, "all", "ring-attention", (0, 1, 2, 3), "keys and values of rank"),
    ("all-to-all-dropped", 2, "ulysses", (2,), "query of this rank's heads"),
    (backward_bit, 2, "ulysses", (2,), "gradient of this rank's"),
    ("all-to-all-dropped", 2, "expert-parallel", (2,), "number of tokens from each rank"),
    (lost_count, 3, "expert-parallel", (3,), "number of tokens from each rank"),
    (bad_expert, 1, "expert-parallel", (1,), "results of this rank's experts"),
    (router_bit, 1, "expert-parallel", (1,), "gradient of the router"),
    # What comes back wrongly makes the gradients of all ranks wrong: who received it, or sent it, is told by what came.
    ("backward-parts", 2, "ulysses", (2,), "gradient of the output of this rank's heads"),
    (expert_backward, 1, "expert-parallel", (0, 1), "gradient of the results of this rank's experts"),
]


def test_a_planted_fault_is_caught_and_its_rank_named() -> None:
    assert not kit.wrong_of([(*case[:3], 4, "fail", case[3], None, case[4]) for case in FAULTS])
