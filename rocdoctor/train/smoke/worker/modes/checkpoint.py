"""Sharded checkpoints (torch.distributed.checkpoint): saved by one sharding, loaded into another, all numbers equal."""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

from .. import shards
from ..checkpoint_files import files_are_whole
from ..context import Context
from ..mode import Mode, OtherRankFailed
from ..tolerance import EXACT, Proof
from . import fsdp2

ORDER = 95
# One block: the time goes by the number of tensors.
_LAYERS = 1
# What a saved optimizer has beside its moments: the rates of two groups of parameters, and the number of its steps.
_RATES, _STEPS = (2e-3, 3e-3), 5


def _expected(context: Context) -> dict[str, Any]:
    """Parameters and AdamW's moments by flat name, whole, the same numbers on every rank."""
    return context.cached("numbers of a checkpoint", lambda: _made(context))  # type: ignore[no-any-return]


def _made(context: Context) -> dict[str, Any]:
    """No step of training: a rank that computes it wrongly would have others named for what it saved."""
    torch, found = context.torch, {}
    generator = torch.Generator().manual_seed(19)
    for name, one in context.build(_LAYERS).named_parameters():
        for kind in ("", ", exp_avg", ", exp_avg_sq"):
            found[name + kind] = torch.rand(one.shape, generator=generator)
    context.compared("numbers of a checkpoint", [*found.values()])
    return {name: one.to(context.device) for name, one in found.items()}


class _Trained:
    """A model split in some way, with an optimizer that has moments: zeros at first."""

    def __init__(self, context: Context, split: Callable[[Any], None]) -> None:
        torch = context.torch
        self.model = context.build(_LAYERS)
        split(self.model)
        first, *rest = self.model.parameters()
        self.optimizer = torch.optim.AdamW([{"params": [first]}, {"params": rest}], lr=1e-3)
        with torch.no_grad():
            for one in self.model.parameters():
                one.grad = torch.zeros_like(one)
            self.optimizer.step()  # makes the moments
            for one in self.model.parameters():
                shards.local_of(one).zero_()
                one.grad = None

    def tensors(self) -> dict[str, Any]:
        """Parameters and moments by flat name, as they are held."""
        found = {}
        for name, one in self.model.named_parameters():
            found[name] = one
            for moment, state in self.optimizer.state[one].items():
                if hasattr(state, "ndim") and state.ndim:
                    found[f"{name}, {moment}"] = state
        return found

    def begin(self) -> None:
        """Be an optimizer that has made some steps with rates of its own."""
        for group, rate in zip(self.optimizer.param_groups, _RATES):
            group["lr"] = rate
        for one in self.optimizer.state.values():
            one["step"].fill_(_STEPS)

    def goes_on(self, context: Context, words: str, turn: int) -> None:
        """Whether rates and steps are those that were saved."""
        rates = tuple(group["lr"] for group in self.optimizer.param_groups)
        counts = {float(one["step"]) for one in self.optimizer.state.values()}
        for name, got, right in (("rates", rates, _RATES), ("numbers of steps", counts, {float(_STEPS)})):
            told = f"are {got} instead of {right}"
            context.expect("value", f"{name} in {words}", got == right, told, turn=turn, layer="framework")

    def parts(self) -> dict[str, Any]:
        """This rank's own parts of them."""
        return {name: shards.local_of(one) for name, one in self.tensors().items()}

    def state(self, library: Any) -> dict[str, Any]:
        """What is saved, or loaded into."""
        model, optimizer = library.get_state_dict(self.model, self.optimizer)
        return {"model": model, "optimizer": optimizer}

    def take(self, library: Any, state: dict[str, Any]) -> None:
        """Put what was loaded into the model and the optimizer."""
        library.set_state_dict(
            self.model, self.optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"]
        )


def reshard(context: Context) -> None:
    """Saved by FSDP2 among all ranks; loaded into two replicas, or into a whole model on fewer than four ranks."""
    tools = tools_for(context)
    replicas = 2 if context.world % 2 == 0 and context.world >= 4 else 1
    split = _mesh(context, replicas) if replicas > 1 else _whole
    _save_and_load(context, tools, [("two replicas" if replicas > 1 else "a model that is not split", split)])


def reshape(context: Context) -> None:
    """Saved by FSDP2 among all ranks; loaded into a whole model, into replicas, and into parts of other dimensions."""
    tools = tools_for(context)
    split = fsdp2.library(context).fully_shard
    many: list[tuple[str, _Split]] = [("a model that is not split", _whole), ("one unit", _units(context, split))]
    if context.world > 1:
        many.append(("replicas of one rank", _mesh(context, context.world)))
    if context.world % 2 == 0 and context.world >= 4:
        many.append(("two replicas", _mesh(context, 2)))
    if "shard_placement_fn" in inspect.signature(split).parameters:
        many.append(("parts of the last dimension", _columns(context, split)))
    _save_and_load(context, tools, many)


