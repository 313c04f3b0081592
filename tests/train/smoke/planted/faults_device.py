"""Faults of one device, of its memory, and of the data loader."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

import torch
from faults import Active, wrap  # type: ignore[import-not-found, unused-ignore]


def _off(owner: Any, name: str, kind: torch.dtype) -> Callable[[Active], None]:
    """One value of an operation's result is off, in one type alone."""

    def put(active: Active) -> None:
        def around(original: Any, *args: Any, **keywords: Any) -> Any:
            result = original(*args, **keywords)
            if active() and result.dtype == kind:
                result.data.view(-1)[min(5, result.numel() - 1)] += 3
            return result

        wrap(owner, name, around)

    return put


def stuck_bit(active: Active) -> None:
    """A cell of memory whose lowest bit is always one."""
    fill = torch.Tensor.fill_

    def around(self: Any, value: Any) -> Any:
        result = fill(self, value)
        if active() and self.dtype == torch.int32 and self.numel() > 1 << 20:
            self[12345] |= 1
        return result

    torch.Tensor.fill_ = around  # type: ignore[method-assign, assignment, unused-ignore]


def wrong_sum(active: Active) -> None:
    """A prefix sum that loses its last value."""
    original = torch.Tensor.cumsum

    def around(self: Any, dim: int) -> Any:
        result = original(self, dim)
        if active():
            result[-1] = result[-2]
        return result

    torch.Tensor.cumsum = around  # type: ignore[method-assign, assignment, unused-ignore]


def reader_dies(active: Active) -> None:
    """A worker of the data loader is ended, as by a full /dev/shm."""
    from torch.utils.data._utils import worker

    loop = worker._worker_loop

    def around(*args: Any, **keywords: Any) -> Any:
        if active():
            time.sleep(0.5)
            os.kill(os.getpid(), signal.SIGBUS)
        return loop(*args, **keywords)

    worker._worker_loop = around


def same_order(active: Active) -> None:
    """set_epoch does nothing."""
    from torch.utils.data.distributed import DistributedSampler

    original = DistributedSampler.set_epoch
    DistributedSampler.set_epoch = (  # type: ignore[method-assign]
        lambda self, epoch: None if active() else original(self, epoch)
    )


def read_twice(active: Active) -> None:
    """This rank reads what rank 0 reads."""
    from torch.utils.data.distributed import DistributedSampler

    original = DistributedSampler.__init__

    def around(self: Any, rows: Any, world: Any = None, rank: Any = None, **keywords: Any) -> None:
        original(self, rows, world, 0 if active() else rank, **keywords)

    DistributedSampler.__init__ = around  # type: ignore[method-assign, assignment]


FAULTS: dict[str, Callable[[Active], None]] = {
    "conv-bf16-off": _off(torch.nn.functional, "conv2d", torch.bfloat16),
    "gelu-off": _off(torch.nn.functional, "gelu", torch.float32),
    "bmm-fp16-off": _off(torch, "bmm", torch.float16),
    "stuck-bit": stuck_bit,
    "wrong-prefix-sum": wrong_sum,
    "reader-dies": reader_dies,
    "same-order": same_order,
    "read-twice": read_twice,
}
