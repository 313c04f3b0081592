"""Parallelism in two to four dimensions: sharded data parallel over tensor parallel, some ranks of it sharing the
sequence of the same rows (context parallel, by Ulysses), and all of it within a pipeline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from .. import flow as flows
from .. import model as models
from .. import shards
from ..by_heads import ByHeads
from ..context import Context
from ..mode import Mode
from ..tolerance import EXACT, PLAIN, Proof, usual
from .fsdp2 import trains
from .pipeline import Pipeline, PipelineStage, schedule_class, stage_module
from .tensor_parallel import needs, part, places, split, taps_for

ORDER = 90
_LAYERS = 2
_MICRO = 2


class Grid:
    """This rank's place among ``pp`` x ``dp`` x ``tp`` ranks, the last counting fastest; one device mesh for all."""

    def __init__(self, context: Context, pp: int, dp: int, tp: int) -> None:
        self.sizes = (pp, dp, tp)
        self._torch = context.torch
        # Before torch 2.6 FSDP does not bring the embedding's gradient into the layout of its weight.
        self.whole = "" if hasattr(context.torch.distributed.fsdp, "fully_shard") else "embedding"
        self.pp, self.dp, self.tp = context.rank // (dp * tp), context.rank // tp % dp, context.rank % tp
        self.mesh = context.mesh(pp, dp, tp, names=("pp", "dp", "tp"))
        context.facts["mesh"] = f"pipeline {pp} x sharded data {dp} x tensor {tp}"
        place = [*self.mesh.get_coordinate()]
        context.expect(
            "before",
            "device mesh",
            place == [self.pp, self.dp, self.tp] and self._sizes() == self.sizes,
            f"puts this rank at {place} of {self._sizes()}",
            layer="framework",
        )

    def _sizes(self) -> tuple[int, ...]:
        return tuple(self.mesh[name].size() for name in ("pp", "dp", "tp"))

    def part(self, full: Mapping[str, Any], name: str) -> Any:
        """What this rank's tensor-parallel place holds of a whole parameter or gradient."""
        if name.rpartition(".")[0] == self.whole:
            return full[name]
        return part(full[name], name, self.sizes[2], self.tp)

    def held(self, full: Mapping[str, Any], names: Any) -> dict[str, Any]:
        """What this rank holds of whole parameters or gradients: its part of the part of its tensor-parallel rank."""
        return {name: shards.chunk(self.part(full, name), self.sizes[1], self.dp) for name in names}

    def owners(self, whole: Mapping[str, Any]) -> dict[str, Any]:
        """The rank that each row of a gathered parameter came from, in a shape that broadcasts to it."""
        _, dp, tp = self.sizes
        found = {}
        for name, one in whole.items():
            rank = (self._torch.arange(one.shape[0]) // -(-one.shape[0] // dp) + self.pp * dp) * tp + self.tp
            found[name] = rank.reshape(-1, *[1] * (one.ndim - 1))
        return found


class Gathered:
    """What sharded data parallel hands to the innermost modules as their parameters, at the first call of a step."""

    def __init__(self, modules: Mapping[str, Any]) -> None:
        self.found: dict[str, Any] = {}
        self._handles = [one.register_forward_pre_hook(self._before(name)) for name, one in modules.items()]

    def _before(self, name: str) -> Callable[..., None]:
        def hook(module: Any, _inputs: Any) -> None:
            for kind, one in module.named_parameters():
                if f"{name}.{kind}" not in self.found:
                    self.found[f"{name}.{kind}"] = shards.local_of(one).clone()

        return hook

    def remove(self) -> None:
        """Take the hooks away."""
        for handle in self._handles:
            handle.remove()


class SharedSequence:
    """What ``parts`` neighbouring data-parallel ranks do with the same rows: each has a part of the sequence.

    ``rows``: how many such groups there are; ``row`` and ``part``: this rank's place. One part is the whole sequence.
    """

    def __init__(self, context: Context, grid: Grid, parts: int) -> None:
        pp, dp, tp = grid.sizes
        self.parts, self.rows = parts, dp // parts
        self.row, self.part = grid.dp // parts, grid.dp % parts
        self.attention: ByHeads | None = None
        if parts > 1:
            mesh = context.mesh(pp, self.rows, parts, tp, names=("stage", "rows", "sequence", "tensor"))
            self.attention = ByHeads(context, mesh["sequence"].get_group(), parts, self.part, tp, grid.tp)
            context.facts["mesh"] = f"pipeline {pp} x sharded data {self.rows} x sequence {parts} x tensor {tp}"

    def cut(self, full: Any) -> Any:
        """This rank's part of the sequence, which is dimension 1."""
        return shards.chunk(full, self.parts, self.part, 1) if self.parts > 1 else full

    def watch(self, places: dict[str, flows.ComparedPlace], blocks: Any, tp: int) -> None:
        """Cut what is compared, and look behind each block too."""
        if self.parts == 1:
            return
        for one in places.values():
            one.cut = self._after(one.cut)
        turns, stage = flows.turns(_LAYERS), "local" if tp == 1 else "value"
        for number in blocks:
            known, turn = f"behind blocks.{number}.down", turns[f"output of blocks.{number}.down"] + 1
            places[f"output of blocks.{number}"] = flows.ComparedPlace(
                stage, None, known, turn, self.cut, side="output"
            )

    def _after(self, first: flows.Cut) -> flows.Cut:
        return lambda full: self.cut(first(full))


def run(context: Context, pp: int, dp: int, tp: int, cp: int = 1) -> None:
    """Two steps with SGD; each data-parallel rank has its own rows, or ``cp`` of them parts of the sequence of the same
    rows; each pipeline stage has ``_LAYERS / pp`` blocks."""
    torch = context.torch
    needs(context)
    fully_shard = trains(context).fully_shard
    kind = schedule_class(context, "Schedule1F1B") if pp > 1 else None
    grid = Grid(context, pp, dp, tp)
    shared = SharedSequence(context, grid, cp)
    wanted, flow = flows.training(context, _LAYERS), flows.reference(context, _LAYERS)
    stage = PipelineStage(grid.pp, pp, _LAYERS)
    model = models.build(torch, context.sizes, _LAYERS, attention=shared.attention).to(context.device)
    module = stage_module(torch, model, stage)
    if tp > 1:
        split(context, module, grid.mesh["tp"], whole=grid.whole)
    inner = {name: one for name, one in module.named_modules() if not [*one.children()]}
    context.mark("sharding")
    options = {"mesh": grid.mesh["dp"], "reshard_after_forward": pp == 1}
    for block in module.blocks.values():
        fully_shard(block, **options)
    fully_shard(module, **options)
    size = context.sizes.batch // shared.rows
    rows = slice(shared.row * size, (shared.row + 1) * size)
    micro = _MICRO if pp > 1 else 1
    many = [slice(rows.start + turn * size // micro, rows.start + (turn + 1) * size // micro) for turn in range(micro)]
    watched = places(_LAYERS, inner, tp, grid.tp, False) if tp > 1 else {}
    shared.watch(watched, stage.blocks, tp)
    taps, gathered = taps_for(module, watched), Gathered(inner)
    pipe = None
    if kind is not None:
        group = grid.mesh["pp"].get_group()
        holders = [number * dp * tp + context.rank % (dp * tp) for number in range(pp)]
        pipe = Pipeline(context, kind, [stage], [module], holders, _LAYERS, micro, size, group, shared.cut)
    factor = dp * micro / (pipe.share if pipe else 1)
    names = [name for name, _ in module.named_parameters()]
    turns, back = flows.turns(_LAYERS), flows.gradient_turns(_LAYERS)
    optimizer = models.optimizer_for(torch, "sgd", module.parameters())
    for step, (tokens, targets) in enumerate(context.batches()):
        context.mark(f"step {step}: forward and backward")
        context.check_all(
            "before",
            shards.parameter_parts(module),
            grid.held(wanted.before[step], names),
            step=step,
            tolerance=0.0 if step == 0 else None,
        )
        context.clear(optimizer, step)
        losses: list[Any] = []
        own_tokens, own_targets = (shared.cut(one[rows]).contiguous() for one in (tokens, targets))
        if shared.attention is not None:
            shared.attention.calls.clear()
        taps.clear()
        gathered.found.clear()
        if pipe is not None:
            losses = pipe.step(own_tokens, own_targets)
        else:
            loss = models.loss_of(torch, module(own_tokens), own_targets)
            loss.backward()
            right = shared.cut(flow[step].losses[rows]).mean()
            context.check("loss", "loss of this rank's rows", loss, right, step=step)
        whole = {name: grid.part(wanted.before[step], name) for name in names}
        # Ahead of what its module computes with it.
        context.check_all(
            "value",
            gathered.found,
            whole,
            step=step,
            tolerance=0.0 if step == 0 else context.limit("before"),
            turns={name: turns[f"input of {name.rpartition('.')[0]}"] - 1 for name in names},
            owners=grid.owners(whole),
        )
        flows.check(context, taps, watched, flow[step], many, factor, step)
        if shared.attention is not None:
            shared.attention.check(context, stage.blocks, flow[step], many, factor, step)
        if pipe is not None:
            pipe.check(flow[step], losses, rows, step)
        context.check_all(
            "grad", shards.gradient_parts(module), grid.held(wanted.grads[step], names), step=step, turns=back
        )
        context.mark(f"step {step}: optimizer")
        optimizer.step()
        after = grid.held(wanted.after[step], names)
        before = grid.held(wanted.before[step], names)
        context.check_all("param", shards.parameter_parts(module), after, step=step, layer="device", moved_from=before)
    taps.remove()
    gathered.remove()
    if pipe is not None:
        pipe.close()


def _grid(context: Context, tp: int, pp: int, cp: int = 1) -> None:
    divisor = pp * tp * cp
    context.need(context.world % divisor == 0, f"needs a multiple of {divisor} ranks, here are {context.world}")
    run(context, pp, context.world // (pp * tp), tp, cp)


_LONG = Proof(
    "training steps with the sequence, the rows and the parameters on different ranks. Compared: "
    "what is exchanged for attention (forward and backward), the output of each block for a "
    "rank's part, the loss, its shards of gradients "
    "and of parameters",
    PLAIN,
    (EXACT, *usual("before", "local", "value", "loss", "grad", "param")),
)


def _mode(name: str, title: str, *, tp: int, pp: int, cp: int = 1, least: int = 4, full: bool = False) -> Mode:
    proof = flows.FLOWN if cp == 1 else _LONG
    return Mode(name, title, partial(_grid, tp=tp, pp=pp, cp=cp), proof, full=full, min_world=least)


MODES = (
    _mode("fsdp-tp", "sharded data parallel (FSDP2) over tensor parallel", tp=2, pp=1),
    _mode("pp-fsdp-tp", "pipeline of sharded data parallel over tensor parallel", tp=2, pp=2),
    _mode("pp-fsdp", "pipeline of sharded data parallel", tp=1, pp=2, full=True),
    _mode("fsdp-cp", "sharded data parallel (FSDP2) with context parallel (Ulysses)", tp=1, pp=1, cp=2, full=True),
    _mode("fsdp-cp-tp", "the same over tensor parallel", tp=2, pp=1, cp=2, full=True, least=8),
    _mode(
        "pp-fsdp-cp-tp",
        "FSDP2 with context, tensor and pipeline parallel at once (4D)",
        tp=2,
        pp=2,
        cp=2,
        full=True,
        least=8,
    ),
)
