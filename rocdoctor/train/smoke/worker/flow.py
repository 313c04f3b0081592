"""What passes through the layers of the model: watched by hooks, and as one process computes it.

Modes that hand data on from layer to layer, or from rank to rank, compare what passes on the way: the first place that
differs names the rank, while everything behind it is wrong on every rank.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import model as models
from . import plain, shards
from .compare import BACKWARD_TURN
from .context import Context
from .tolerance import EXACT, PLAIN, Proof, usual

FLOWN = Proof(
    "two steps of SGD. Compared in each: the parameters before it, what passes between layers "
    "and between ranks (forward and backward), the loss, the gradients, and the parameters after "
    "it",
    PLAIN,
    (EXACT, *usual("before", "local", "value", "loss", "grad", "param")),
)
_IN_BLOCK = ("norm1", "query", "key", "value", "output", "norm2", "up", "down")


def modules_in_order(layers: int) -> list[str]:
    """The names of the model's innermost modules in the order in which data passes them."""
    inner = [f"blocks.{number}.{name}" for number in range(layers) for name in _IN_BLOCK]
    return ["embedding", *inner, "norm", "head"]


def turns(layers: int) -> dict[str, int]:
    """The turn of ``input of NAME`` and ``output of NAME`` for every module."""
    found = {}
    for number, name in enumerate(modules_in_order(layers)):
        found[f"input of {name}"], found[f"output of {name}"] = 4 * number + 1, 4 * number + 2
    return found


def backward_turn(turn: int) -> int:
    """The turn of a gradient whose value has the given turn in the forward pass."""
    return BACKWARD_TURN + 100_000 - turn


def gradient_turns(layers: int) -> dict[str, int]:
    """The turn of each parameter's gradient: the backward pass goes from the last module to the first."""
    known = {name: backward_turn(4 * number + 1) for number, name in enumerate(modules_in_order(layers))}
    return {f"{name}.{part}": turn for name, turn in known.items() for part in ("weight", "bias")}


class Taps:
    """Copies of what passes the given places, taken by hooks until ``remove``; each forward pass adds one entry.

    ``places``: name to (module, side). A side is ``input`` or ``output``, as the caller gives and gets it, or
    ``arriving`` or ``leaving``: the same inside of what other hooks (tensor parallel) exchange on the way.
    ``values[name][n]`` is this rank's own part in the nth forward pass, ``grads[name][n]`` the gradient that came back
    for it; inside they are kept with their placements. ``most[name]``: how many forward passes at most waited for
    their gradient at once.
    """

    def __init__(self, places: Mapping[str, tuple[Any, str]]) -> None:
        self.values: dict[str, list[Any]] = {name: [] for name in places}
        self.grads: dict[str, dict[int, Any]] = {name: {} for name in places}
        self.most: dict[str, int] = {}
        self._handles = []
        for name, (module, side) in places.items():
            inside = side in ("arriving", "leaving")
            if side in ("input", "arriving"):
                # Ahead of what makes a DTensor of it: plain tensors have plain gradients.
                handle = module.register_forward_pre_hook(self._before(name, inside), prepend=not inside)
            else:
                handle = module.register_forward_hook(self._after(name, inside), prepend=inside)
            self._handles.append(handle)

    def _before(self, name: str, inside: bool) -> Callable[..., None]:
        return lambda _module, inputs: self._take(name, inputs[0], inside)

    def _after(self, name: str, inside: bool) -> Callable[..., None]:
        return lambda _module, _inputs, result: self._take(name, result, inside)

    def _take(self, name: str, tensor: Any, inside: bool) -> None:
        if tensor.device.type == "meta" or "Fake" in type(tensor).__name__:
            return  # shapes are being worked out
        number = len(self.values[name])
        self.values[name].append(_copy(tensor, inside))
        if tensor.requires_grad:
            tensor.register_hook(lambda gradient: self._keep(name, number, gradient, inside))
            self.most[name] = max(self.most.get(name, 0), number + 1 - len(self.grads[name]))

    def _keep(self, name: str, number: int, gradient: Any, inside: bool) -> None:
        # A schedule that computes gradients of inputs and weights apart comes by twice.
        if number not in self.grads[name]:
            self.grads[name][number] = _copy(gradient, inside)

    def clear(self) -> None:
        """Forget what was seen."""
        for values in self.values.values():
            values.clear()
        for grads in self.grads.values():
            grads.clear()
        self.most.clear()

    def remove(self) -> None:
        """Take the hooks away."""
        for handle in self._handles:
            handle.remove()


