"""FSDP2 (fully_shard): parameters, gradients and optimizer split among all ranks, or within replicas."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from .. import compiling, shards
from ..compare import BACKWARD_TURN, END_TURN
from ..context import Context
from ..mode import Mode, release
from ..sharded import SHARDED, SHARDED_SHORT, SHORT, Layout, Probe, ShardedStep, steps_fp32, steps_mixed, train

ORDER = 40


def library(context: Context) -> Any:
    """The module that has ``fully_shard`` and its policies."""
    for name in ("torch.distributed.fsdp", "torch.distributed._composable.fsdp"):
        try:
            found = importlib.import_module(name)
        except ImportError:
            continue
        if hasattr(found, "fully_shard") and hasattr(found, "MixedPrecisionPolicy"):
            return found
    context.need(False, "needs torch 2.4 or later: this one has no fully_shard (FSDP2)")
    return None


def trains(context: Context) -> Any:
    """``library`` where it can also train on this device."""
    found = library(context)
    words = "FSDP2 in this torch creates CUDA streams even on the CPU: needs a later release, or a GPU"
    context.need(context.device.type != "cpu" or _knows_other_devices(), words)
    streams = getattr(getattr(context.torch, "cpu", None), "Stream", None)
    words = "FSDP2 in this torch needs events that CPU streams do not have: needs torch 2.10 or later, or a GPU"
    context.need(context.device.type != "cpu" or hasattr(streams, "record_event"), words)
    words = (
        "gloo in this torch returns a sum where FSDP2 asks reduce-scatter for a mean: its gradients are "
        f"{context.world} times too large. Train with FSDP2 on GPUs, or with torch 2.10 or later"
    )
    context.need(context.device.type != "cpu" or _means_are_means(context), words)
    return found


def _means_are_means(context: Context) -> bool:
    """Whether gloo takes means in a reduce-scatter: not that of torch 2.8; that of torch 2.10 and 2.13 does (run here).

    Later releases are not asked, so that a mode still catches it.
    """
    torch, dist = context.torch, context.torch.distributed
    if release(torch) >= (2, 10) or context.backend != "gloo":
        return True

    def ask() -> bool:
        ones, own = torch.ones(context.world), torch.zeros(1)
        try:
            dist.reduce_scatter_tensor(own, ones, op=dist.ReduceOp.AVG)
        except (RuntimeError, ValueError):
            return True  # it refuses, and FSDP2 then asks for a sum
        return float(own) == 1.0

    return bool(context.cached("means of gloo", ask))


def _knows_other_devices() -> bool:
    """Whether FSDP2 asks the device for its streams; that of torch 2.4 takes CUDA for granted."""
    for name in ("torch.distributed.fsdp._fully_shard", "torch.distributed._composable.fsdp"):
        try:
            inner = importlib.import_module(f"{name}._fsdp_param_group")
        except ImportError:
            continue
        begin = getattr(getattr(inner, "FSDPCommContext", None), "lazy_init", None)
        return begin is not None and "device" in inspect.signature(begin).parameters
    return True  # another layout: the mode tells by itself


class Shards(Layout):
    """Each parameter is cut along its first dimension into as many parts as a replica has ranks."""

    def __init__(self, context: Context, model: Any, replicas: int = 1) -> None:
        super().__init__(context, replicas, context.world // replicas)
        self._torch, self._model = context.torch, model
        total = sum(one.numel() for one in self.part(dict(model.named_parameters())).values())
        context.facts.update(replicas=replicas, shards=self.shards, elements_per_rank=total)

    def parameters(self) -> dict[str, Any]:
        return shards.parameter_parts(self._model)

    def gradients(self) -> dict[str, Any]:
        return shards.gradient_parts(self._model)

    def part(self, full: Mapping[str, Any]) -> dict[str, Any]:
        return {name: shards.chunk(one, self.shards, self.index) for name, one in full.items()}

    def owners(self, full: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self._owner(one) for name, one in full.items()}

    def _owner(self, tensor: Any) -> Any:
        rows = tensor.shape[0]
        ranks = self._torch.arange(rows) // -(-rows // self.shards) + self.first
        return ranks.view(-1, *[1] * (tensor.ndim - 1))

    def correct(self, full: Mapping[str, Any]) -> None:
        """Set this rank's shards to what they should be."""
        wanted = self.part(full)
        with self._torch.no_grad():
            for name, one in self._model.named_parameters():
                shards.local_of(one).copy_(wanted[name])