def resize(context: Context) -> None:
    """Saved by half of the ranks and loaded by all; saved by all and loaded by half."""
    torch, dist = context.torch, context.torch.distributed
    tools = tools_for(context)
    half = list(range(context.world // 2))
    mesh, group = context.cached("half of the ranks", lambda: half_of_ranks(context, half))
    inside = context.rank in half
    split = fsdp2.library(context).fully_shard
    for turn, (savers, loaders) in enumerate((("half", "all"), ("all", "half"))):
        folder = os.path.join(context.folder, f"checkpoint-{savers}")
        numbers = _expected(context)
        for who, save in ((savers, True), (loaders, False)):
            context.mark(f"{'saving' if save else 'loading'} by {who} of the ranks")
            if inside or who == "all":
                held = _Trained(context, _on(split, mesh) if who == "half" else _mesh(context, 1))
                among, many = (group, len(half)) if who == "half" else (None, context.world)
                wanted = shards.parts_like(numbers, held.tensors())
                if save:
                    _fill(torch, held, wanted)
                    _save(context, tools, held, folder, process_group=among)
                    if files_are_whole(context, tools.checkpoint.FileSystemReader, folder, 2 * turn, among, many):
                        _read_back(context, tools, held, folder, wanted, 2 * turn)
                elif files_are_whole(context, tools.checkpoint.FileSystemReader, folder, 2 * turn, among, many, False):
                    _load(context, tools, held, folder, process_group=among)
                    named = {f"{name}, saved by {savers}, loaded by {who}": one for name, one in held.parts().items()}
                    right = {f"{name}, saved by {savers}, loaded by {who}": one for name, one in wanted.items()}
                    context.check_all("value", named, right, tolerance=0.0, turn=2 * turn + 1, layer="framework")
            context.mark(f"waiting until {who} of the ranks have {'saved' if save else 'loaded'}")
            dist.barrier()
        remove_folder(context, folder)


# No value of a parameter or of a moment.
_UNREAD = -19.0
_Split = Callable[[Any], None]


class _Tools:
    """torch's checkpoint library and its functions for states."""

    def __init__(self, checkpoint: Any, state_dict: Any) -> None:
        self.checkpoint, self.state_dict = checkpoint, state_dict


def tools_for(context: Context) -> _Tools:
    """torch's library of checkpoints, or the end of the mode."""
    fsdp2.library(context)
    context.need(
        importlib.util.find_spec("torch.distributed.checkpoint.state_dict"),
        "needs torch 2.2 or later: torch.distributed.checkpoint.state_dict",
    )
    context.need(importlib.util.find_spec("numpy"), "torch exchanges the plan through NumPy, which is not installed")
    from torch.distributed import checkpoint
    from torch.distributed.checkpoint import state_dict

    context.need(hasattr(checkpoint, "save"), "needs torch 2.2 or later: torch.distributed.checkpoint.save")
    return _Tools(checkpoint, state_dict)


def _save_and_load(context: Context, tools: _Tools, targets: list[tuple[str, _Split]]) -> None:
    numbers = _expected(context)
    saved = _Trained(context, _mesh(context, 1))
    wanted = {name: shards.chunk(one, context.world, context.rank) for name, one in numbers.items()}
    wrong = [name for name, one in saved.parts().items() if one.shape != wanted[name].shape]
    context.expect("before", (wrong or ["shards"])[0], not wrong, "is not split among the ranks", layer="framework")
    if wrong:  # on all ranks alike
        return
    _fill(context.torch, saved, wanted)
    folder = os.path.join(context.folder, "checkpoint")
    context.mark("saving")
    _save(context, tools, saved, folder)
    context.check_all("before", saved.parts(), wanted, tolerance=0.0, layer="device")  # nothing was exchanged
    if not files_are_whole(context, tools.checkpoint.FileSystemReader, folder, 0):
        context.mark("waiting until all have looked at the files")
        context.torch.distributed.barrier()
        remove_folder(context, folder)
        return
    _read_back(context, tools, saved, folder, wanted, 0)
    for turn, (words, split) in enumerate(targets):
        context.mark(f"loading into {words}")
        target = _Trained(context, split)
        _load(context, tools, target, folder)
        wanted = shards.parts_like(numbers, target.tensors())
        context.check_all(
            "value",
            {f"{name} in {words}": one for name, one in target.parts().items()},
            {f"{name} in {words}": one for name, one in wanted.items()},
            tolerance=0.0,
            turn=1 + turn,
            layer="framework",
        )
        target.goes_on(context, words, 1 + turn)
    context.mark("waiting until all have loaded")
    context.torch.distributed.barrier()
    remove_folder(context, folder)


def _fill(torch: Any, held: _Trained, wanted: dict[str, Any]) -> None:
    held.begin()
    with torch.no_grad():
        for name, one in held.parts().items():
            one.copy_(wanted[name])


def _save(context: Context, tools: _Tools, held: _Trained, folder: str, **options: Any) -> None:
    with _own_errors(context):
        tools.checkpoint.save(held.state(tools.state_dict), checkpoint_id=folder, **options)


def _load(context: Context, tools: _Tools, into: _Trained, folder: str, **options: Any) -> None:
    state = into.state(tools.state_dict)
    with _own_errors(context, alone=bool(options.get("no_dist"))):
        tools.checkpoint.load(state, checkpoint_id=folder, **options)
    into.take(tools.state_dict, state)


@contextlib.contextmanager
def _own_errors(context: Context, alone: bool = False) -> Iterator[None]:
    """The library raises the errors of some ranks at all of them: they are the fault of those alone.

    ``alone``: this rank works by itself, which the library calls rank 0.
    """
    try:
        yield
    except BaseException as error:
        failures = getattr(error, "failures", None)
        if not isinstance(failures, dict) or not failures:
            raise
        own = failures.get(0 if alone else context.rank)
        if own is None:
            raise OtherRankFailed(f"rank {min(failures)} failed: {str(failures[min(failures)])[:200]}") from error
        raise own[0] if isinstance(own, tuple) and isinstance(own[0], Exception) else error from error


def _read_back(
    context: Context, tools: _Tools, saved: _Trained, folder: str, wanted: dict[str, Any], turn: int
) -> None:
    """Each rank alone reads what it wrote: a wrong file has one owner."""
    context.mark("reading back what this rank wrote")
    with context.torch.no_grad():
        for one in saved.parts().values():
            one.fill_(_UNREAD)
    if "no_dist" in inspect.signature(tools.checkpoint.load).parameters:
        _load(context, tools, saved, folder, no_dist=True)
    else:  # older releases have it under another name only
        state = saved.state(tools.state_dict)
        reader = tools.checkpoint.FileSystemReader(folder)
        tools.checkpoint.load_state_dict(state, storage_reader=reader, no_dist=True)
        saved.take(tools.state_dict, state)
    got = {f"{name}, written and read back": one for name, one in saved.parts().items()}
    before = {name: context.torch.full_like(one, _UNREAD) for name, one in got.items()}
    unread = [name for name, one in got.items() if context.torch.equal(one, before[name])]
    context.check_all(
        "local",
        got,
        {f"{name}, written and read back": one for name, one in wanted.items()},
        tolerance=0.0,
        turn=turn,
        hints={"what was there before: nothing was loaded": before},
        layer={name: "framework" if name in unread else "configuration" for name in got},  # the file is whole
    )


def save_state(context: Context, tools: _Tools, model: Any, optimizer: Any, folder: str, **options: Any) -> None:
    """Save a model and its optimizer; ``options`` are those of torch's ``save``."""
    one, two = tools.state_dict.get_state_dict(model, optimizer)
    with _own_errors(context):
        tools.checkpoint.save({"model": one, "optimizer": two}, checkpoint_id=folder, **options)


def load_state(context: Context, tools: _Tools, model: Any, optimizer: Any, folder: str, **options: Any) -> None:
    """Load what ``save_state`` saved into a model and its optimizer, however they are split."""
    one, two = tools.state_dict.get_state_dict(model, optimizer)
    state = {"model": one, "optimizer": two}
    with _own_errors(context):
        tools.checkpoint.load(state, checkpoint_id=folder, **options)
    tools.state_dict.set_state_dict(model, optimizer, model_state_dict=one, optim_state_dict=state["optimizer"])


def remove_folder(context: Context, folder: str) -> None:
    """By one rank."""
    if context.rank == 0:
        shutil.rmtree(folder, ignore_errors=True)


def _whole(model: Any) -> None:
    """A model that is not split."""


def _mesh(context: Context, replicas: int) -> _Split:
    return lambda model: fsdp2.shard(context, model, replicas)


def _on(split: Any, mesh: Any) -> _Split:
    return lambda model: split(model, mesh=mesh)


def _units(context: Context, split: Any) -> _Split:
    return _on(split, context.mesh(context.world, names=("shard",)))


def _columns(context: Context, split: Any) -> _Split:
    from torch.distributed.tensor import Shard

    mesh = context.mesh(context.world, names=("shard",))
    return lambda model: split(model, mesh=mesh, shard_placement_fn=lambda one: Shard(one.ndim - 1))


def half_of_ranks(context: Context, ranks: list[int]) -> Any:
    """(mesh, process group) of some ranks; all ranks have to ask for them."""
    from torch.distributed.device_mesh import DeviceMesh

    mesh = DeviceMesh(context.device.type, ranks, mesh_dim_names=("shard",))
    return mesh, (mesh.get_group() if context.rank in ranks else None)


_KEPT = Proof(
    "every parameter and both moments of AdamW, as each rank reads back what it wrote and as other ranks load it",
    "the numbers that were saved, which every rank has computed by itself",
    (EXACT,),
)
MODES = (
    Mode("checkpoint", "sharded checkpoint, loaded with a different sharding", reshard, _KEPT, objects=True),
    Mode(
        "checkpoint-shapes",
        "sharded checkpoint, loaded into every other sharding",
        reshape,
        _KEPT,
        full=True,
        objects=True,
    ),
    Mode(
        "checkpoint-resize",
        "sharded checkpoint, loaded by more and by fewer ranks",
        resize,
        _KEPT,
        full=True,
        min_world=2,
        objects=True,
    ),
)
