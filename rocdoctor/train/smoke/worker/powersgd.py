"""Data parallel whose gradients PowerSGD compresses: what is lost, and what must not be."""

from __future__ import annotations

import importlib.util
from typing import Any

from . import model as models
from .compare import agreed
from .context import Context
from .modes import ddp
from .tolerance import Tolerance

COMPRESSED = Tolerance(
    2e-3, "the loss of the fourth step", "PowerSGD is lossy from the third step on: 1.3e-3 was seen after 8 steps"
)
KEPT = Tolerance(
    1e-6,
    "what compression lost",
    "the same three numbers, added in fp32 in the same order: 0 was seen (torch 2.13.0, 2 and 4 ranks)",
)


def powersgd(context: Context) -> None:
    """PowerSGD of rank 4: lossy, so the loss must fall as fast as without, and all ranks must hold equal gradients."""
    torch, dist = context.torch, context.torch.distributed
    context.need(importlib.util.find_spec("numpy"), "torch's PowerSGD imports NumPy, which is not installed")
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook

    power: Any = powerSGD_hook

    # One bucket: the hook goes on from several ones in threads, and over gloo ranks then wait for each other.
    model = ddp.wrap(context, bucket_cap_mb=25)
    state: Any = power.PowerSGDState(
        process_group=None, matrix_approximation_rank=4, start_powerSGD_iter=2, min_compression_rate=0.5
    )
    seen: dict[str, Any] = {"lost": None}

    def hook(state, bucket):  # type: ignore[no-untyped-def]  # torch asks for no annotations but its own
        seen["sent"], seen["buffer"] = bucket.buffer().clone(), bucket.buffer()
        return power.powerSGD_hook(state, bucket)

    model.register_comm_hook(state, hook)
    optimizer = models.optimizer_for(torch, "sgd", model.parameters())
    steps = 4
    wanted = context.reference("sgd", steps)
    own: dict[str, Any] = {}
    handles = [one.register_hook(ddp.keep(own, models.plain_name(name))) for name, one in model.named_parameters()]
    for step, (tokens, targets) in enumerate(context.batches(steps)):
        context.mark(f"step {step}: forward and backward")
        context.clear(optimizer, step)
        own.clear()
        tokens, targets = context.share(tokens), context.share(targets)
        alone, local = context.alone(models.parameters(model), tokens, targets)
        loss = models.loss_of(torch, model(tokens), targets)
        loss.backward()
        context.check("local", "loss of this rank's rows", loss, alone, step=step)
        context.check_all("local", own, local, step=step)
        total = loss.detach().clone()
        context.mark(f"step {step}: mean of the losses, all_reduce float32[]")
        dist.all_reduce(total)
        context.check(
            "loss",
            "loss",
            total / context.world,
            wanted.losses[step],
            step=step,
            tolerance=None if step < 3 else COMPRESSED,
        )
        if step < 2:
            context.check_all("grad", models.gradients(model), wanted.grads[step], step=step)
        else:
            _check_lost(context, state.error_dict.get(0), seen, step)
        optimizer.step()
    for handle in handles:
        handle.remove()
    _same_everywhere(context, models.parameters(model), steps)
    saved = state.compression_stats()
    words = f"compressed nothing (rate {float(saved[0]):.2f})"
    context.expect("value", "PowerSGD", float(saved[0]) > 1.0, words, layer="framework")


def _check_lost(context: Context, lost: Any, seen: dict[str, Any], step: int) -> None:
    """What compression lost in this step must be all that it has not sent of this gradient and of earlier losses."""
    owed = seen["sent"] if seen["lost"] is None else seen["sent"] + seen["lost"]
    wanted = owed - seen["buffer"]
    seen["lost"] = wanted.clone()
    name = "what compression lost, to be sent in the next step"
    if context.expect("value", name, lost is not None, "is not kept", step=step, layer="framework"):
        context.check("value", name, lost, wanted, tolerance=KEPT, step=step, layer="framework")


def _same_everywhere(context: Context, tensors: dict[str, Any], step: int) -> None:
    """All ranks must hold bit-identical tensors: compared with the majority by a checksum of each tensor."""
    torch, dist = context.torch, context.torch.distributed
    names = sorted(tensors)
    own = torch.stack([tensors[name].detach().double().sum() for name in names]).to(context.device)
    everyone = [torch.empty_like(own) for _ in range(context.world)]
    context.mark("checksums of all ranks")
    dist.all_gather(everyone, own)
    for at, name in enumerate(names):
        usual, what = agreed(torch, [one[at] for one in everyone]), f"checksum of {name}"
        if usual is not None:
            context.check("param", what, own[at], usual, tolerance=0.0, step=step)
        else:
            context.expect("param", what, False, "differs between the ranks: no majority agrees", step=step)
