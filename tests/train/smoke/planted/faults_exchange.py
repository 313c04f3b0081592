"""Faults of the exchanges that ring attention, Ulysses and expert parallel are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from faults import Active, _reference, at_collective, flip_bit, wrap  # type: ignore[import-not-found, unused-ignore]


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


def bad_expert(active: Active) -> None:
    """The experts of this rank compute wrongly."""

    def around(original: Any, tensor: Any, **keywords: Any) -> Any:
        result = original(tensor, **keywords)
        if active() and not _reference():
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


FAULTS: dict[str, Callable[[Active], None]] = {
    "ring-stale": ring_stale,
    "ring-reversed": ring_reversed,
    "backward-bit": backward_bit,
    "bad-expert": bad_expert,
    "lost-count": lost_count,
    "router-bit": router_bit,
}
