"""Expert parallel: tokens travel to the ranks of their two experts and back, in uneven numbers."""

from __future__ import annotations

from typing import Any

from .. import plain
from ..compare import BACKWARD_TURN
from ..context import Context
from ..exchange import all_to_all
from ..mode import Mode
from ..tolerance import EXACT, Proof, Tolerance

ORDER = 62
_WIDTH, _TOKENS, _EXPERTS_A_RANK, _TOP = 16, 24, 2, 2
_LIMIT = Tolerance(
    1e-12,
    "results of experts, output and gradients",
    "double precision on both sides: 9e-16 was seen (torch 2.13.0, gloo, 2 and 4 ranks)",
)
_ROUTED = Proof(
    "how many tokens go where, the tokens that arrive, the experts' results, the output, all gradients",
    "one process that has all experts, by published formulas in double precision on the CPU",
    (EXACT, _LIMIT),
)


class _Weights:
    """Router (width, experts) and experts (experts, width, width) in double precision, the same on every rank."""

    def __init__(self, context: Context, device: Any) -> None:
        torch = context.torch
        generator = torch.Generator().manual_seed(13)
        count = _EXPERTS_A_RANK * context.world

        def draw(*shape: int) -> Any:
            return torch.randn(shape, generator=generator, dtype=torch.float64).to(device).requires_grad_()

        self.router, self.first, self.second = draw(_WIDTH, count), draw(count, _WIDTH, 32), draw(count, 32, _WIDTH)
        self.tokens = draw(context.world * _TOKENS, _WIDTH).detach()
        self.gradient = draw(context.world * _TOKENS, _WIDTH).detach()


def _expert(torch: Any, tokens: Any, first: Any, second: Any) -> Any:
    return torch.nn.functional.gelu(tokens @ first) @ second


def _plainly(torch: Any, tokens: Any, first: Any, second: Any) -> Any:
    return plain.gelu(torch, tokens @ first) @ second


def _best(shares: Any) -> tuple[Any, Any]:
    """The largest shares of each token and their places, without the function under test."""
    places = shares.argsort(-1, descending=True)[..., :_TOP]
    return shares.gather(-1, places), places


def _reference(context: Context) -> tuple[Any, _Weights, Any]:
    """One process with all experts: output, weights with their gradients, each expert's answer to each token.

    On the CPU, by plain formulas.
    """

    def make() -> tuple[Any, _Weights, Any]:
        torch, weights = context.torch, _Weights(context, context.torch.device("cpu"))
        shares, chosen = _best(plain.softmax(weights.tokens @ weights.router))
        output = torch.zeros_like(weights.tokens)
        for expert in range(weights.router.shape[1]):
            rows, place = (chosen == expert).nonzero(as_tuple=True)
            some = _plainly(torch, weights.tokens[rows], weights.first[expert], weights.second[expert])
            there = plain.one_hot(torch, rows, len(output), output.dtype)
            output = output + there.T @ (some * shares[rows, place, None])
        own = (weights.router, weights.first, weights.second)
        for one, gradient in zip(own, torch.autograd.grad(output, own, weights.gradient)):
            one.grad = gradient
        answers = torch.stack(
            [_plainly(torch, weights.tokens, *pair).detach() for pair in zip(weights.first, weights.second)]
        )
        context.compared("experts", [output, *(one.grad for one in own)])
        return output.detach(), weights, answers

    found: tuple[Any, _Weights, Any] = context.cached("experts", make)
    return found


