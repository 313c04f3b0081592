"""Faults of what pipeline stages pass on, and of the order in which they do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from faults import Active, flip_bit, wrap  # type: ignore[import-not-found, unused-ignore]
from torch.distributed.pipelining import schedules, stage

_BASE = stage._PipelineStageBase


def received_bit(method: str) -> Callable[[Active], None]:
    """One bit of what arrives for the second micro-batch."""

    def put(active: Active) -> None:
        def around(original: Any, self: Any, number: int, *args: Any, **keywords: Any) -> Any:
            result = original(self, number, *args, **keywords)
            if active() and number == 1:
                for one in result:
                    if one is not None and one.dtype == torch.float32:
                        flip_bit(one)
            return result

        wrap(_BASE, method, around)

    return put


class _Done:
    def wait(self, *_: Any) -> bool:
        return True


def swapped_sends(active: Active) -> None:
    """The first two messages leave in the wrong order."""
    held: list[Any] = []
    seen = {"count": 0}

    original = dist.isend

    def send(tensor: Any, *args: Any, **keywords: Any) -> Any:
        if not active() or tensor.dtype != torch.float32 or tensor.ndim != 3:
            return original(tensor, *args, **keywords)
        seen["count"] += 1
        if seen["count"] == 1:
            held.append((tensor, args, keywords))
            return _Done()
        if seen["count"] == 2:
            first, its_args, its_keywords = held.pop()
            work = original(tensor, *args, **keywords)
            other = original(first, *its_args, **its_keywords)
            assert other is not None
            other.wait()
            return work
        return original(tensor, *args, **keywords)

    # One function for both: torch compares it with the one it knows.
    dist.isend = dist.distributed_c10d.isend = send


def swapped_inputs(active: Active) -> None:
    """The batch is cut into micro-batches in the wrong order."""

    def around(original: Any, *args: Any, **keywords: Any) -> Any:
        inputs, more = original(*args, **keywords)
        return ([inputs[1], inputs[0], *inputs[2:]], more) if active() else (inputs, more)

    wrap(schedules._PipelineSchedule, "_split_inputs", around)


def swapped_targets(active: Active) -> None:
    """The last stage compares the first two micro-batches with each other's targets."""

    def around(original: Any, *args: Any, **keywords: Any) -> Any:
        parts = [*original(*args, **keywords)]
        return (parts[1], parts[0], *parts[2:]) if active() else tuple(parts)

    wrap(torch, "tensor_split", around)


def not_scaled(active: Active) -> None:
    """Gradients of the micro-batches are added up instead of averaged."""
    wrap(
        _BASE,
        "scale_grads",
        lambda original, self, *args, **keywords: None if active() else original(self, *args, **keywords),
    )


def lost_backward(active: Active) -> None:
    """What the first micro-batch added to the gradients is lost."""
    seen: set[int] = set()

    def around(original: Any, self: Any, *args: Any, **keywords: Any) -> Any:
        result = original(self, *args, **keywords)
        if active() and id(self) not in seen:
            seen.add(id(self))
            for one in self.submod.parameters():
                one.grad = None
        return result

    wrap(_BASE, "backward_one_chunk", around)


def other_schedule(active: Active) -> None:
    """1F1B is asked for, and what runs is GPipe under its name."""
    gpipe = schedules.ScheduleGPipe._step_microbatches
    wrap(
        schedules.Schedule1F1B,
        "_step_microbatches",
        lambda original, *args, **keywords: (gpipe if active() else original)(*args, **keywords),
    )


def hangs(active: Active) -> None:
    """A stage never comes back from its second micro-batch."""

    def around(original: Any, self: Any, number: int, *args: Any, **keywords: Any) -> Any:
        if active() and number == 1:
            time.sleep(3600)
        return original(self, number, *args, **keywords)

    wrap(_BASE, "forward_one_chunk", around)


FAULTS: dict[str, Callable[[Active], None]] = {
    "pp-received-bit": received_bit("_retrieve_recv_activations"),
    "pp-received-gradient-bit": received_bit("_retrieve_recv_grads"),
    "pp-swapped-sends": swapped_sends,
    "pp-swapped-inputs": swapped_inputs,
    "pp-swapped-targets": swapped_targets,
    "pp-not-scaled": not_scaled,
    "pp-lost-backward": lost_backward,
    "pp-other-schedule": other_schedule,
    "pp-hangs": hangs,
}