def _copy(tensor: Any, inside: bool) -> Any:
    return tensor.detach().clone() if inside else shards.local_of(tensor).clone()


class Flow:
    """What one process sees in one step; the first dimension of all tensors is the row of the batch.

    ``values`` and ``grads`` by ``input of NAME`` and ``output of NAME``; gradients of the mean loss over the whole
    batch. ``losses``: the loss of each token, (batch, sequence).
    """

    __slots__ = ("grads", "losses", "values")

    def __init__(self, values: dict[str, Any], grads: dict[str, Any], losses: Any) -> None:
        self.values = values
        self.grads = grads
        self.losses = losses


def training(context: Context, layers: int) -> models.Reference:
    """``context.reference()``, the same one for the usual number of layers."""
    return context.reference(layers=0 if layers == context.sizes.layers else layers)


def reference(context: Context, layers: int) -> list[Flow]:
    """The flow of each step of ``context.reference()``; computed once a pool."""
    return context.cached(("flow", layers), lambda: _flows(context, layers))  # type: ignore[no-any-return]


def _flows(context: Context, layers: int) -> list[Flow]:
    torch = context.torch
    wanted = training(context, layers)
    model = plain.model(torch, context.sizes, layers)
    modules = dict(model.named_modules())
    places = {
        f"{side} of {name}": (modules[name], side) for name in modules_in_order(layers) for side in ("input", "output")
    }
    # The residual stream behind a block, which is what a pipeline sends.
    places["behind embedding"] = (model.embedding, "output")
    places.update({f"behind blocks.{number}.down": (model.blocks[number], "output") for number in range(layers)})
    found = []
    for step, (tokens, targets) in enumerate(models.batches(torch, context.sizes, 2)):
        model.load_state_dict(wanted.before[step])
        taps = Taps(places)
        losses = plain.row_losses(torch, model(tokens), targets)
        plain.gradients(torch, model, losses.mean())
        taps.remove()
        losses = losses.detach()
        grads = {name: one[0] for name, one in taps.grads.items() if one}
        found.append(Flow({name: one[0] for name, one in taps.values.items()}, grads, losses))
    return found


Cut = Callable[[Any], Any]


class ComparedPlace:
    """How a place is compared: as which stage forward and backward (None: not at all), and which part a rank has.

    ``source``: the rank that sent it, where what is compared as ``value`` comes from a single one. ``side``: as Taps
    know it.
    """

    __slots__ = ("backward", "cut", "forward", "known_as", "side", "source", "turn")

    def __init__(
        self,
        forward: str | None,
        backward: str | None,
        known_as: str,
        turn: int,
        cut: Cut,
        source: int | None = None,
        side: str = "",
    ) -> None:
        self.forward = forward
        self.backward = backward
        self.known_as = known_as
        self.turn = turn
        self.cut = cut
        self.source = source
        self.side = side or known_as.split(" ", 1)[0]


def check(
    context: Context,
    taps: Taps,
    places: Mapping[str, ComparedPlace],
    flow: Flow,
    rows: Sequence[slice],
    factor: float,
    step: int,
) -> None:
    """Compare what the taps saw with one process.

    ``rows``: the rows of the batch in each forward pass. ``factor``: how much larger the gradients here are than those
    of the mean loss over the whole batch. A part that belongs to another pass is said to be that.
    """
    for name, place in places.items():
        for words, stage, got, whole, times, turn in (
            ("", place.forward, dict(enumerate(taps.values[name])), flow.values, 1.0, place.turn),
            ("gradient for the ", place.backward, taps.grads[name], flow.grads, factor, backward_turn(place.turn)),
        ):
            if stage is None:
                continue
            context.expect(
                stage,
                words + name,
                len(got) == len(rows),
                f"came {len(got)} times instead of {len(rows)}",
                step=step,
                turn=turn,
            )
            wanted = [place.cut(whole[place.known_as][part]) * times for part in rows]
            owners = None
            if place.source is not None and stage == "value":
                owners = context.torch.tensor(place.source)
            scale = float(whole[place.known_as].abs().max()) * times if stage != "input" else 1.0
            for number, one in enumerate(wanted):
                if number not in got or shards.is_partial(got[number]):
                    continue
                many = len(rows) > 1
                hints = {f"that of micro-batch {other}": wanted[other] for other in range(len(rows)) if other != number}
                label = f"{words}{name}" + (f", micro-batch {number}" if many else "")
                part = shards.local_of(got[number])
                context.check(
                    stage,
                    label,
                    part,
                    shards.part_like(one, got[number]),
                    step=step,
                    turn=turn,
                    scale=scale,
                    hints=hints,
                    owners=owners,
                )
