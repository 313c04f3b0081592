"""Tensor parallel with torch's plans: columns and rows of the projections split, with and without a split sequence."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from .. import flow as flows
from .. import model as models
from .. import plain, shards
from ..context import Context
from ..mode import Mode

ORDER = 50
# A layer costs four exchanges a step, and twelve with a split sequence; more layers show the same.
_LAYERS, _LAYERS_SEQUENCE = 2, 1
# The dimension in which each module's weight and bias are split; the bias of a row-wise projection is on every rank.
_SPLIT = {
    "embedding": (0, None),
    "head": (0, None),
    "query": (0, None),
    "key": (0, None),
    "value": (0, None),
    "up": (0, 0),
    "output": (1, None),
    "down": (1, None),
}


def needs(context: Context) -> Any:
    """torch's module of parallel styles, or the end of the mode."""
    try:
        from torch.distributed.device_mesh import init_device_mesh  # noqa: F401
        from torch.distributed.tensor import parallel as styles
    except ImportError as error:
        context.need(False, f"needs torch 2.2: device meshes and tensor-parallel plans ({error})")
        raise
    known = inspect.signature(styles.ColwiseParallel.__init__).parameters
    context.need("input_layouts" in known and "_prepare_input" not in known, "needs torch 2.2: ColwiseParallel layouts")
    return styles


def placements() -> Any:
    """The module that has Shard and Replicate: public since torch 2.5."""
    try:
        from torch.distributed import tensor as found

        found.Shard  # noqa: B018
    except (ImportError, AttributeError):
        from torch.distributed import _tensor as found  # type: ignore[no-redef, unused-ignore]
    return found


def split_dim(name: str) -> int | None:
    """The dimension in which a parameter is split among tensor-parallel ranks."""
    *path, kind = name.split(".")
    weight, bias = _SPLIT.get(path[-1], (None, None))
    return weight if kind == "weight" else bias


def plan(styles: Any, names: Any, sequence: bool) -> dict[str, Any]:
    """The plan for the modules named: Megatron's split, the vocabulary included."""
    kinds = placements()
    rows = kinds.Shard(1) if sequence else kinds.Replicate()
    found: dict[str, Any] = {}
    for name in names:
        last = name.rsplit(".", 1)[-1]
        if last == "embedding":
            found[name] = styles.RowwiseParallel(input_layouts=kinds.Replicate(), output_layouts=rows)
        elif last in ("query", "key", "value", "up"):
            found[name] = styles.ColwiseParallel(input_layouts=rows)
        elif last in ("output", "down"):
            found[name] = styles.RowwiseParallel(output_layouts=rows)
        elif last == "head":
            found[name] = styles.ColwiseParallel(input_layouts=rows, output_layouts=kinds.Replicate())
        elif sequence and last in ("norm1", "norm2", "norm"):
            found[name] = styles.SequenceParallel()
    return found


def split(context: Context, model: Any, mesh: Any, sequence: bool = False, whole: str = "") -> Any:
    """Split a model over a mesh of one dimension; ranks begin with different numbers where torch hands out rank 0's.

    ``whole``: a module that is left as it is.
    """
    styles = needs(context)
    if sequence:
        context.need(hasattr(styles, "SequenceParallel"), "needs torch 2.3: SequenceParallel")
    place = mesh.get_coordinate()[0]
    with context.torch.no_grad():
        for name, one in model.named_parameters():
            if place and name.split(".")[-2] in _SPLIT and name.rpartition(".")[0] != whole:
                one.add_(place)
    context.mark("handing out the parts of the weights")
    modules = [name for name, module in model.named_modules() if not [*module.children()] and name != whole]
    return styles.parallelize_module(model, mesh, plan(styles, modules, sequence))


def part(full: Any, name: str, world: int, rank: int) -> Any:
    """What a tensor-parallel rank holds of a parameter or of its gradient."""
    dim = split_dim(name)
    return full if dim is None else shards.chunk(full, world, rank, dim)


def parts(full: Mapping[str, Any], world: int, rank: int) -> dict[str, Any]:
    """``part`` of all."""
    return {name: part(one, name, world, rank) for name, one in full.items()}


def check_gradients(
    context: Context,
    model: Any,
    full: Mapping[str, Any],
    flow: flows.Flow,
    before: Mapping[str, Any],
    step: int,
    layers: int,
) -> list[str]:
    """Compare this rank's gradients. Those of a norm over a part of the sequence are not summed yet: its own share.

    The names of those that are whole; of others an exchange still follows.
    """
    turns = flows.gradient_turns(layers)
    got, wanted, own, shares = {}, {}, {}, {}
    for name, one in model.named_parameters():
        if one.grad is None:
            context.expect("grad", name, False, "has no gradient", step=step, turn=turns[name], layer="framework")
            continue
        if not shards.is_sharded(one.grad):
            got[name], wanted[name] = one.grad, part(full[name], name, context.world, context.rank)
        elif not shards.is_partial(one.grad):
            got[name], wanted[name] = shards.local_of(one.grad), shards.part_like(full[name], one.grad)
        elif "norm" in name:  # of other summands the new parameters tell
            own[name] = shards.local_of(one.grad)
            shares[name] = norm_share(context, name, flow, before)
    # Each is computed from what came in and what came back, which are compared before: no exchange lies between. Of the
    # embedding's output it is not seen what comes back.
    computed = {name: "device" for name in got if "embedding" not in name}
    context.check_all("grad", got, wanted, step=step, turns=turns, layer=computed)
    context.check_all("local", own, shares, step=step, turns=turns)
    return [*got]


