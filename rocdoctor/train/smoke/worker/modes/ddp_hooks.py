"""Data parallel with other communication: compressed gradients, averaged replicas, ZeRO-1, autocast, SyncBatchNorm."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from .. import model as models
from .. import plain
from ..compare import BACKWARD_TURN, END_TURN
from ..context import Context
from ..mode import Mode
from ..powersgd import COMPRESSED, KEPT, powersgd
from ..sharded import NEAR, SHORT, ShardedStep, plausible
from ..tolerance import EXACT, FP32, PLAIN, TRAINED, Proof, Tolerance, usual
from . import ddp
from .ddp import AFTER_ROUNDING

ORDER = 31
# Seen with torch 2.13.0 on the CPU, 2 and 4 ranks.
_SHORT = "bf16 autocast rounds at other places for other shapes of a batch; "
_AUTOCAST = {
    "loss": Tolerance(1e-3, "the loss", _SHORT + "3.3e-5 was seen"),
    "grad": Tolerance(
        3e-2,
        "gradients, where processors differ",
        _SHORT + "6.9e-3 was seen, and losing one share of 8 makes a difference of 0.1",
    ),
    "before": Tolerance(1e-4, "parameters after a step, where processors differ", _SHORT + "4e-6 was seen"),
    "same": Tolerance(
        1e-4,
        "gradients and the loss, where all ranks, and each of them twice, compute the same shares to the bit",
        "the same shapes round in the same places; only the order in which fp32 adds the shares "
        "differs. Losing the share of one of 1,000 ranks makes a difference of 1e-3",
    ),
}
_LOST = "one rounding before the sum and one at each addition; "
_ROUNDED = {
    "fp16": Tolerance(2e-3, "gradients", _LOST + "fp16 keeps 11 bits, and 6e-4 was seen (4 ranks)"),
    "bf16": Tolerance(1.6e-2, "gradients", _LOST + "bf16 keeps 8 bits; not measured so far"),
}
_STEPPED = "a step is 0.1 times the gradient, and the largest parameter is 80 times the largest gradient"
_ROUNDED_PARAMETERS = {
    "fp16": Tolerance(1e-5, "parameters before and after a step", _STEPPED),
    "bf16": Tolerance(8e-5, "parameters before and after a step", _STEPPED),
}
_NORMED = "GPUs' convolutions round more than a plain sum, and normalising subtracts nearby values; not measured so far"
_OUTPUT = FP32["value"].times(1, "output and running mean", _NORMED)
_NORMED_GRADIENTS = FP32["value"].times(2, "gradients", "twice what is allowed for values: " + _NORMED)


def fp16_hook(context: Context) -> None:
    """Gradients travel in fp16."""
    _compressed(context, "fp16_compress_hook", "fp16")


def bf16_hook(context: Context) -> None:
    """Gradients travel in bf16."""
    context.need(context.backend == "nccl", "torch registers this hook on the nccl backend only")
    _compressed(context, "bf16_compress_hook", "bf16")


def _compressed(context: Context, name: str, kind: str) -> None:
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    model = ddp.wrap(context)
    model.register_comm_hook(None, getattr(default_hooks, name))
    optimizer = models.optimizer_for(context.torch, "sgd", model.parameters())
    ddp.train(context, model, optimizer, tolerance=_ROUNDED[kind], parameter_tolerance=_ROUNDED_PARAMETERS[kind])
    kept = getattr(context.torch, {"fp16": "float16", "bf16": "bfloat16"}[kind])
    exact = all(bool((one == one.to(kept).float()).all()) for one in models.gradients(model).values())
    context.expect(
        "value", "the gradients", exact, f"are no {kind} values: they travelled uncompressed", layer="framework"
    )


def post_local_sgd(context: Context) -> None:
    """Replicas train alone and are averaged every second step."""
    torch = context.torch
    from torch.distributed.algorithms.ddp_comm_hooks import post_localSGD_hook as post
    from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    from torch.distributed.optim import PostLocalSGDOptimizer

    model = ddp.wrap(context)
    context.mark("one group for each rank")
    alone = context.cached("alone", lambda: torch.distributed.new_subgroups(group_size=1)[0])
    state: Any = post.PostLocalSGDState(  # type: ignore[no-untyped-call, unused-ignore]
        process_group=None, subgroup=alone, start_localSGD_iter=0
    )
    model.register_comm_hook(state, post.post_localSGD_hook)
    optimizer: Any = PostLocalSGDOptimizer(
        optim=models.optimizer_for(torch, "sgd", model.parameters()),
        averager=PeriodicModelAverager(period=2, warmup_steps=0),
    )
    own: dict[str, Any] = {}
    handles = [one.register_hook(ddp.keep(own, models.plain_name(name))) for name, one in model.named_parameters()]
    for step, (wanted_grads, wanted_after, replicas) in enumerate(_averaged_by_hand(context, 2)):
        tokens, targets = context.batches()[step]
        own.clear()
        context.mark(f"step {step}: forward and backward")
        context.clear(optimizer, step)
        models.loss_of(torch, model(context.share(tokens)), context.share(targets)).backward()
        context.check_all("local", own, wanted_grads, step=step)
        context.check_all("grad", models.gradients(model), wanted_grads, step=step)
        context.mark(f"step {step}: step and average")
        optimizer.step()
        alone = "" if step % 2 == 0 else "device"  # not averaged
        context.check_all("param", models.parameters(model), wanted_after, step=step, layer=alone)
        if not alone:
            ddp.whose_mean(context, "param", step, models.parameters(model), wanted_after, partial(_alone, replicas))
    for handle in handles:
        handle.remove()


def _alone(replicas: Sequence[Mapping[str, Any]], rank: int) -> list[Mapping[str, Any]]:
    return [replicas[rank]]


def _averaged_by_hand(context: Context, steps: int) -> Any:
    """Of each step, all replicas computed here: gradients and parameters after it of this rank's replica, and the
    parameters of all replicas before they are averaged."""
    torch = context.torch
    replicas = [models.parameters(plain.model(torch, context.sizes))] * context.world
    for step, (tokens, targets) in enumerate(models.batches(torch, context.sizes, steps)):
        shares = [(context.share(tokens, rank), context.share(targets, rank)) for rank in range(context.world)]
        grads = [context.alone(held, *share)[1] for held, share in zip(replicas, shares)]
        apart = replicas = [plain.Optimizer("sgd").step(held, own) for held, own in zip(replicas, grads)]
        if step % 2 == 0:  # the averager counts from zero and averages at every period
            mean = {name: sum(one[name] for one in replicas) / context.world for name in replicas[0]}
            replicas = [mean] * context.world
        yield grads[context.rank], replicas[context.rank], apart


def zero1(context: Context) -> None:
    """ZeroRedundancyOptimizer: each rank keeps the optimizer's state of its part alone."""
    from torch.distributed.optim import ZeroRedundancyOptimizer

    model = ddp.wrap(context)
    context.mark("building the optimizer")
    optimizer = ZeroRedundancyOptimizer(model.parameters(), context.torch.optim.AdamW, lr=1e-3)
    split: Any = getattr(optimizer, "_partition_parameters", lambda: [[]] * context.world)()
    mine = {id(one) for group in split[context.rank] for one in group["params"]}
    named = {models.plain_name(name): one for name, one in model.named_parameters() if id(one) in mine}
    owners = {id(one): rank for rank, part in enumerate(split) for group in part for one in group["params"]}
    updated_by = {
        models.plain_name(name): owners[id(one)] for name, one in model.named_parameters() if id(one) in owners
    }
    context.agree("whose part each parameter is", [owners.get(id(one), -1) for one in model.parameters()])

    def after(step: int) -> None:
        moments = context.reference("adamw").moments[step]
        right = {name: moments[name] for name in named}
        place: dict[str, Any] = {"step": step, "turn": END_TURN - 2, "layer": "device"}
        ddp.check_moments(context, "param", named, optimizer.optim.state, right, **place)

    ddp.train(context, model, optimizer, kind="adamw", owned=list(named), owners=updated_by, after=after)
    held = sum(
        value.numel() for state in optimizer.optim.state.values() for name, value in state.items() if name == "exp_avg"
    )
    whole = sum(one.numel() for one in model.parameters())
    largest = max(one.numel() for one in model.parameters())
    context.expect(
        "value",
        "the optimizer's state",
        held <= whole / context.world + largest,
        f"holds {held} of {whole} elements on this rank: it is not split over {context.world}",
        layer="framework",
    )