def shard(context: Context, model: Any, replicas: int = 1, **options: Any) -> None:
    """Split each block, then the rest. ``replicas`` beyond one: HSDP, also when a replica is a single rank."""
    split = library(context).fully_shard
    if replicas == 1:
        mesh = context.mesh(context.world, names=("shard",))
    else:
        mesh = context.mesh(replicas, context.world // replicas, names=("replicate", "shard"))
    for block in model.blocks:
        split(block, mesh=mesh, **options)
    # The root keeps its own parameters until the backward by itself.
    split(model, mesh=mesh, **{name: value for name, value in options.items() if name != "reshard_after_forward"})


def run(
    context: Context,
    *,
    model: Any = None,
    replicas: int = 1,
    reshard: bool = True,
    steps: list[ShardedStep] | None = None,
    passes: int = 1,
    wrap: Callable[[Any], None] | None = None,
    seen: Callable[[int, Probe], None] | None = None,
    rounding: float | None = None,
    **options: Any,
) -> None:
    """Train on what ``wrap`` and FSDP2 make of the model (the usual one); ``seen`` looks on after each backward.

    ``passes``: how often each block should run in a step.
    """
    trains(context)
    context.need(hasattr(context.torch.distributed, "device_mesh"), "needs torch 2.2 or later: device meshes")
    steps = steps_fp32(context) if steps is None else steps
    model = context.build() if model is None else model
    probe, layout = Probe(model), Shards(context, model, replicas)
    if wrap is not None:
        wrap(model)
    context.mark("splitting the parameters")
    shard(context, model, replicas, reshard_after_forward=reshard, **options)

    def after_forward(step: int) -> None:
        now = probe.now()
        for unit, slots in probe.units.items():
            whole = [name for name in slots if not shards.is_sharded(now[name])]
            if unit and reshard:
                _expect(context, step, 1, unit, not whole, "still holds whole parameters after its forward")
            elif unit:
                _expect(context, step, 1, unit, len(whole) == len(slots), "gave its whole parameters back too early")

    def after_backward(step: int) -> None:
        whole = [name for name, one in probe.now().items() if not shards.is_sharded(one)]
        _expect(context, step, 3, (whole or ["sharding"])[0], not whole, "is still whole after the backward")
        for unit, count in probe.calls.items():
            wanted = passes if unit else 1
            _expect(context, step, 3, unit or "model", count == wanted, f"ran {count} times instead of {wanted}")
        if seen is not None:
            seen(step, probe)

    optimizer = context.torch.optim.SGD(model.parameters(), lr=0.1)
    train(
        context,
        steps,
        model,
        probe,
        layout,
        optimizer,
        rounding=rounding,
        after_forward=after_forward,
        after_backward=after_backward,
        correct=layout.correct if rounding else None,
    )


def _expect(context: Context, step: int, turn: int, name: str, holds: bool, words: str) -> None:
    context.expect("value", name, holds, words, step=step, turn=turn, layer="framework")


def full(context: Context) -> None:
    """Parameters are gathered for the forward of each block, given back, and gathered again for its backward."""
    run(context)


def no_reshard(context: Context) -> None:
    """Parameters stay whole from the forward to the backward of a block."""
    run(context, reshard=False)


def mixed(context: Context) -> None:
    """Parameters are gathered and used in bf16; gradients are added up in fp32."""
    torch = context.torch
    policy = library(context).MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)

    def seen(step: int, probe: Probe) -> None:
        for what, tensors in (("gathered parameters", probe.whole), ("own gradients", probe.gradients)):
            types = {str(one.dtype) for one in tensors.values()}
            _expect(context, step, 0, what, types == {"torch.bfloat16"}, f"are {', '.join(types)} instead of bf16")
        reduced = [shards.local_of(one.grad) for one in probe.now().values() if one.grad is not None]
        if context.world > 1 and any(one.numel() for one in reduced):
            short = all(bool((one == one.bfloat16().float()).all()) for one in reduced)
            context.expect(
                "grad",
                "gradients",
                not short,
                "were added up in bf16 instead of fp32",
                step=step,
                turn=BACKWARD_TURN + 1,
                layer="framework",
            )

    run(context, steps=steps_mixed(context, torch.bfloat16), rounding=SHORT, mp_policy=policy, seen=seen)


