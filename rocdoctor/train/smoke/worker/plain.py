"""The model and its training from plain operations in double precision on the CPU: the reference of all modes.

Nothing here calls a function of ``torch.nn.functional``, an optimizer or ``backward``: a kernel that computes wrongly,
on one rank or on all, is not part of what it is compared with. What remains in common with the device under test is the
processor's double-precision product, exponential and error function.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .model import Reference, Sizes, build, parameters, plain_name
from .tolerance import Tolerance

_RATE = {"sgd": 0.1, "adamw": 1e-3}
_BETA1, _BETA2, _EPSILON, _DECAY = 0.9, 0.999, 1e-8, 0.01
LONGEST = Tolerance(
    1.01,
    "the longest step of AdamW",
    "the mean of the gradients is at most 1.01 times the root of their mean square (Cauchy, betas 0.9 and 0.999, "
    "four steps). An error in the gradients changes a step, and if a gradient is nearly 0, even its "
    "direction. So a value may be off by up to two longest steps, and no rank is accused for that",
    unit="times the learning rate",
)


def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """x W^T + b."""
    product = x @ weight.transpose(-1, -2)
    return product if bias is None else product + bias


def one_hot(torch: Any, numbers: Any, size: int, dtype: Any) -> Any:
    """A row of zeros with a one for each number."""
    return (numbers[..., None] == torch.arange(size, device=numbers.device)).to(dtype)


def embedding(torch: Any, tokens: Any, weight: Any) -> Any:
    """Rows of a table, as a product: its gradient is a product too, and adds nothing up in another way."""
    return one_hot(torch, tokens, weight.shape[0], weight.dtype) @ weight


def layer_norm(x: Any, weight: Any, bias: Any, epsilon: float = 1e-5) -> Any:
    """Mean zero, variance one, scaled and moved."""
    centred = x - x.sum(-1, keepdim=True) / x.shape[-1]
    variance = (centred * centred).sum(-1, keepdim=True) / x.shape[-1]
    return centred / (variance + epsilon) ** 0.5 * weight + bias


def gelu(torch: Any, x: Any) -> Any:
    """x times the share of a normal distribution below it."""
    return x * (1.0 + torch.erf(x / math.sqrt(2.0))) / 2.0


def softmax(x: Any) -> Any:
    """Shares of exp(x) along the last dimension."""
    powers = (x - x.detach().max(-1, keepdim=True).values).exp()
    return powers / powers.sum(-1, keepdim=True)


def attention(torch: Any, query: Any, key: Any, value: Any, causal: bool = True) -> Any:
    """Values weighted by how well keys fit each query; causal: those behind it do not count."""
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    if causal:
        rows, columns = torch.arange(query.shape[-2])[:, None], torch.arange(key.shape[-2])[None]
        scores = scores.masked_fill(columns > rows, float("-inf"))
    return softmax(scores) @ value


def row_losses(torch: Any, logits: Any, targets: Any) -> Any:
    """-log of the share that each target has in exp(logits)."""
    highest = logits.detach().max(-1, keepdim=True).values
    whole = (logits - highest).exp().sum(-1).log() + highest[..., 0]
    return whole - (logits * one_hot(torch, targets, logits.shape[-1], logits.dtype)).sum(-1)


def model(torch: Any, sizes: Sizes, layers: int = 0) -> Any:
    """The model, with the same names, in double precision; all of its innermost modules compute plainly."""
    made = build(torch, sizes, layers, plain=True).double()
    for one in made.modules():
        if isinstance(one, torch.nn.Linear):
            one.forward = lambda x, own=one: linear(x, own.weight, own.bias)
        elif isinstance(one, torch.nn.LayerNorm):
            one.forward = lambda x, own=one: layer_norm(x, own.weight, own.bias)
        elif isinstance(one, torch.nn.Embedding):
            one.forward = lambda x, own=one: embedding(torch, x, own.weight)
    return made


def gradients(torch: Any, trained: Any, loss: Any) -> dict[str, Any]:
    """Of a scalar, by the names of the parameters. Hooks of tensors on the way are called, as in a backward pass."""
    named = dict(trained.named_parameters())
    return {plain_name(name): one for name, one in zip(named, torch.autograd.grad(loss, list(named.values())))}


def loss_and_gradients(torch: Any, trained: Any, tokens: Any, targets: Any) -> tuple[Any, dict[str, Any]]:
    """The mean over all tokens, and its gradients."""
    loss = row_losses(torch, trained(tokens), targets).mean()
    return loss.detach(), gradients(torch, trained, loss)


class Optimizer:
    """The published formulas: SGD at rate 0.1, AdamW at 1e-3 with torch's other defaults. ``moments`` by name."""

    def __init__(self, kind: str) -> None:
        self._kind, self._steps = kind, 0
        self.moments: dict[str, tuple[Any, Any]] = {}

    def step(
        self, held: dict[str, Any], grads: dict[str, Any], rate: float | None = None, decay: float = _DECAY
    ) -> dict[str, Any]:
        """The parameters after a step."""
        self._steps += 1
        rate = _RATE[self._kind] if rate is None else rate
        if self._kind == "sgd":
            return {name: one - rate * grads[name] for name, one in held.items()}
        found = {}
        for name, one in held.items():
            grad = grads[name]
            first, second = self.moments.get(name, (0.0 * grad, 0.0 * grad))
            first, second = _BETA1 * first + (1 - _BETA1) * grad, _BETA2 * second + (1 - _BETA2) * grad * grad
            self.moments[name] = (first, second)
            mean, square = first / (1 - _BETA1**self._steps), second / (1 - _BETA2**self._steps)
            found[name] = one * (1 - rate * decay) - rate * mean / (square**0.5 + _EPSILON)
        return found