def sync_batch_norm(context: Context) -> None:
    """SyncBatchNorm in DDP: statistics over all ranks, so that outputs equal those of one process."""
    torch, dist = context.torch, context.torch.distributed
    nn = torch.nn
    context.need(context.device.type == "cuda", "torch computes SyncBatchNorm on GPUs only")

    def build() -> Any:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(models.SEED)
            return nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 4))

    images = torch.randn(context.sizes.batch, 3, 8, 8, generator=torch.Generator().manual_seed(5)).to(context.device)
    reference = build()  # on the CPU
    wanted = reference(images.cpu())
    wanted.square().mean().backward()
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(build()).to(context.device)
    model = nn.parallel.DistributedDataParallel(converted, device_ids=[context.device.index])
    context.mark("forward and backward")
    got = model(context.share(images))
    got.square().mean().backward()
    near, steep = context.limit(_OUTPUT), context.limit(_NORMED_GRADIENTS)
    context.check("value", "output", got, context.share(wanted), tolerance=near)
    context.check_all("grad", models.gradients(model), models.gradients(reference), tolerance=steep)
    running = dict(model.module.named_buffers())
    context.check("param", "running mean", running["1.running_mean"], reference[1].running_mean, tolerance=near)
    dist.barrier()


def autocast(context: Context) -> None:
    """DDP under bf16 autocast, against the shares of all ranks under the same autocast, computed by one process each.

    Shapes are those of the ranks, so that both sides round in the same places: what the exchange does is compared as
    narrowly as in fp32, and a lost share shows however many ranks there are.
    """
    torch = context.torch
    steps, again = context.cached("autocast", lambda: _autocast_steps(context))
    same = _rounds_alike(context, steps, again)
    limit = _AUTOCAST["same" if same else "grad"]
    model = ddp.wrap(context)
    own: dict[str, Any] = {}
    handles = [one.register_hook(ddp.keep(own, models.plain_name(name))) for name, one in model.named_parameters()]
    optimizer = models.optimizer_for(torch, "sgd", model.parameters())
    for number, step in enumerate(steps):
        context.mark(f"step {number}: forward and backward")
        context.check_all("before", models.parameters(model), step.before, step=number, tolerance=0.0)
        context.clear(optimizer, number)
        own.clear()
        with torch.autocast(context.device.type, dtype=torch.bfloat16):
            logits = model(step.tokens)
        words = f"are {logits.dtype}: autocast did nothing, or something else"
        right = logits.dtype == torch.bfloat16
        context.expect("local", "the logits", right, words, step=number, layer="framework")
        loss = models.loss_of(torch, logits, step.targets)
        loss.backward()
        context.check_all("local", own, step.local, step=number, tolerance=_AUTOCAST["same"] if same else SHORT)
        total = loss.detach().clone()
        context.mark(f"step {number}: mean of the losses, all_reduce float32[]")
        torch.distributed.all_reduce(total)
        near = _AUTOCAST["same" if same else "loss"]
        context.check("loss", "loss", total / context.world, step.loss, step=number, tolerance=near)
        alone = {"this rank's own gradient: nothing was exchanged": step.local}
        context.check_all("grad", models.gradients(model), step.grad, step=number, tolerance=limit, hints=alone)
        optimizer.step()
        stepped = None if same else _AUTOCAST["before"]
        place: dict[str, Any] = {"step": number, "layer": "device", "moved_from": step.before}
        context.check_all("param", models.parameters(model), step.after, tolerance=stepped, **place)
        with torch.no_grad():  # the last bit of a parameter now and then decides how it is rounded to bf16
            for name, one in model.named_parameters():
                one.copy_(step.after[models.plain_name(name)])
    for handle in handles:
        handle.remove()


