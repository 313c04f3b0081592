"""Pipeline parallel with torch's schedules: what each stage gets and gives for every micro-batch is compared."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import partial
from typing import Any

from .. import flow as flows
from .. import model as models
from .. import shards
from ..compare import LOSS_TURN
from ..context import Context
from ..mode import Mode

ORDER = 60
# Schedule, name of its class, and the release that brought it (read in the sources of the releases).
_SINCE = {
    "ScheduleGPipe": "2.4",
    "Schedule1F1B": "2.4",
    "ScheduleLoopedBFS": "2.4",
    "ScheduleInterleaved1F1B": "2.4",
    "ScheduleInterleavedZeroBubble": "2.5",
    "ScheduleZBVZeroBubble": "2.6",
    "ScheduleDualPipeV": "2.9",
}


def schedule_class(context: Context, name: str) -> Any:
    """The class of a schedule, wherever this torch keeps it, or the end of the mode."""
    try:
        from torch.distributed import pipelining
        from torch.distributed.pipelining import schedules
    except ImportError as error:
        context.need(False, f"needs torch 2.4: torch.distributed.pipelining ({error})")
        raise
    found = getattr(pipelining, name, None) or getattr(schedules, name, None)
    context.need(found is not None, f"needs torch {_SINCE[name]}: {name}")
    words = "this torch waits only for the last of several exchanges: enough for nccl, but gloo hangs; needs torch 2.7"
    context.need(name == "ScheduleGPipe" or context.backend != "gloo" or not _waits_for_the_last(schedules), words)
    return found


def _waits_for_the_last(schedules: Any) -> bool:
    """Whether exchanges of several tensors are taken for one: nccl coalesces them, gloo does not (torch 2.4)."""
    exchange = getattr(schedules, "_batch_p2p", None)
    try:
        return exchange is not None and ".pop()" in inspect.getsource(exchange)
    except OSError:
        return False


class PipelineStage:
    """One stage of the model: which blocks, and what is around them."""

    __slots__ = ("blocks", "first", "last", "number")

    def __init__(self, number: int, stages: int, layers: int) -> None:
        self.number = number
        self.first, self.last = number == 0, number == stages - 1
        self.blocks = range(number * layers // stages, (number + 1) * layers // stages)


def stage_module(torch: Any, model: Any, part: PipelineStage) -> Any:
    """The part of a model; its parameters keep the names that they have in the whole model."""

    class Stage(torch.nn.Module):  # type: ignore[misc]
        """Tokens or hidden states in, hidden states or logits out."""

        def __init__(self) -> None:
            super().__init__()
            if part.first:
                self.embedding = model.embedding
            self.blocks = torch.nn.ModuleDict({str(number): model.blocks[number] for number in part.blocks})
            if part.last:
                self.norm, self.head = model.norm, model.head

        def forward(self, x: Any) -> Any:
            x = self.embedding(x) if part.first else x
            for block in self.blocks.values():
                x = block(x)
            return self.head(self.norm(x)) if part.last else x

    return Stage()


class Pipeline:
    """This rank's stages and their schedule.

    ``holders``: the rank that holds each stage. ``micro`` batches are cut from ``rows`` rows. ``group``: the ranks of
    the pipeline, by default all. ``cut``: this rank's part of the sequence (dimension 1), by default all of it.
    """

    def __init__(
        self,
        context: Context,
        kind: Any,
        parts: Sequence[PipelineStage],
        modules: Sequence[Any],
        holders: Sequence[int],
        layers: int,
        micro: int,
        rows: int,
        group: Any = None,
        cut: flows.Cut | None = None,
    ) -> None:
        self._context = context
        self._cut = cut or _whole
        # What 1F1B is for: a stage keeps no more than there are stages behind it, itself included.
        self._in_flight = len(holders) - parts[0].number if kind.__name__ == "Schedule1F1B" else 0
        self.parts, self.holders, self.layers, self.micro = parts, holders, layers, micro
        torch, sizes = context.torch, context.sizes
        stage_class = torch.distributed.pipelining.PipelineStage
        shape = self._cut(torch.empty(rows // micro, sizes.sequence, device="meta")).shape

        def example(part: PipelineStage, end: bool) -> Any:
            if part.first and not end:
                return torch.empty(shape, dtype=torch.int64, device="meta")
            width = sizes.vocabulary if part.last and end else sizes.width
            return torch.empty((*shape, width), device="meta", requires_grad=True)

        made = [
            stage_class(
                module,
                part.number,
                len(holders),
                context.device,
                input_args=(example(part, False),),
                output_args=(example(part, True),),
                group=group,
            )
            for part, module in zip(parts, modules)
        ]
        known = inspect.signature(kind.__init__).parameters
        several = "stages" in known
        # Until torch 2.6 schedules add up the gradients of the micro-batches; later they take the mean.
        self.share = 1 if "scale_grads" in known else micro
        loss = partial(_loss, torch, self.share)
        self.schedule = kind(made if several else made[0], n_microbatches=micro, loss_fn=loss)
        self.taps = flows.Taps(
            {
                f"{side} of stage {part.number}": (module, side)
                for part, module in zip(parts, modules)
                for side in ("input", "output")
            }
        )

    def step(self, tokens: Any, targets: Any) -> list[Any]:
        """One run over all micro-batches; gives the loss of each where the last stage is, else nothing."""
        self.taps.clear()
        losses: list[Any] = []
        last = any(part.last for part in self.parts)
        self.schedule.step(
            *([tokens] if any(part.first for part in self.parts) else []),
            **({"target": targets, "losses": losses} if last else {}),
        )
        return [one.detach() * self.share for one in losses]

    def places(self) -> dict[str, flows.ComparedPlace]:
        """Where the stages are watched: what comes in is another rank's, what goes out this rank's own."""
        turns = flows.turns(self.layers)
        found = {}
        for part in self.parts:
            before = f"blocks.{part.blocks[0] - 1}.down" if part.blocks[0] else "embedding"
            end = "head" if part.last else f"blocks.{part.blocks[-1]}.down"
            first, last = f"input of stage {part.number}", f"output of stage {part.number}"
            at = turns[f"output of {before}"]
            if part.first:
                found[first] = flows.ComparedPlace("input", None, "input of embedding", 0, self._cut)
            else:
                sender = self.holders[part.number - 1]
                found[first] = flows.ComparedPlace("value", "local", f"behind {before}", at + 2, self._cut, sender)
            behind = f"output of {end}" if part.last else f"behind {end}"
            at = turns[f"output of {end}"] + 1
            if part.last:
                found[last] = flows.ComparedPlace("local", None, behind, at, self._cut)
            else:
                found[last] = flows.ComparedPlace(
                    "local", "value", behind, at, self._cut, self.holders[part.number + 1]
                )
        return found

    def check(self, flow: flows.Flow, losses: Sequence[Any], rows: slice, step: int) -> None:
        """Compare the micro-batches with the given rows of the whole batch as one process sees it."""
        size = (rows.stop - rows.start) // self.micro
        many = [slice(rows.start + number * size, rows.start + (number + 1) * size) for number in range(self.micro)]
        losses_of = [self._cut(flow.losses[one]) for one in many]
        factor = flow.losses.numel() / losses_of[0].numel() / self.share
        flows.check(self._context, self.taps, self.places(), flow, many, factor, step)
        wanted = [one.mean() for one in losses_of]
        most = max(self.taps.most.get(f"output of stage {part.number}", 0) for part in self.parts)
        self._context.facts["micro-batches in flight"] = most
        if self._in_flight:
            words = f"kept {most} micro-batches in flight, not at most {self._in_flight}"
            self._context.expect("loss", "schedule", most <= self._in_flight, words, step=step, layer="framework")
        last = any(part.last for part in self.parts)
        self._context.expect(
            "loss",
            "losses",
            len(losses) == (self.micro if last else 0),
            f"there are {len(losses)} for {self.micro} micro-batches",
            step=step,
        )
        for number, (got, one) in enumerate(zip(losses, wanted)):
            hints = {f"that of micro-batch {other}": wanted[other] for other in range(self.micro) if other != number}
            self._context.check(
                "loss",
                f"loss of micro-batch {number}",
                got,
                one,
                step=step,
                hints=hints,
                turn=LOSS_TURN + number,
                layer="framework",
            )

    def close(self) -> None:
        """Take the hooks away."""
        self.taps.remove()


def _whole(full: Any) -> Any:
    return full


def _loss(torch: Any, share: int, logits: Any, targets: Any) -> Any:
    return models.loss_of(torch, logits, targets) / share


def holders_of(ranks: int, rounds: int, shape: str) -> list[int]:
    """The rank of each stage: round and round, or in a V down and up again."""
    if shape == "v":
        return [*range(ranks), *reversed(range(ranks))]
    return [*range(ranks)] * rounds


def run(context: Context, name: str, rounds: int = 1, shape: str = "loop") -> None:
    """Two steps with SGD; ``rounds`` stages on each rank."""
    torch, world, rank = context.torch, context.world, context.rank
    kind = schedule_class(context, name)
    stages = world * rounds
    layers = max(context.sizes.layers, stages)
    # Enough for every schedule (DualPipeV: as many as stages) and a divisor of the batch, 2 x world x ceil(4 / world).
    micro = world * -(-4 // world) * (2 if stages > 4 and shape == "v" else 1)
    wanted, flow = flows.training(context, layers), flows.reference(context, layers)
    model = context.build(layers)
    holders = holders_of(world, rounds, shape)
    parts = [PipelineStage(number, stages, layers) for number, holder in enumerate(holders) if holder == rank]
    modules = [stage_module(torch, model, part) for part in parts]
    context.mark("building the schedule")
    pipe = Pipeline(context, kind, parts, modules, holders, layers, micro, context.sizes.batch)
    both = torch.nn.ModuleList(modules)
    optimizer = models.optimizer_for(torch, "sgd", both.parameters())
    turns = flows.gradient_turns(layers)

    def mine(full: dict[str, Any]) -> dict[str, Any]:
        names = [one for module in modules for one, _ in module.named_parameters()]
        return {one: full[one] for one in names}

    def held(take: Any) -> dict[str, Any]:
        return {one: value for module in modules for one, value in take(module).items()}

    for step, (tokens, targets) in enumerate(context.batches()):
        context.check_all(
            "before",
            held(shards.parameter_parts),
            mine(wanted.before[step]),
            step=step,
            tolerance=0.0 if step == 0 else None,
        )
        context.clear(optimizer, step)
        context.mark(f"step {step}: {micro} micro-batches through {stages} stages")
        losses = pipe.step(tokens, targets)
        pipe.check(flow[step], losses, slice(0, context.sizes.batch), step)
        # What came in and what went back was right: where no value is, it was added up or scaled wrongly.
        place: dict[str, Any] = {"step": step, "turns": turns, "layer": "device", "whole_layer": "framework"}
        context.check_all("grad", held(shards.gradient_parts), mine(wanted.grads[step]), **place)
        optimizer.step()
        moved = held(shards.parameter_parts)
        before, after = mine(wanted.before[step]), mine(wanted.after[step])
        context.check_all("param", moved, after, step=step, layer="device", moved_from=before)
    pipe.close()


def _mode(name: str, words: str, schedule: str, rounds: int = 1, shape: str = "loop", full: bool = False) -> Mode:
    return Mode(
        name,
        f"pipeline parallel, {words}",
        partial(run, name=schedule, rounds=rounds, shape=shape),
        flows.FLOWN,
        full=full,
        min_world=2,
    )


MODES = (
    _mode("pipeline-gpipe", "all forward, then all backward (GPipe)", "ScheduleGPipe"),
    _mode("pipeline-1f1b", "one forward, one backward (1F1B)", "Schedule1F1B"),
    _mode("pipeline-looped-bfs", "two stages on each rank, breadth first", "ScheduleLoopedBFS", 2),
    _mode("pipeline-interleaved-1f1b", "two stages on each rank, 1F1B", "ScheduleInterleaved1F1B", 2),
    _mode("pipeline-zero-bubble", "two stages on each rank, zero bubble", "ScheduleInterleavedZeroBubble", 2),
    _mode("pipeline-zbv", "two stages on each rank in a V, zero bubble", "ScheduleZBVZeroBubble", 2, "v", True),
    _mode("pipeline-dualpipev", "two stages on each rank in a V, DualPipeV", "ScheduleDualPipeV", 2, "v", True),
)