def norm_share(context: Context, name: str, flow: flows.Flow, before: Mapping[str, Any]) -> Any:
    """The gradient of a norm's weight or bias from this rank's part of the sequence alone."""
    torch = context.torch
    module, _, kind = name.rpartition(".")
    x, back = (
        shards.chunk(full, context.world, context.rank, 1)
        for full in (flow.values[f"input of {module}"], flow.grads[f"output of {module}"])
    )
    with torch.enable_grad():
        one = before[name].clone().requires_grad_()
        both = {"weight": before[f"{module}.weight"], "bias": before[f"{module}.bias"], kind: one}
        normed = plain.layer_norm(x, both["weight"], both["bias"])
        return torch.autograd.grad(normed, one, back)[0]


def places(
    layers: int, names: Any, world: int, rank: int, sequence: bool, own: str = "local"
) -> dict[str, flows.ComparedPlace]:
    """Where a tensor-parallel rank is watched: before each exchange its own part, behind it the result."""
    turns = flows.turns(layers)

    def columns(full: Any) -> Any:
        return shards.chunk(full, world, rank, full.ndim - 1)

    def result(full: Any) -> Any:
        return shards.chunk(full, world, rank, 1) if sequence else full

    found = {}
    for name in names:
        last = name.rsplit(".", 1)[-1]
        if last in ("output", "down"):
            at = f"input of {name}"
            found[at] = flows.ComparedPlace(own, own, at, turns[at], columns)
        if last in ("output", "down", "embedding"):
            at = f"output of {name}"
            found[at] = flows.ComparedPlace("value", None, at, turns[at], result)
        if last in ("norm1", "norm2", "norm"):
            at = f"output of {name}"
            found[at] = flows.ComparedPlace(own, "value", at, turns[at], result)
        if last == "head":
            at = f"output of {name}"
            found[at] = flows.ComparedPlace("value", None, at, turns[at], _whole)
        if sequence and last in ("query", "key", "value", "up", "head"):
            at = f"input of {name}"
            found[f"whole {at}"] = flows.ComparedPlace("value", None, at, turns[at], _whole, side="arriving")
        if sequence and last in ("output", "down"):
            at = f"output of {name}"
            found[f"whole {at}"] = flows.ComparedPlace(None, "value", at, turns[at], _whole, side="leaving")
    return found


def _whole(full: Any) -> Any:
    return full


def taps_for(model: Any, watched: Mapping[str, flows.ComparedPlace]) -> flows.Taps:
    """Hooks at the places of a model."""
    modules = dict(model.named_modules())
    return flows.Taps({name: (modules[name.rpartition(" ")[2]], place.side) for name, place in watched.items()})


def train(context: Context, sequence: bool) -> None:
    """Two steps with SGD on the same whole batch at every rank."""
    torch, world, rank = context.torch, context.world, context.rank
    needs(context)
    layers = _LAYERS_SEQUENCE if sequence else _LAYERS
    mesh = context.mesh(world, names=("tp",))
    model = split(context, context.build(layers), mesh, sequence)
    wanted, flow = flows.training(context, layers), flows.reference(context, layers)
    watched = places(layers, flows.modules_in_order(layers), world, rank, sequence)
    taps = taps_for(model, watched)
    optimizer = models.optimizer_for(torch, "sgd", model.parameters())
    for step, (tokens, targets) in enumerate(context.batches()):
        context.mark(f"step {step}: forward and backward")
        context.check_all(
            "before",
            shards.parameter_parts(model),
            parts(wanted.before[step], world, rank),
            step=step,
            tolerance=0.0 if step == 0 else None,
        )
        context.clear(optimizer, step)
        taps.clear()
        loss = models.loss_of(torch, model(tokens), targets)
        loss.backward()
        flows.check(context, taps, watched, flow[step], [slice(None)], 1.0, step)
        context.check("loss", "loss", loss, wanted.losses[step], step=step)
        whole = check_gradients(context, model, wanted.grads[step], flow[step], wanted.before[step], step, layers)
        context.mark(f"step {step}: optimizer")
        optimizer.step()
        after = parts(wanted.after[step], world, rank)
        held, moved_from = shards.parameter_parts(model), parts(wanted.before[step], world, rank)
        computed = dict.fromkeys(whole, "device")
        context.check_all("param", held, after, step=step, layer=computed, moved_from=moved_from)
    taps.remove()


def tensor_parallel(context: Context) -> None:
    """Projections split by columns and rows, embedding and head by the vocabulary."""
    train(context, sequence=False)


def sequence_parallel(context: Context) -> None:
    """The same, and between the projections each rank holds a part of the sequence."""
    train(context, sequence=True)


MODES = (
    Mode("tensor-parallel", "tensor parallel (column- and row-wise projections)", tensor_parallel, flows.FLOWN),
    Mode(
        "sequence-parallel", "tensor parallel with a split sequence between projections", sequence_parallel, flows.FLOWN
    ),
)