def hybrid(context: Context) -> None:
    """HSDP: two replicas, each split among half of the ranks; as many replicas as ranks where those are odd."""
    world = context.world
    model = context.build()
    steps = steps_fp32(context)

    def seen(step: int, _probe: Probe) -> None:
        named = {name: one for name, one in model.named_parameters() if name.startswith(("norm", "head"))}
        wanted = sum(float((steps[step].grad[name] ** 2).sum()) for name in named) ** 0.5
        context.mark(f"step {step}: gradient norm")
        norm = context.torch.nn.utils.clip_grad_norm_(list(named.values()), float("inf"))
        norm = norm.full_tensor() if shards.is_sharded(norm) else norm
        context.check("value", "gradient norm", norm, wanted, step=step, turn=END_TURN - 9, layer="framework")

    run(context, model=model, replicas=2 if world % 2 == 0 else world, seen=seen)
    if world == 2 or world % 2:
        context.facts["untested"] = "splitting within a replica, which needs an even number of ranks, 4 or more"


def checkpointed(context: Context) -> None:
    """Blocks forget their activations and compute them again in the backward."""
    from torch.distributed.algorithms._checkpoint import checkpoint_wrapper as wrappers

    def wrap(model: Any) -> None:
        for number, block in enumerate(model.blocks):
            model.blocks[number] = wrappers.checkpoint_wrapper(
                block, checkpoint_impl=wrappers.CheckpointImpl.NO_REENTRANT
            )

    run(context, wrap=wrap, passes=2)


def offloaded_activations(context: Context) -> None:
    """What blocks keep for their backward is copied to the memory of the CPU, and back when it is needed."""
    from torch.distributed.algorithms._checkpoint import checkpoint_wrapper as wrappers

    context.need(hasattr(wrappers, "offload_wrapper"), "needs torch 1.12 or later: offload_wrapper")

    def wrap(model: Any) -> None:
        for number, block in enumerate(model.blocks):
            model.blocks[number] = wrappers.offload_wrapper(block)

    run(context, wrap=wrap)


def compiled(context: Context) -> None:
    """The forward of two blocks is compiled, below the hooks that gather and free their parameters."""
    torch = context.torch
    compiling.needs(context)
    trains(context)

    def wrap(model: Any) -> None:
        for block in model.blocks[:2]:
            block.forward = torch.compile(block.forward)

    with compiling.counted(context):
        run(context, wrap=wrap)


def offload(context: Context) -> None:
    """Shards, their gradients and the optimizer live in the memory of the CPU."""
    context.need(context.device.type != "cpu", "needs a GPU: on the CPU there is nowhere to offload to")
    _offload(context, library(context).CPUOffloadPolicy())


def _offload(context: Context, policy: Any) -> None:
    def seen(step: int, probe: Probe) -> None:
        for name, one in probe.now().items():
            places = {shards.local_of(part).device.type for part in (one, one.grad) if part is not None}
            _expect(context, step, 4, name, places == {"cpu"}, f"or its gradient is on {', '.join(places)}")

    run(context, offload_policy=policy, seen=seen)


MODES = (
    Mode("fsdp2", "FSDP2: parameters, gradients and optimizer split", full, SHARDED),
    Mode("fsdp2-no-reshard", "FSDP2 that keeps gathered parameters until the backward pass", no_reshard, SHARDED),
    Mode("fsdp2-bf16", "FSDP2 in mixed precision: bf16 parameters, fp32 sums", mixed, SHARDED_SHORT),
    Mode("fsdp2-hsdp", "FSDP2 within replicas (HSDP)", hybrid, SHARDED, min_world=2),
    Mode("fsdp2-checkpointing", "FSDP2 with activation checkpointing", checkpointed, SHARDED),
    Mode(
        "fsdp2-activation-offload",
        "FSDP2 with activations in CPU memory",
        offloaded_activations,
        SHARDED,
        full=True,
    ),
    Mode("fsdp2-compile", "FSDP2 over compiled blocks", compiled, SHARDED, full=True, slow=6.0),
    Mode("fsdp2-offload", "FSDP2 with shards in CPU memory", offload, SHARDED),
)
