"""Training with sharded parameters, compared step by step with one process: each rank its own part, in the order in
which data flows: its shard, the parameters it gathered, its own gradients, its shard of the mean, its new shard.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from . import model as models
from . import whose
from .context import Context
from .tolerance import EXACT, PLAIN, TRAINED, Proof, Tolerance, usual

# Two units in the last place of bf16.
SHORT = Tolerance(
    8e-3,
    "loss and gradients in bf16",
    "both sides round to bf16 (8 bits) in the same places; two units in the last place may still differ",
)
NEAR = Tolerance(
    6e-2,
    "the reference itself, against published formulas in double precision",
    "it rounds to a short type with the kernels under test; over four layers of bf16 1e-2 was seen (torch 2.13.0)",
)
_STEP_SHARE = 0.1 / 20
_STEPPED = SHORT.times(
    _STEP_SHARE,
    "parameters after a step",
    "a step is 0.1 times the gradient. The largest gradient is 1/87 of the largest parameter or less (1 to 8 ranks), "
    "and 1/20 or less for a rank that holds only parts of norms, whose largest parameter is 1",
)
SHARDED = Proof(
    f"{TRAINED.computed}. Of parameters and gradients, this covers its own shard, the parameters "
    "that it gathered for forward "
    "and backward, and its shard of the mean gradient",
    PLAIN,
    (EXACT, *usual("before", "value", "local", "loss", "grad", "param")),
)
SHARDED_SHORT = Proof(
    SHARDED.computed,
    "one process that computes each rank's rows in bf16 on the same device and adds up in fp32; it must itself be "
    "close to published formulas in double precision",
    (EXACT, SHORT, NEAR, _STEPPED),
)


class ShardedStep:
    """What one step should show: ``whole`` are the gathered parameters, ``local`` this rank's own gradients (mean over
    its own rows), the rest is of the whole batch. ``share_of``: the own gradients of any rank, where they are not those
    of the usual model."""

    __slots__ = ("after", "before", "grad", "local", "local_loss", "loss", "share_of", "targets", "tokens", "whole")

    def __init__(self, tokens: Any, targets: Any, before: dict[str, Any]) -> None:
        self.tokens, self.targets = tokens, targets  # this rank's own rows
        self.before = self.whole = before
        self.local: dict[str, Any] = {}
        self.grad: dict[str, Any] = {}
        self.after: dict[str, Any] = {}
        self.local_loss: Any = None
        self.loss: Any = None
        self.share_of: Callable[[int], dict[str, Any]] | None = None


def steps_fp32(context: Context) -> list[ShardedStep]:
    """Two steps of SGD in fp32; made once a pool."""
    return context.cached("steps in fp32", lambda: _steps_fp32(context))  # type: ignore[no-any-return]


def _steps_fp32(context: Context) -> list[ShardedStep]:
    wanted = context.reference("sgd")
    found = []
    for number, (tokens, targets) in enumerate(context.batches()):
        step = ShardedStep(context.share(tokens), context.share(targets), wanted.before[number])
        step.local_loss, step.local = context.share_alone("sgd", 2, number, context.rank)
        step.loss, step.grad, step.after = wanted.losses[number], wanted.grads[number], wanted.after[number]
        found.append(step)
    return found


def steps_mixed(context: Context, dtype: Any) -> list[ShardedStep]:
    """Two steps of SGD that compute in ``dtype`` and add gradients up in fp32; made once a pool."""
    return context.cached(("steps in", dtype), lambda: _steps_mixed(context, dtype))  # type: ignore[no-any-return]


def _steps_mixed(context: Context, dtype: Any) -> list[ShardedStep]:
    """Every rank's share is computed alone, as it will be: rounding to ``dtype`` is then the same on both sides."""
    torch = context.torch
    before, found = models.parameters(context.build()), []
    for number, (tokens, targets) in enumerate(context.batches()):
        shares = [
            local_gradients(context, before, context.share(tokens, rank), context.share(targets, rank), dtype)
            for rank in range(context.world)
        ]
        step = ShardedStep(context.share(tokens), context.share(targets), before)
        step.whole = {name: one.to(dtype) for name, one in before.items()}
        step.local_loss, step.local = shares[context.rank]
        plausible(context, number, step, f"computed in {dtype}")
        step.loss = torch.stack([loss for loss, _ in shares]).mean()
        step.grad = {name: torch.stack([one[name].float() for _, one in shares]).mean(0) for name in before}
        step.after = before = {name: one - 0.1 * step.grad[name] for name, one in before.items()}
        found.append(step)
    return found


def plausible(context: Context, number: int, step: ShardedStep, short: str) -> None:
    """What is computed with the kernels under test, to be compared with, must itself come near the plain formulas."""
    loss, grads = context.alone(step.before, step.tokens, step.targets)
    context.check("input", f"loss {short}", step.local_loss, loss, step=number, tolerance=NEAR, layer="device")
    got, wanted = ({f"gradient of {name} {short}": one for name, one in each.items()} for each in (step.local, grads))
    context.check_all("input", got, wanted, step=number, tolerance=NEAR, layer="device")