def _autocast_steps(context: Context) -> tuple[list[ShardedStep], bool]:
    """Two steps of SGD on the mean of all ranks' shares, each computed alone under autocast on this device; and whether
    this rank's share is the same to the bit when it is computed once more, which kernels do not promise."""
    torch = context.torch
    before, found, again = models.parameters(context.build()), [], True

    def local_gradients(tokens: Any, targets: Any) -> tuple[Any, dict[str, Any]]:
        model = context.build()
        model.load_state_dict(before)
        with torch.autocast(context.device.type, dtype=torch.bfloat16):
            logits = model(tokens)
        loss = models.loss_of(torch, logits, targets)
        loss.backward()
        return loss.detach(), models.gradients(model)

    for number, (tokens, targets) in enumerate(context.batches()):
        shares = [(context.share(tokens, rank), context.share(targets, rank)) for rank in range(context.world)]
        many = [local_gradients(*share) for share in shares]
        step = ShardedStep(*shares[context.rank], before)
        step.local_loss, step.local = many[context.rank]
        _, second = local_gradients(step.tokens, step.targets)
        again = again and all(torch.equal(one, second[name]) for name, one in step.local.items())
        plausible(context, number, step, "under autocast")
        step.loss = torch.stack([loss for loss, _ in many]).mean()
        step.grad = {name: torch.stack([one[name] for _, one in many]).mean(0) for name in before}
        step.after = before = {name: one - 0.1 * step.grad[name] for name, one in before.items()}
        found.append(step)
    return found, again


