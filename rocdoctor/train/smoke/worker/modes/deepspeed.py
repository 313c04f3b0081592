"""DeepSpeed ZeRO stages 0 to 3, and ZeRO++'s second copies, by its own launcher, against one process."""

from __future__ import annotations

import importlib
import os
from functools import partial
from typing import Any

from .. import model as models
from .. import plain
from ..launched import LaunchedContext
from ..mode import Launch, LaunchPlan, Mode
from ..tolerance import EXACT, PLAIN, Proof, Tolerance, usual

ORDER = 220
_INHERITED = Tolerance(
    2e-3,
    "gradients of the second step, from which AdamW computes the new parameters",
    "what rounding decided in the first step cannot be corrected in DeepSpeed's copies: 1.3e-3 in a model of it "
    "(AdamW in fp64, each gradient off by up to 8e-5 of the largest, as on GPUs)",
    unit="of the largest gradient",
)

# Parameters are given back after the forward, so that the backward gathers them from the second copy.
_NEARBY = {"stage3_max_live_parameters": 0, "stage3_max_reuse_distance": 0}


def zero(stage: int, context: LaunchedContext, copies: bool = False) -> None:
    """Two steps of AdamW; what this rank holds of the parameters is compared, without gathering any.

    ``copies``: each half of the ranks (of two, both) has all parameters a second time, for the backward (hpZ).
    """
    torch, dist = context.torch, context.torch.distributed
    context.mark("import deepspeed")
    deepspeed: Any = importlib.import_module("deepspeed")
    if copies:
        known: Any = importlib.import_module("deepspeed.runtime.zero.config").DeepSpeedZeroConfig
        context.need(hasattr(known(), "zero_hpz_partition_size"), "needs DeepSpeed 0.10 or later: hpZ of ZeRO++")
    context.mark("deepspeed.init_distributed (compiles an extension when it runs for the first time)")
    deepspeed.init_distributed(dist_backend=context.backend)
    context.joined("deepspeed")
    if context.comparison.faults:
        return
    model = context.build()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    context.mark("deepspeed.initialize")
    near = (context.world // 2 if context.world % 2 == 0 and context.world > 2 else context.world) if copies else 1
    told = configuration(context.sizes.batch // context.world, stage, near)
    engine, _, _, _ = deepspeed.initialize(model=model, optimizer=optimizer, config=told)
    context.expect(
        "input",
        "deepspeed",
        engine.zero_optimization_stage() == stage,
        f"runs ZeRO stage {engine.zero_optimization_stage()} instead of {stage}",
        layer="configuration",
    )
    context.expect(
        "input",
        "deepspeed",
        engine.dp_world_size == context.world,
        f"shares the data among {engine.dp_world_size} ranks instead of {context.world}",
        layer="configuration",
    )
    wanted = context.reference("adamw")
    for step, (tokens, targets) in enumerate(context.batches()):
        held = _certain(context, engine, step - 1) if step else _held(engine)
        right = _parts(context, engine, wanted.before[step])
        context.check_all("before", held, right, step=step, tolerance=0.0 if step == 0 else None)
        tokens, targets = context.share(tokens), context.share(targets)
        context.mark(f"step {step}: forward")
        loss = models.loss_of(torch, engine(tokens), targets)
        alone = _own_loss(context, wanted.before[step], tokens, targets)
        context.check("local", "this rank's own loss", loss, alone, step=step)
        if copies:
            second = _second_copies(context, engine, near, step)
            right = _parts(context, engine, wanted.before[step], near)
            # Ahead of what all ranks compute with it.
            held, right = ({f"second copy of {name}": one for name, one in each.items()} for each in (second, right))
            context.check_all("before", held, right, step=step, layer="framework")
        context.mark(f"step {step}: backward")
        engine.backward(loss)
        total = loss.detach().clone()
        context.mark(f"step {step}: mean of the losses")
        dist.all_reduce(total)
        context.check("loss", "loss", total / context.world, wanted.losses[step], step=step)
        if stage == 0:
            context.check_all("grad", models.gradients(engine.module), wanted.grads[step], step=step)
        context.mark(f"step {step}: step")
        engine.step()
        right = _parts(context, engine, wanted.after[step])
        context.check_all("param", _certain(context, engine, step), right, step=step)
    _split(context, stage, engine)


def configuration(rows: int, stage: int, near: int) -> dict[str, Any]:
    """DeepSpeed's settings for ``rows`` of the batch a rank; ``near`` ranks share a second copy, 1 for none."""
    return {
        "train_micro_batch_size_per_gpu": rows,
        "gradient_accumulation_steps": 1,
        "steps_per_print": 10**9,
        "zero_optimization": {
            "stage": stage,
            "stage3_param_persistence_threshold": 0,
            # DeepSpeed before 0.10 refuses the name of what it does not know.
            **({**_NEARBY, "zero_hpz_partition_size": near} if near > 1 else {}),
        },
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
    }


def _own_loss(context: LaunchedContext, state: dict[str, Any], tokens: Any, targets: Any) -> Any:
    model = context.build()
    model.load_state_dict(state)
    with context.torch.no_grad():
        return models.loss_of(context.torch, model(tokens), targets)


def _held(engine: Any) -> dict[str, Any]:
    """What this rank holds of each parameter, flat: all of it, or its partition (stage 3)."""
    return {
        models.plain_name(name): getattr(one, "ds_tensor", one).detach().clone().flatten()
        for name, one in engine.module.named_parameters()
    }


def _second_copies(context: LaunchedContext, engine: Any, near: int, step: int) -> dict[str, Any]:
    """This rank's part of each second copy, which was made in the forward; rounding as in ``_certain``."""
    found = {}
    for name, one in engine.module.named_parameters():
        held: Any = getattr(one, "ds_secondary_tensor", None)
        there = held is not None
        words = "has no second copy: hpZ is not in use"
        if context.expect("before", models.plain_name(name), there, words, step=step, layer="configuration"):
            found[models.plain_name(name)] = held.detach().clone().flatten()
    if step == 0:
        return found
    return context.certain(step - 1, 2, found, lambda whole: _parts(context, engine, whole, near), _INHERITED)


def _parts(context: LaunchedContext, engine: Any, whole: dict[str, Any], near: int = 0) -> dict[str, Any]:
    """The same of expected tensors: a partition is one of equal, consecutive parts of the flat, padded tensor.

    ``near``: of how many ranks are those that share a second copy, where that is meant.
    """
    found, ranks = {}, near or context.world
    for name, one in engine.module.named_parameters():
        flat = whole[models.plain_name(name)].flatten()
        held: Any = getattr(one, "ds_secondary_tensor" if near else "ds_tensor", None)
        if held is None and near:
            continue
        if held is not None:
            size = held.numel()
            padded = context.torch.nn.functional.pad(flat, (0, size * ranks - flat.numel()))
            flat = padded[context.rank % ranks * size : (context.rank % ranks + 1) * size]
        found[models.plain_name(name)] = flat
    return found


def _certain(context: LaunchedContext, engine: Any, step: int) -> dict[str, Any]:
    return context.certain(step, 2, _held(engine), partial(_parts, context, engine), _INHERITED)


def _split(context: LaunchedContext, stage: int, engine: Any) -> None:
    """From stage 1 on each rank holds the optimizer's state of its own part alone."""
    held = (
        sum(
            value.numel()
            for state in engine.optimizer.optimizer.state.values()
            for name, value in state.items()
            if name == "exp_avg"
        )
        if stage
        else 0
    )
    whole = sum(getattr(one, "ds_numel", one.numel()) for one in engine.module.parameters())
    most = whole / context.world + 2 * context.world * len(list(engine.module.parameters()))
    context.expect(
        "value",
        "the optimizer's state",
        held <= most,
        f"holds {held} of {whole} elements on this rank: it is not split over {context.world}",
        layer="framework",
    )
    if stage:
        context.facts["state_share"] = round(held / whole, 3)


def _command(plan: LaunchPlan) -> list[str]:
    return [
        plan.interpreter,
        "-m",
        "deepspeed.launcher.runner",
        "--num_gpus",
        str(plan.world),
        "--master_addr",
        plan.address,
        "--master_port",
        str(plan.port),
        "--no_local_rank",
        *plan.program,
    ]


def _environment(device: str) -> dict[str, str]:
    return {"DS_ACCELERATOR": "cpu"} if device == "cpu" else {}


def _needs(_: int, backend: str, device: str) -> str:
    return "deepspeed gives each rank its own GPU" if device != "cpu" and backend != "nccl" else ""


def _segments(plan: LaunchPlan) -> tuple[str, ...]:
    """Buffers of sums on processors, 66 MiB a rank, which nothing takes away (deepspeed/ops/csrc/cpu/comm/shm.cpp and
    ccl.cpp of DeepSpeed 0.19.8, read 2026-11-29): named by user, address and port, then by rank."""
    return (f"deepspeed_allreduce_buffer_{os.getuid()}_{plan.address}_{plan.port}_",)


_ZERO = Proof(
    "two steps of AdamW: what this rank holds of the parameters, its own loss, the mean loss, gradients (stage 0)",
    f"{PLAIN}; its own loss by the same model on this device without DeepSpeed",
    (EXACT, *usual("before", "local", "loss", "grad", "param"), plain.LONGEST, _INHERITED),
)
LAUNCH = Launch(_command, packages=("deepspeed",), needs=_needs, environment=_environment, segments=_segments)


def _mode(name: str, title: str, run: Any, proof: Proof = _ZERO, least: int = 1) -> Mode:
    title = f"DeepSpeed {title}, by deepspeed's launcher"
    # Its first run compiles an extension: 41 to 120 s.
    return Mode(f"deepspeed-{name}", title, run, proof, full=True, min_world=least, slow=6.0, launch=LAUNCH)


MODES = (
    *(_mode(f"zero-{stage}", f"ZeRO stage {stage}", partial(zero, stage)) for stage in range(4)),
    _mode(
        "zero-hpz",
        "ZeRO++ (stage 3, second copies nearby)",
        partial(zero, 3, copies=True),
        _ZERO.but(computed=f"{_ZERO.computed}; its part of each second copy"),
        2,
    ),
)