def experts(context: Context) -> None:
    """Top-2 routing with uneven all_to_all; output, expert gradients and router gradient against one process."""
    torch, dist, rank = context.torch, context.torch.distributed, context.rank
    wanted, whole, answers = _reference(context)
    weights, exchange = _Weights(context, context.device), all_to_all(context)
    mine = slice(rank * _TOKENS, (rank + 1) * _TOKENS)
    tokens = weights.tokens[mine]
    shares, chosen = torch.softmax(tokens @ weights.router, -1).topk(_TOP, -1)
    routed = _best(plain.softmax(whole.tokens @ whole.router.detach()))[1]
    # Which experts a token goes to decides how much is sent: where that is wrong, the exchange may not end.
    own_choice = routed[mine].sort(-1).values
    context.check("local", "experts of this rank's tokens", chosen.sort(-1).values, own_choice, tolerance=0.0, step=0)
    order = chosen.flatten().argsort(stable=True)
    rows = order // _TOP
    targets = chosen.flatten()[order]
    placed = _in_order(torch, routed[mine].flatten())
    right = whole.tokens[mine][placed // _TOP]
    context.check("local", "this rank's tokens by their experts", tokens[rows], right, tolerance=0.0, step=0)
    gives = torch.bincount(targets // _EXPERTS_A_RANK, minlength=context.world)
    takes = torch.empty_like(gives)
    context.mark("exchange of the counts")
    dist.all_to_all_single(takes, gives)
    sent = [_sent(context, routed, sender) for sender in range(context.world)]
    expected = torch.tensor([len(places) for places, _ in sent])
    context.check("value", "number of tokens from each rank", takes, expected, tolerance=0.0, step=0)
    give, take = gives.tolist(), [len(one) for one, _ in sent]
    context.mark("tokens travel to their experts")
    arrived = exchange(tokens[rows], give, take)
    for sender, (part, (places, _)) in enumerate(zip(arrived.split(take), sent)):
        name, owners = f"tokens from rank {sender}", torch.tensor(sender)
        context.check("value", name, part, whole.tokens[places], tolerance=0.0, step=1, owners=owners)
    places, number = (torch.cat([one[which] for one in sent]) for which in (0, 1))
    results = torch.zeros_like(arrived)
    for expert in range(rank * _EXPERTS_A_RANK, (rank + 1) * _EXPERTS_A_RANK):
        at = (number == expert).nonzero()[:, 0].to(context.device)
        results = results.index_add(0, at, _expert(torch, arrived[at], weights.first[expert], weights.second[expert]))
    context.check(
        "local", "results of this rank's experts", results, answers[number, places], tolerance=_LIMIT, step=1, turn=1
    )
    comes_back = _gradients_back(context, whole, places, number)
    of_senders = torch.arange(context.world).repeat_interleave(torch.tensor(take))[:, None]

    def arrived_back(gradient: Any) -> None:
        name, turn = "gradient of the results of this rank's experts", BACKWARD_TURN - 2
        context.check("value", name, gradient, comes_back, tolerance=_LIMIT, step=3, owners=of_senders, turn=turn)

    results.register_hook(arrived_back)
    context.mark("results travel back")
    back = exchange(results, take, give)
    flat = routed[mine].flatten()
    answered = answers[flat[placed], placed // _TOP + rank * _TOKENS]
    owners = flat[placed, None] // _EXPERTS_A_RANK
    context.check("value", "results that came back", back, answered, tolerance=_LIMIT, step=2, owners=owners)
    output = torch.zeros_like(tokens).index_add(0, rows, back * shares.flatten()[order][:, None])
    context.check("local", "output of this rank's tokens", output, wanted[mine], tolerance=_LIMIT, step=2, turn=1)
    context.mark("backward")
    output.backward(weights.gradient[mine])
    own = slice(rank * _EXPERTS_A_RANK, (rank + 1) * _EXPERTS_A_RANK)
    for name in ("first", "second"):
        got, right = getattr(weights, name).grad[own], getattr(whole, name).grad[own]
        place: dict[str, Any] = {"tolerance": _LIMIT, "step": 3, "turn": BACKWARD_TURN - 1}
        context.check("local", f"gradient of this rank's experts ({name} layer)", got, right, **place)
    total = weights.router.grad.clone()
    context.mark("sum of the router's gradients")
    dist.all_reduce(total)
    context.check("grad", "gradient of the router", total, whole.router.grad, tolerance=_LIMIT, step=4)


def _gradients_back(context: Context, whole: _Weights, places: Any, number: Any) -> Any:
    """What comes back to the results of this rank's experts: the gradient of each token times the expert's share."""
    shares = plain.softmax(whole.tokens @ whole.router.detach())
    return whole.gradient[places] * shares[places, number][:, None]


def _in_order(torch: Any, experts_: Any) -> Any:
    """The places by their expert, equal ones as they stand; without the functions under test."""
    numbers = experts_.tolist()
    return torch.tensor(sorted(range(len(numbers)), key=numbers.__getitem__))


def _sent(context: Context, routed: Any, sender: int) -> tuple[Any, Any]:
    """Which tokens ``sender`` must give to this rank, in order: (places among all tokens, their experts)."""
    chosen = routed[sender * _TOKENS : (sender + 1) * _TOKENS].flatten()
    order = _in_order(context.torch, chosen)
    here = order[chosen[order] // _EXPERTS_A_RANK == context.rank]
    return here // _TOP + sender * _TOKENS, chosen[here]


MODES = (Mode("expert-parallel", "experts on different ranks, uneven all_to_all", experts, _ROUTED),)
