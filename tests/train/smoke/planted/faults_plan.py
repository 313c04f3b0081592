"""Faults of a plan that is tried: memory that nobody planned for, and too little of it."""

from __future__ import annotations

import resource
from collections.abc import Callable

import torch
from faults import Active, at_backward  # type: ignore[import-not-found, unused-ignore]

_HELD: list[torch.Tensor] = []
_TURN = 3  # a backward pass of the steps: the first is that of loading kernels


def hoard(active: Active) -> None:
    """Keep 160 MiB from a backward pass on."""
    at_backward(lambda: _HELD.append(torch.ones(40 << 20)), active, _TURN)


def short(active: Active) -> None:
    """From a backward pass on the process gets 6 MiB of addresses more: a stand-in for a GPU that is full."""

    def limit() -> None:
        with open("/proc/self/statm") as stream:
            now = int(stream.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + (6 << 20), resource.RLIM_INFINITY))

    at_backward(limit, active, _TURN)


FAULTS: dict[str, Callable[[Active], None]] = {"hoard": hoard, "short": short}