def _rounds_alike(context: Context, steps: list[ShardedStep], again: bool) -> bool:
    """Whether all ranks computed the same shares to the bit, and each its own ``again``."""
    torch = context.torch
    sums = [one.double().sum() for step in steps for one in step.grad.values()]
    own = torch.stack([*sums, torch.full_like(sums[0], float(again))]).to(context.device)
    many = [torch.empty_like(own) for _ in range(context.world)]
    context.mark("do all ranks round in the same way?")
    torch.distributed.all_gather(many, own)
    alike = all(torch.equal(one, many[0]) and float(one[-1]) for one in many)
    if not alike:
        why = "their processors round in other places, or differently each time"
        context.facts["untested"] = f"a share that is lost among many ranks: {why}"
    return alike


def grad_scaler(context: Context) -> None:
    """A gradient scaler: scaled as one process would, and a step with an infinite gradient skipped on every rank."""
    torch = context.torch
    scalers: Any = getattr(torch.amp, "GradScaler", None)
    context.need(scalers, "needs torch 2.3: torch.amp.GradScaler")
    model = ddp.wrap(context)
    optimizer = models.optimizer_for(torch, "sgd", model.parameters())
    scaler = scalers(context.device.type, init_scale=1024.0, growth_interval=1000)
    wanted, grad = context.reference(), context.limit("grad")
    parts: dict[str, Any] = {}
    handles = [one.register_hook(ddp.keep(parts, models.plain_name(name))) for name, one in model.named_parameters()]
    for step, (tokens, targets) in enumerate(context.batches()):
        context.mark(f"step {step}: forward and backward")
        context.clear(optimizer, step)
        parts.clear()
        # As each rank has it by itself: gradients of other scales cannot be added up.
        context.check("input", "the scale", scaler.get_scale(), 1024.0, step=step, tolerance=0.0, layer="framework")
        loss = models.loss_of(torch, model(context.share(tokens)), context.share(targets))
        scaler.scale(loss).backward()
        alone = context.share_alone("sgd", 2, step, context.rank)[1]
        context.check_all("local", {name: one / scaler.get_scale() for name, one in parts.items()}, alone, step=step)
        came = {name: one / scaler.get_scale() for name, one in models.gradients(model).items()}
        context.check_all("grad", came, wanted.grads[step], step=step)
        scaler.unscale_(optimizer)
        # No exchange lies between: what is wrong here alone, this rank made of what came right.
        context.check_all(
            "local", models.gradients(model), wanted.grads[step], step=step, turn=BACKWARD_TURN + 1, tolerance=grad
        )
        scaler.step(optimizer)
        scaler.update()
        moved: dict[str, Any] = {"layer": "device", "moved_from": wanted.before[step]}
        context.check_all("param", models.parameters(model), wanted.after[step], step=step, **moved)
    for handle in handles:
        handle.remove()
    before = copy.deepcopy(models.parameters(model))
    context.mark("a step with an infinite gradient on the last rank")
    optimizer.zero_grad()
    tokens, targets = context.batches()[0]
    loss = models.loss_of(torch, model(context.share(tokens)), context.share(targets))
    loss = loss * (float("inf") if context.rank == context.world - 1 else 1.0)
    with torch.autograd.set_detect_anomaly(False):  # else it would be an error to a user who set it
        scaler.scale(loss).backward()
    spoilt = not all(bool(one.isfinite().all()) for one in models.gradients(model).values())
    last: dict[str, Any] = {"step": len(wanted.losses)}
    context.expect("grad", "the infinite gradient of the last rank", spoilt, "did not arrive", **last)
    scaler.step(optimizer)
    scaler.update()
    # What came is the same on every rank: that the step was skipped and the scale halved is this rank's own scaler.
    own: dict[str, Any] = {**last, "tolerance": 0.0, "turn": END_TURN, "layer": "framework"}
    context.check_all("param", models.parameters(model), before, **own)
    context.check("param", "the scale", scaler.get_scale(), 512.0, **own)


