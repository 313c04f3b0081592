"""Context parallel within sharded data parallel: some ranks share the sequence of the same rows (Ulysses), all share
the parameters (FSDP2), and a pair of them each tensor-parallel projection.

The output of every block is compared on each rank, for its rows and its part of the sequence, in the order of blocks: a
wrong exchange is seen first at the rank that got it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from .. import flow as flows
from .. import model as models
from .. import plain, shards
from ..context import Context
from ..exchange import all_to_all
from ..mode import Mode
from ..tolerance import EXACT, PLAIN, Proof, usual
from .combined import Grid
from .fsdp2 import trains
from .tensor_parallel import needs, split

ORDER = 91
_LAYERS, _PARTS = 2, 2


def by_heads(context: Context, group: Any, parts: int) -> Callable[[Any, Any, Any], Any]:
    """Causal attention over a sequence whose parts are on the ranks of a group: each attends for a part of the heads.

    Query, key and value: (batch, heads, part of the sequence, 8); the result likewise.
    """
    torch = context.torch
    exchange, ones = all_to_all(context, group), [1] * parts

    def move(tensor: Any, gives: int, takes: int) -> Any:
        return torch.cat(exchange(torch.stack(tensor.chunk(parts, gives)), ones, ones).unbind(0), takes)

    def attend(query: Any, key: Any, value: Any) -> Any:
        whole = [move(one, 1, 2) for one in (query, key, value)]
        return move(torch.nn.functional.scaled_dot_product_attention(*whole, is_causal=True), 2, 1)

    return attend


def _blocks(context: Context) -> list[list[Any]]:
    """What one process gets behind each block in each step: (batch, sequence, width); made once a pool."""

    def make() -> list[list[Any]]:
        torch, found = context.torch, []
        model, wanted = plain.model(torch, context.sizes, _LAYERS), flows.training(context, _LAYERS)
        for step, (tokens, _) in enumerate(models.batches(torch, context.sizes, 2)):
            model.load_state_dict(wanted.before[step])
            seen: list[Any] = []
            handles = [
                one.register_forward_hook(lambda _m, _i, out, to=seen: to.append(out.detach())) for one in model.blocks
            ]
            model(tokens)
            for one in handles:
                one.remove()
            found.append(seen)
        return found

    found: list[list[Any]] = context.cached("behind blocks", make)
    return found


def run(context: Context, tp: int) -> None:
    """Two steps with SGD on ``rows x _PARTS x tp`` ranks."""
    context.need(
        context.world % (_PARTS * tp) == 0, f"needs a multiple of {_PARTS * tp} ranks, here are {context.world}"
    )
    needs(context)
    fully_shard, torch = trains(context).fully_shard, context.torch
    rows = context.world // (_PARTS * tp)
    grid = Grid(context, 1, rows * _PARTS, tp)
    mesh = context.mesh(rows, _PARTS, tp, names=("rows", "sequence", "tensor"))
    own_rows, own_part = grid.dp // _PARTS, grid.dp % _PARTS
    context.facts["mesh"] = f"sharded data {rows} x sequence {_PARTS} x tensor {tp}"
    attention = by_heads(context, mesh["sequence"].get_group(), _PARTS)
    model = models.build(torch, context.sizes, _LAYERS, attention=attention).to(context.device)
    if tp > 1:
        split(context, model, grid.mesh["tp"], whole=grid.whole)
    context.mark("sharding")
    for block in model.blocks:
        fully_shard(block, mesh=grid.mesh["dp"])
    fully_shard(model, mesh=grid.mesh["dp"])
    seen: list[Any] = []
    handles = [one.register_forward_hook(lambda _m, _i, out: seen.append(out.detach())) for one in model.blocks]

    def mine(whole: Any) -> Any:
        return shards.chunk(shards.chunk(whole, rows, own_rows), _PARTS, own_part, 1)

    wanted, behind = flows.training(context, _LAYERS), _blocks(context)
    names = [name for name, _ in model.named_parameters()]
    optimizer = models.optimizer_for(torch, "sgd", model.parameters())
    for step, (tokens, targets) in enumerate(context.batches()):
        context.mark(f"step {step}: forward and backward")
        held, same = shards.parameter_parts(model), 0.0 if step == 0 else None
        context.check_all("before", held, grid.held(wanted.before[step], names), step=step, tolerance=same)
        optimizer.zero_grad()
        seen.clear()
        loss = models.loss_of(torch, model(mine(tokens)), mine(targets).contiguous())
        for number, (got, whole) in enumerate(zip(seen, behind[step])):
            part = mine(whole)
            scale = float(whole.abs().max())
            context.check("value", f"output of blocks.{number}", got, part, step=step, turn=10 + number, scale=scale)
        loss.backward()
        total = loss.detach().clone()
        context.mark(f"step {step}: mean of the losses")
        torch.distributed.all_reduce(total)
        context.check("loss", "loss", total / context.world, wanted.losses[step], step=step)
        context.check_all("grad", shards.gradient_parts(model), grid.held(wanted.grads[step], names), step=step)
        context.mark(f"step {step}: optimizer")
        optimizer.step()
        context.check_all("param", shards.parameter_parts(model), grid.held(wanted.after[step], names), step=step)
    for one in handles:
        one.remove()


_LONG = Proof(
    "training steps with the sequence, the rows and the parameters on different ranks: the output of each block for a "
    "rank's part, the loss, its shards of gradients and of parameters",
    PLAIN,
    (EXACT, *usual("before", "value", "loss", "grad", "param")),
)
MODES = (
    Mode(
        "fsdp-cp",
        "sharded data parallel (FSDP2) with context parallel (Ulysses)",
        partial(run, tp=1),
        _LONG,
        full=True,
        min_world=4,
    ),
    Mode(
        "fsdp-cp-tp",
        "the same over tensor parallel",
        partial(run, tp=2),
        _LONG,
        full=True,
        min_world=8,
    ),
)
