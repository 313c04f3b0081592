"""Collectives within a graph that is captured once and replayed (CUDA and HIP graphs)."""

from __future__ import annotations

from typing import Any

from ..context import Context
from ..mode import Mode
from ..tolerance import EXACT, Proof

ORDER = 94
_VALUES = 1 << 16
_REPLAYS, _WARM = 3, 3


def needs(context: Context) -> None:
    """End the mode as not applicable where no collective can be captured."""
    cuda = context.torch.cuda
    context.need(context.device.type == "cuda", "needs GPUs: a graph records GPU work, of which the CPU has none")
    context.need(context.backend == "nccl", "needs a GPU for each rank: gloo works on the host, outside a graph")
    context.need(hasattr(cuda, "CUDAGraph") and hasattr(cuda, "graph"), "needs torch 1.10 or later: torch.cuda.graph")


class CapturedWork:
    """What is captured: kernels before, between and after three collectives, from ``given`` alone."""

    def __init__(self, context: Context) -> None:
        self._context = context
        torch, world, device = context.torch, context.world, context.device
        self.given = torch.zeros(_VALUES, device=device)
        self.own = torch.zeros(_VALUES, device=device)
        self.summed = torch.zeros(_VALUES, device=device)
        self.gathered = torch.zeros(_VALUES * world, device=device)
        self.scattered = torch.zeros(_VALUES, device=device)
        self.result = torch.zeros(_VALUES, device=device)

    def __call__(self) -> None:
        torch, dist = self._context.torch, self._context.torch.distributed
        torch.mul(self.given, 2, out=self.own)
        self.summed.copy_(self.own)
        dist.all_reduce(self.summed)
        into_one = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
        from_one = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
        into_one(self.gathered, self.given)
        from_one(self.scattered, self.gathered)
        torch.add(self.summed, self.scattered, out=self.result)

    def clear(self) -> None:
        """So that nothing of a replay before is taken for one of now."""
        for one in (self.own, self.summed, self.gathered, self.scattered, self.result):
            one.fill_(-1.0)


def _numbers(torch: Any, rank: int, turn: int) -> Any:
    """Whole numbers that tell their place, their rank and the replay; sums over 1,000 ranks are exact in fp32."""
    return (torch.arange(_VALUES, dtype=torch.float64) * 5 + rank * 401 + turn * 97) % 2039


def captured(context: Context) -> None:
    """The graph is replayed with other inputs each time; between replays a collective outside of it must still work."""
    torch, dist, world, rank = context.torch, context.torch.distributed, context.world, context.rank
    needs(context)
    work = CapturedWork(context)
    context.mark("warming up on a stream of its own")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(_WARM):
            work()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    context.mark("capturing")
    graph = torch.cuda.CUDAGraph()
    # Other threads of this process (the watchdog of the back end) may ask the GPU meanwhile.
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        work()
    for turn in range(_REPLAYS):
        given = [_numbers(torch, one, turn) for one in range(world)]
        work.clear()
        work.given.copy_(given[rank])
        context.mark(f"replay {turn}")
        graph.replay()
        torch.cuda.synchronize()
        summed, gathered = 2 * sum(given), torch.cat(given)
        scattered = world * given[rank]
        title = f"what this rank gives to the sum, replay {turn}"
        context.check("local", title, work.own, 2 * given[rank], tolerance=0.0, step=turn)
        for place, (name, got, wanted) in enumerate(
            (
                ("sum over all ranks", work.summed, summed),
                ("what was gathered", work.gathered, gathered),
                ("this rank's part of the scattered sum", work.scattered, scattered),
                ("the sum of both", work.result, summed + scattered),
            )
        ):
            owners = torch.arange(world).repeat_interleave(_VALUES) if place == 1 else None
            title = f"{name}, replay {turn}"
            context.check("value", title, got, wanted, tolerance=0.0, step=turn, turn=place, owners=owners)
        outside = given[rank].to(context.device, torch.float32)
        context.mark(f"a collective behind replay {turn}")
        dist.all_reduce(outside)
        title = f"a sum outside the graph, behind replay {turn}"
        context.check("value", title, outside, sum(given), tolerance=0.0, step=turn, turn=9)
    del graph


_GRAPH = Proof(
    "three replays of a captured graph with all-reduce, all-gather and reduce-scatter, with different whole numbers "
    "in each, and a sum outside the graph after each",
    "the same sums, worked out on the CPU",
    (EXACT,),
)
MODES = (
    Mode(
        "captured-collectives",
        "collectives in a graph that is captured once and replayed (CUDA and HIP graphs)",
        captured,
        _GRAPH,
        full=True,
        leaves=True,
    ),
)
