"""After a mode found wrong numbers: its parts once more, each by itself.

Not a mode of its own. Each rank computes its share of the model with nothing around it, and all ranks make every
exchange with exact values, through the library's own functions and through those that tensors on meshes use. What is
right here was not the cause of what was wrong everywhere; what is wrong here explains it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from . import model as models
from .context import Context
from .exact_values import all_values, exact_sum, refused
from .mode import Mode

NAME = "again"
# One, a size without a block, those of the model's buckets, and more than 1 MiB.
_SIZES = (1, 1027, 9216, (1 << 18) + 3)
_TURNS = 2  # a message before may lie in a buffer


def again(context: Context) -> None:
    """``facts``: ``exchanges``, those that came wrong to this rank; ``work``, whether its own part is right."""
    tokens, targets = context.batches(1)[0]
    context.mark("this rank's part of the model by itself")
    model = context.build()
    loss = models.loss_of(context.torch, model(context.share(tokens)), context.share(targets))
    loss.backward()
    wanted, local = context.share_alone("sgd", 2, 0, context.rank)
    count = len(context.comparison.faults)
    context.check("local", "loss", loss, wanted)
    context.check_all("local", models.gradients(model), local)
    context.facts["work"] = len(context.comparison.faults) == count
    context.facts["exchanges"] = sorted({name for name, right in _exchanges(context) if not right})


def _exchanges(context: Context) -> Iterator[tuple[str, bool]]:
    """(name, whether it brought what it should)."""
    torch, world, rank = context.torch, context.world, context.rank
    kinds = (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64)
    tries = [(size, torch.float32) for size in _SIZES] + [(1027, kind) for kind in kinds[1:]]
    for turn in range(_TURNS):
        for size, kind in tries:
            parts = all_values(context, size * world, kind, turn)
            total, mine = exact_sum(context, parts), slice(rank * size, (rank + 1) * size)
            own = [one[:size] for one in parts]
            right = {
                "all_reduce": total,
                "reduce_scatter": total[mine],
                "all_gather": torch.cat(own),
                "all_to_all": torch.cat([one[mine] for one in parts]),
                "send": own[rank - 1],
                "broadcast": own[turn % world],
            }
            for name, call in _calls(context, parts[rank], own[rank], turn % world):
                context.mark(f"{name} of {size} {kind} by itself")
                into: list[Any] = []
                if not refused(context, name, lambda: into.append(call())):  # noqa: B023
                    yield name, torch.equal(into[0], right[name.partition(" ")[0]])


def _calls(context: Context, whole: Any, own: Any, root: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    torch, dist, world, rank = context.torch, context.torch.distributed, context.world, context.rank
    gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
    scatter = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor

    def into(call: Callable[..., Any], given: Any, size: int) -> Callable[[], Any]:
        def made() -> Any:
            got = torch.empty(size, dtype=given.dtype, device=given.device)
            call(got, given.clone())
            return got

        return made

    def in_place(call: Callable[..., Any], given: Any, *more: Any) -> Callable[[], Any]:
        def made() -> Any:
            got = given.clone()
            call(got, *more)
            return got

        return made

    def passed_on() -> Any:
        got = torch.empty_like(own)
        ways = [dist.P2POp(dist.isend, own.clone(), (rank + 1) % world)]
        ways.append(dist.P2POp(dist.irecv, got, (rank - 1) % world))
        for one in dist.batch_isend_irecv(ways):
            one.wait()
        return got

    yield "all_reduce", in_place(dist.all_reduce, whole)
    yield "reduce_scatter", into(scatter, whole, own.numel())
    yield "all_gather", into(gather, own, own.numel() * world)
    yield "all_to_all", into(dist.all_to_all_single, whole, whole.numel())
    yield "send", passed_on
    yield "broadcast", in_place(dist.broadcast, own, root)
    try:
        from torch.distributed import _functional_collectives as functional
    except ImportError:
        return
    ways: tuple[tuple[str, str, Any, tuple[Any, ...]], ...] = (
        ("all_reduce of a mesh", "all_reduce", whole, ("sum",)),
        ("reduce_scatter of a mesh", "reduce_scatter_tensor", whole, ("sum", 0)),
        ("all_gather of a mesh", "all_gather_tensor", own, (0,)),
    )
    for name, function, given, more in ways:
        call = getattr(functional, function, None)
        if call is not None:
            yield name, partial(_of_mesh, functional, call, given, more, dist.group.WORLD)


def _of_mesh(functional: Any, call: Callable[..., Any], given: Any, more: tuple[Any, ...], group: Any) -> Any:
    return functional.wait_tensor(call(given.clone(), *more, group))


MODE = Mode(NAME, "the parts of a mode, each by itself", again, min_world=2)