def train(torch: Any, sizes: Sizes, layers: int, data: list[tuple[Any, Any]], kind: str) -> Reference:
    """Train on whole batches in one process."""
    found, trained, optimizer = Reference(), model(torch, sizes, layers), Optimizer(kind)
    held = parameters(trained)
    for tokens, targets in data:
        loss, grads = loss_and_gradients(torch, trained, tokens, targets)
        found.losses.append(loss)
        found.before.append(held)
        found.grads.append(grads)
        held = optimizer.step(held, grads)
        found.after.append(held)
        found.moments.append(dict(optimizer.moments))
        trained.load_state_dict(held)
    return found


def doubts(torch: Any, reference: Reference, shares: Sequence[float]) -> list[dict[str, Any]]:
    """How far AdamW's parameters may be off after each step, whose gradients are off by a share of the largest.

    A value moves by the rate times m / sqrt(v). With gradients off by d both m, a mean of them, and sqrt(v), a norm,
    are off by at most d; m is at most ``LONGEST`` sqrt(v): so the quotient is off by at most (1 + ``LONGEST``) d /
    sqrt(v), and never by more than twice ``LONGEST``.
    """
    found: list[dict[str, Any]] = []
    noise = 0.0
    for step, (grads, share) in enumerate(zip(reference.grads, shares)):
        noise = max(noise, share * max(float(one.abs().max()) for one in grads.values()))
        before = found[-1] if found else dict.fromkeys(grads, 0.0)
        size = {name: (two / (1 - _BETA2 ** (step + 1))) ** 0.5 for name, (_, two) in reference.moments[step].items()}
        off = {name: ((1 + LONGEST) * noise / (one + _EPSILON)).clamp(max=2 * LONGEST) for name, one in size.items()}
        found.append({name: before[name] + _RATE["adamw"] * one for name, one in off.items()})
    return found


def settled(torch: Any, held: Any, wanted: Any, doubt: Any) -> Any:
    """What is held, with the expected number where it is within doubt."""
    held = held.detach().double().cpu()
    return torch.where((held - wanted).abs() <= doubt, wanted, held) if held.shape == wanted.shape else held


def sketch(torch: Any, tensors: list[Any]) -> list[float]:
    """Two numbers that change when any element does, or moves; ranks are compared by them."""
    plain = total = 0.0
    for number, one in enumerate(tensors):
        flat = one.detach().double().flatten().cpu()
        places = torch.arange(1, flat.numel() + 1, dtype=torch.float64)
        plain += float(flat.abs().sum())
        total += float((flat * torch.cos(places * (0.7 + number))).sum())
    return [plain, total]