def local_gradients(
    context: Context, state: Mapping[str, Any], tokens: Any, targets: Any, dtype: Any = None
) -> tuple[Any, dict[str, Any]]:
    """Loss and gradients of some rows for given parameters, without communication; computed in ``dtype`` on this
    device, or by plain formulas."""
    if dtype is None or dtype == context.torch.float64:
        return context.alone(dict(state), tokens, targets)
    model = context.build()
    model.load_state_dict(dict(state))
    model.to(dtype)
    loss = models.loss_of(context.torch, model(tokens), targets)
    loss.backward()
    return loss.detach(), models.gradients(model)


class Probe:
    """Sees the whole parameters that each unit computes with, and its gradients before they leave this rank.

    To be made before the model is wrapped: units (the blocks, and the root for all else) are hooked from inside.
    ``whole`` and ``again`` are what was gathered for the forward and the backward, by plain name; ``calls`` counts how
    often each unit ran.
    """

    def __init__(self, model: Any) -> None:
        self.whole: dict[str, Any] = {}
        self.again: dict[str, Any] = {}
        self.gradients: dict[str, Any] = {}
        self.calls: dict[str, int] = {}
        self.units: dict[str, dict[str, tuple[Any, str]]] = {}
        self._hooked: dict[int, Any] = {}
        for name, _ in model.named_parameters():
            owner, _, last = name.rpartition(".")
            self.units.setdefault(unit_of(name), {})[name] = (model.get_submodule(owner), last)
        self._handles = [
            (model.get_submodule(unit) if unit else model).register_forward_pre_hook(self._before(unit))
            for unit in self.units
        ]

    def begin(self) -> None:
        """Forget the step before."""
        for handle, _ in self._hooked.values():
            handle.remove()
        for one in (self.whole, self.again, self.gradients, self.calls, self._hooked):
            one.clear()

    def end(self) -> None:
        """Take all hooks away."""
        self.begin()
        for handle in self._handles:
            handle.remove()

    def now(self) -> dict[str, Any]:
        """What the modules hold as their parameters right now, by plain name."""
        return {name: getattr(*slot) for slots in self.units.values() for name, slot in slots.items()}

    def _before(self, unit: str) -> Callable[[Any, Any], None]:
        def hook(_module: Any, _inputs: Any) -> None:
            self.calls[unit] = self.calls.get(unit, 0) + 1
            for name, slot in self.units[unit].items():
                tensor = getattr(*slot)
                if name in self.whole:  # activation checkpointing computes it once more
                    continue
                self.whole[name] = tensor.detach().clone()
                if tensor.requires_grad:
                    # The tensor is kept with its handle: another one could be given the same id.
                    self._hooked[id(tensor)] = (tensor.register_hook(self._at_gradient(name, slot)), tensor)

        return hook

    def _at_gradient(self, name: str, slot: tuple[Any, str]) -> Callable[[Any], None]:
        def hook(gradient: Any) -> None:
            self.gradients[name] = gradient.detach().clone()
            held = getattr(*slot).detach()
            if held.shape == self.whole[name].shape and held.untyped_storage().size():
                self.again[name] = held.clone()

        return hook


def unit_of(name: str) -> str:
    """The unit that a parameter belongs to by its plain name: ``blocks.0``, or ``""`` for the root's own."""
    parts = name.split(".")
    return ".".join(parts[:2]) if parts[0] == "blocks" else ""


class Layout:
    """Who holds what: ``replicas`` times ``shards`` ranks, those of one replica next to each other.

    The names of shards are those that ``parameters`` and ``gradients`` give; the functions cut the expected tensors.
    """

    def __init__(self, context: Context, replicas: int, shards: int) -> None:
        self.replicas, self.shards = replicas, shards
        self.index = context.rank % shards
        self.first = context.rank - self.index  # the first rank of this replica

    def parameters(self) -> dict[str, Any]:
        """This rank's shards."""
        raise NotImplementedError

    def gradients(self) -> dict[str, Any]:
        """This rank's shards of the gradients that are there."""
        raise NotImplementedError

    def part(self, full: Mapping[str, Any]) -> dict[str, Any]:
        """What this rank's shards of whole tensors should be."""
        raise NotImplementedError

    def owners(self, full: Mapping[str, Any]) -> dict[str, Any]:
        """The rank that holds each element, in a shape that broadcasts to the tensor's, by plain name."""
        raise NotImplementedError


