"""Graphs of a GPU that is not there: the calls that were captured are made again, on the CPU.

What is kept are the dispatched operations with their tensors, and collectives as they are called; faults stand in
FAULTS.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

_COLLECTIVES = (
    *("all_reduce", "all_gather_into_tensor", "all_gather_single"),
    *("reduce_scatter_tensor", "reduce_scatter_single"),
)

_told: dict[str, Any] = {"fault": "", "mine": lambda: True}


class Graph:
    """What ``torch.cuda.CUDAGraph`` is to a user: captured once, replayed often."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, Any, Any, Any]] = []

    def replay(self) -> None:
        calls = FAULTS[_told["fault"]](self.calls) if _told["fault"] and _told["mine"]() else self.calls
        for function, args, keywords, made in calls:
            again = function(*args, **keywords)
            if isinstance(made, torch.Tensor) and made.data_ptr() != again.data_ptr():
                made.copy_(again)


class _Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call, unused-ignore]
    def __init__(self, graph: Graph) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.graph = graph

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        self.graph.calls.append((func, args, kwargs or {}, made))
        return made


@contextlib.contextmanager
def capture(graph: Graph, **_: Any) -> Iterator[None]:
    """``torch.cuda.graph``."""
    kept = {name: getattr(dist, name) for name in _COLLECTIVES if hasattr(dist, name)}

    def recorded(original: Any) -> Callable[..., None]:
        def call(*args: Any, **keywords: Any) -> None:
            with _disable_current_modes():
                original(*args, **keywords)
            graph.calls.append((original, args, keywords, None))

        return call

    for name, original in kept.items():
        setattr(dist, name, recorded(original))
    try:
        with _Recorder(graph):
            yield
    finally:
        for name, original in kept.items():
            setattr(dist, name, original)


def _sums_lost(calls: list[Any]) -> list[Any]:
    """The result of the sum does not come back."""

    def lost(tensor: Any) -> None:
        kept = tensor.clone()
        dist.all_reduce(tensor)
        tensor.copy_(kept)

    return [(lost, one[1], {}, None) if one[3] is None and len(one[1]) == 1 else one for one in calls]


def _first_inputs(calls: list[Any]) -> list[Any]:
    """The first kernel was captured with its inputs instead of their place."""
    function, args, *rest = calls[0]
    return [(function, (torch.zeros_like(args[0]), *args[1:]), *rest), *calls[1:]]


FAULTS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "graph-sums-lost": _sums_lost,
    "graph-first-inputs": _first_inputs,
}


class Idle:
    """A stream on which nothing ever waits."""

    def wait_stream(self, _: Any) -> None:
        """All is done already."""


def put(cuda: Any, told: Any, mine: Callable[[], bool]) -> None:
    """In place of ``torch.cuda``'s; ``mine`` tells whether this process has the GPU with the fault."""
    _told.update(fault=told if told in FAULTS else "", mine=mine)
    cuda.CUDAGraph, cuda.graph = Graph, capture
    cuda.Stream, cuda.current_stream = Idle, lambda *_: Idle()
    cuda.stream = lambda *_: contextlib.nullcontext()