def _compressed_proof(kind: str) -> Proof:
    own = (EXACT, AFTER_ROUNDING, *usual("local", "loss"), _ROUNDED[kind], _ROUNDED_PARAMETERS[kind])
    return Proof(f"{TRAINED.computed}; gradients must hold {kind} values", TRAINED.against, own)


_LOSSY = Proof(
    "four steps of SGD: each rank's own loss and gradients, the mean loss, the gradients before compression, and what "
    "compression lost, which the next step must send; parameters must be equal on all ranks, and ranks must exchange "
    "less than without compression",
    PLAIN,
    (EXACT, *usual("local", "loss", "grad"), COMPRESSED, KEPT),
)
_AVERAGED = Proof(
    "two steps of SGD of one replica per rank: its gradients, before and after its group of one rank, and, after the "
    "average, its parameters",
    "all replicas trained and averaged in one process by published formulas in double precision",
    usual("local", "grad", "param"),
)
_SAME_AUTOCAST = Proof(
    TRAINED.computed + "; the logits must be bf16",
    "the shares of all ranks, each computed alone under the same autocast on the same device, and added up in fp32; "
    "a share must itself be close to published formulas in double precision",
    (EXACT, *_AUTOCAST.values(), SHORT, NEAR, *usual("param")),
)
_SCALED = Proof(
    "two steps of SGD with scaled gradients: each rank's own, the exchanged ones, and those without the scale. "
    "Then a step with an infinite gradient, which every rank must skip",
    PLAIN,
    (EXACT, *usual("local", "grad", "param")),
)
_BATCH_NORM = Proof(
    "output, gradients and running mean of a convolution and a batch norm",
    "one process on the CPU that sees the whole batch, with torch's own batch norm",
    (_OUTPUT, _NORMED_GRADIENTS),
)
MODES = (
    Mode("ddp-fp16-hook", "data parallel, gradients compressed to fp16", fp16_hook, _compressed_proof("fp16")),
    Mode("ddp-bf16-hook", "data parallel, gradients compressed to bf16", bf16_hook, _compressed_proof("bf16")),
    Mode("ddp-powersgd", "data parallel, gradients compressed by PowerSGD", powersgd, _LOSSY),
    Mode("post-local-sgd", "replicas that are averaged every second step", post_local_sgd, _AVERAGED),
    Mode(
        "zero-1", "ZeRO-1: the optimizer's state split over the ranks", zero1, TRAINED.but(ddp.MOMENTS, plain.LONGEST)
    ),
    Mode("ddp-autocast", "data parallel under bf16 autocast", autocast, _SAME_AUTOCAST),
    Mode("ddp-grad-scaler", "data parallel with a gradient scaler", grad_scaler, _SCALED),
    Mode("sync-batch-norm", "batch norm with the statistics of all ranks", sync_batch_norm, _BATCH_NORM),
)