def train(
    context: Context,
    steps: list[ShardedStep],
    call: Callable[[Any], Any],
    probe: Probe,
    layout: Layout,
    optimizer: Any,
    *,
    rounding: float | None = None,
    after_forward: Callable[[int], None] | None = None,
    after_backward: Callable[[int], None] | None = None,
    correct: Callable[[dict[str, Any]], None] | None = None,
) -> None:
    """Train and compare each step.

    ``rounding``: the tolerance of what is computed in a short type; the gathered parameters are then equal to the bit.
    ``correct`` sets this rank's shards to given numbers after they were compared: in a short type the last bit of a
    parameter now and then decides how it is rounded.
    """
    torch, dist = context.torch, context.torch.distributed
    owners = layout.owners(steps[0].before)
    for number, step in enumerate(steps):
        same = 0.0 if number == 0 or correct is not None else context.limit("before")
        context.mark(f"step {number}: forward")
        probe.begin()
        context.check_all(
            "before", layout.parameters(), layout.part(step.before), step=number, tolerance=same, layer="device"
        )
        context.clear(optimizer, number)
        loss = models.loss_of(torch, call(step.tokens), step.targets)
        context.check_all("value", probe.whole, step.whole, step=number, turn=1, tolerance=same, owners=owners)
        _placed(context, probe.whole, step, number, 1, owners)
        if after_forward is not None:
            after_forward(number)
        context.mark(f"step {number}: backward")
        loss.backward()
        if after_backward is not None:
            after_backward(number)
        whole = {name: step.whole[name] for name in probe.again}
        context.check_all("value", probe.again, whole, step=number, turn=2, tolerance=same, owners=owners)
        _placed(context, probe.again, step, number, 2, owners)
        place: dict[str, Any] = {"step": number, "turn": 3, "tolerance": rounding}
        context.check("local", "loss", loss, step.local_loss, **place)
        context.check_all("local", probe.gradients, step.local, hints=_of_others(context, step, number), **place)
        total = loss.detach().clone()
        context.mark(f"step {number}: mean of the losses, all_reduce float32[]")
        dist.all_reduce(total)
        context.check("loss", "loss", total / context.world, step.loss, step=number, tolerance=rounding)
        alone = {"this rank's own gradient: nothing was added up": layout.part(step.local)}
        context.check_all(
            "grad", layout.gradients(), layout.part(step.grad), step=number, tolerance=rounding, hints=alone
        )
        _whose(context, step, number, layout)
        optimizer.step()
        context.check_all(
            "param",
            layout.parameters(),
            layout.part(step.after),
            step=number,
            tolerance=None if rounding is None else _STEPPED,
            layer="device",
            moved_from=layout.part(step.before),
        )
        if correct is not None:
            correct(step.after)
    probe.end()


def _placed(
    context: Context, gathered: dict[str, Any], step: ShardedStep, number: int, turn: int, owners: dict[str, Any]
) -> None:
    """Whether what was gathered is another rank's part somewhere."""
    place = ("value", number, turn)
    faults = [one for one in context.comparison.faults if (one["stage"], one["step"], one["turn"]) == place]
    whose.placed_wrongly(context.torch, faults, gathered, step.whole, owners)


def _of_others(context: Context, step: ShardedStep, number: int) -> dict[str, Callable[[], dict[str, Any]]]:
    """What the rows of other ranks give, made where something differs."""
    others = (rank for rank in range(context.world) if rank != context.rank)
    return {f"what rank {rank}'s share gives": partial(_share_of, context, step, number, rank) for rank in others}


def _share_of(context: Context, step: ShardedStep, number: int, rank: int) -> dict[str, Any]:
    """The own gradients of any rank."""
    if step.share_of:
        return step.share_of(rank)
    tokens, targets = context.batches(number + 1)[number]
    dtype = next(iter(step.local.values())).dtype
    rows = context.share(tokens, rank), context.share(targets, rank)
    return context.cached(  # type: ignore[no-any-return]
        ("own gradients", number, rank, dtype, id(step)),
        lambda: local_gradients(context, step.before, *rows, dtype)[1],
    )


def _whose(context: Context, step: ShardedStep, number: int, layout: Layout) -> None:
    """Find the one rank whose share explains how the mean of the gradients is wrong, and note it with the faults."""
    faults = [
        one
        for one in context.comparison.faults
        if (one["stage"], one["step"]) == ("grad", number) and one["error"] is not None
    ]
    if not faults or context.world == 1 or context.comparison.faults[0] is not faults[0]:
        return
    got, wanted, world = layout.gradients(), layout.part(step.grad), context.world
    names = [one["name"] for one in faults]
    error = [got[name].double().cpu() - wanted[name].double().cpu() for name in names]
    parts, others = {}, {}
    for rank in range(world):
        given = layout.part(_share_of(context, step, number, rank))
        parts[rank] = [given[name] / world for name in names]
        # A message of the same size may have gone in its place: that of another part of the model.
        alike = {name: [one / world for key, one in given.items() if key != name] for name in names}
        others[rank] = [[one for one in alike[name] if one.shape == given[name].shape] for name in names]
    if found := whose.explained(context.torch, error, parts, others):
        whose.note(faults, found)
