"""Context parallel within sharded data parallel: some ranks share the sequence of the same rows (Ulysses), all share
the parameters (FSDP2), and a pair of them each tensor-parallel projection.

What each rank gives to an exchange, what it gets, and the output of every block are compared in this order: a wrong
exchange is seen first at the rank that got it, wrong arithmetic at the rank that did it.
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


_Three = tuple[Any, Any, Any]
_NAMES = ("query", "key", "value")


class ByHeads:
    """Causal attention over a sequence whose parts are on the ranks of a group: each attends for a part of the heads.

    A function of query, key and value: (batch, heads, part of the sequence, 8); the result likewise. ``given`` and
    ``got`` are what each call put into the exchange, and what came: (batch, part of the heads, sequence, 8); ``back``
    is what it gave.
    """

    def __init__(self, context: Context, group: Any, parts: int) -> None:
        self._torch, self._parts = context.torch, parts
        self._exchange = all_to_all(context, group)
        self.given: list[_Three] = []
        self.got: list[_Three] = []
        self.back: list[Any] = []

    def __call__(self, query: Any, key: Any, value: Any) -> Any:
        attend = self._torch.nn.functional.scaled_dot_product_attention
        whole = (self._move(query, 1, 2), self._move(key, 1, 2), self._move(value, 1, 2))
        self.given.append((query.detach(), key.detach(), value.detach()))
        self.got.append((whole[0].detach(), whole[1].detach(), whole[2].detach()))
        back = self._move(attend(*whole, is_causal=True), 2, 1)
        self.back.append(back.detach())
        return back

    def _move(self, tensor: Any, gives: int, takes: int) -> Any:
        ones = [1] * self._parts
        parts = self._torch.stack(tensor.chunk(self._parts, gives))
        return self._torch.cat(self._exchange(parts, ones, ones).unbind(0), takes)


class BlockFlow:
    """What one process has in a block: query, key and value (batch, heads, sequence, 8), and the output."""

    def __init__(self) -> None:
        self.heads: dict[str, Any] = {}
        self.output: Any = None

    def keep(self, name: str) -> Callable[[Any, Any, Any], None]:
        """A hook that keeps what a projection gives."""

        def hook(_module: Any, _inputs: Any, out: Any) -> None:
            self.heads[name] = out.detach().unflatten(-1, (-1, 8)).transpose(1, 2)

        return hook

    def end(self, _module: Any, _inputs: Any, out: Any) -> None:
        """A hook that keeps the output."""
        self.output = out.detach()


def _blocks(context: Context) -> list[list[BlockFlow]]:
    """The flow through each block in each step; made once a pool."""

    def make() -> list[list[BlockFlow]]:
        torch, found = context.torch, []
        model, wanted = plain.model(torch, context.sizes, _LAYERS), flows.training(context, _LAYERS)
        for step, (tokens, _) in enumerate(models.batches(torch, context.sizes, 2)):
            model.load_state_dict(wanted.before[step])
            seen = [BlockFlow() for _ in model.blocks]
            handles = [block.register_forward_hook(one.end) for block, one in zip(model.blocks, seen)]
            for block, one in zip(model.blocks, seen):
                handles += [getattr(block, name).register_forward_hook(one.keep(name)) for name in _NAMES]
            model(tokens)
            for handle in handles:
                handle.remove()
            found.append(seen)
        return found

    found: list[list[BlockFlow]] = context.cached("behind blocks", make)
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
    attention = ByHeads(context, mesh["sequence"].get_group(), _PARTS)
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
        for many in (seen, attention.given, attention.got, attention.back):
            many.clear()
        loss = models.loss_of(torch, model(mine(tokens)), mine(targets).contiguous())
        for number, flow in enumerate(behind[step]):
            turn = 10 + 3 * number
            for place, name in enumerate(_NAMES):
                full = shards.chunk(shards.chunk(flow.heads[name], rows, own_rows), tp, grid.tp, 1)
                scale, title = float(full.abs().max()), f"{name} of blocks.{number}"
                given, got = attention.given[number][place], attention.got[number][place]
                own, all_of = shards.chunk(full, _PARTS, own_part, 2), shards.chunk(full, _PARTS, own_part, 1)
                context.check("local", title, given, own, step=step, turn=turn, scale=scale)
                context.check(
                    "value", f"{title}, of the whole sequence", got, all_of, step=step, turn=turn, scale=scale
                )
            whole = plain.attention(torch, *(flow.heads[name] for name in _NAMES))
            whole = shards.chunk(shards.chunk(whole, rows, own_rows), tp, grid.tp, 1)
            title, part = f"attention of blocks.{number}", shards.chunk(whole, _PARTS, own_part, 2)
            context.check("value", title, attention.back[number], part, step=step, turn=turn + 1)
            scale = float(flow.output.abs().max())
            title, part = f"output of blocks.{number}", mine(flow.output)
            stage = "local" if tp == 1 else "value"
            context.check(stage, title, seen[number], part, step=step, turn=turn + 2, scale=scale)
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
    "training steps with the sequence, the rows and the parameters on different ranks: what is exchanged for "
    "attention, the output of each block for a rank's part, the loss, its shards of gradients and of parameters",
    PLAIN,
    (EXACT, *usual("before", "local", "value", "loss", "grad", "param")),
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
