"""What a user must know of a plan beside its values: assumptions, packages it needs, what was not chosen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rocdoctor.train.recommend.estimate import efficiency, solve
from rocdoctor.train.recommend.explain.cautions import cautions
from rocdoctor.train.recommend.explain.reasons import slower
from rocdoctor.train.recommend.explain.value_reasons import PLAN_FILE
from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from rocdoctor.train.recommend.model.shapes import active_parameters, parameters
from rocdoctor.train.recommend.model.spec import Work
from rocdoctor.train.recommend.plan import Plan
from rocdoctor.train.recommend.software import attention, eight_bit_optimizer, four_bit
from rocdoctor.train.smoke.plan.order import refusal


def notes(plan: Plan) -> tuple[str, ...]:
    """The notes, what may go wrong first."""
    return tuple(_notes(plan))


def _notes(plan: Plan) -> Iterator[str]:
    work, fleet = plan.work, plan.fleet
    yield from cautions(work, plan.result.memory, fleet.software.packages)
    told = plan.result.speed
    if told is not None and told.low < told.tokens_per_s_per_gpu:
        yield f"The speed may be {slower(told)}."
    if plan.result.fits == "tight":
        yield (
            "This plan is tight: the upper estimate exceeds the memory available to a plan. Run it and watch the "
            "memory. If it runs out, make the changes under 'If it does not fit'."
        )
        if refusal(work) is None:
            yield (
                f"To test whether it fits: rocdoctor recommend ... --json > {PLAN_FILE}; rocdoctor smoke --plan "
                f"{PLAN_FILE}"
            )
    if work.optimizer == "adam8bit" and eight_bit_optimizer(fleet).state != "yes":
        yield f"8-bit Adam: {eight_bit_optimizer(fleet).reason}"
    if work.step_in_backward:
        seen = "1 sequence" if plan.global_batch == 1 else f"{plan.global_batch} sequences"
        yield (
            f"A step sees {seen}, because a step in the backward pass can neither accumulate nor clip gradients. "
            "torchtune's full_finetune_single_device does this (optimizer_in_bwd=True) for the models it supports. For "
            "your own program, `rocdoctor emit torchrun` writes what it must do. --method lora needs none of this."
        )
    if work.method == "qlora":
        four = four_bit(fleet)
        if four.state != "yes":
            yield f"4-bit weights: {four.reason}"
        if work.parallel.zero == 3 and work.gpus > 1:
            yield "For QLoRA with sharded weights, set bnb_4bit_quant_storage to the type of the other weights."
    yield from _domain(plan)
    yield from _loading(plan)
    yield from _held_back(plan)
    if plan.result.speed is None and fleet.vendor != "cpu":
        yield "The speed is not known: no table has this GPU's peak rate. `rocdoctor smoke --figures` measures it."
    elif plan.result.speed is None:
        yield _step_on_processors(plan)
    else:
        yield from _speed_basis(plan)
    packages = fleet.software.packages
    missing = [name for name in _needs(work) if packages is not None and name not in packages]
    if missing:
        several = "packages" if missing[1:] else "package"
        verb = "are" if missing[1:] else "is"
        yield f"The {several} {', '.join(missing)} {verb} not in the interpreter that was examined."
    yield from fleet.left_out
    yield from plan.workload.derived


def _needs(work: Work) -> Iterator[str]:
    """Packages without which the plan does not start, by the names that pip has for them."""
    if work.framework == "megatron":
        yield "megatron-core"
    if work.framework == "deepspeed":
        yield "deepspeed"
    if work.method != "full":
        yield "peft"
    if work.method == "qlora" or (work.optimizer == "adam8bit" and not work.torchao):
        yield "bitsandbytes"
    if work.loss == "fused":
        yield "liger-kernel"


def _domain(plan: Plan) -> Iterator[str]:
    """That NVLink is taken to go beyond a node: whether nodes share a rack nobody has said."""
    fleet, domain = plan.fleet, plan.work.gpu.domain
    if fleet.nodes > 1 and domain > fleet.per_node:
        nodes = min(fleet.nodes, domain // fleet.per_node)
        yield (
            f"This plan assumes that NVLink joins {nodes} nodes, as in one NVL{domain} rack with "
            "IMEX. Nodes in different racks, or without IMEX, have only their network, so steps "
            "are slower there."
        )


def _loading(plan: Plan) -> Iterator[str]:
    """What loading takes of main memory before FSDP2 shards, where there is not that much.

    The Trainer leaves ``cpu_ram_efficient_loading`` off (transformers training_args.py, read 2026-11-28).
    """
    work, room = plan.work, plan.fleet.host_memory_bytes
    if work.framework != "fsdp2" or not work.transformers or work.method == "qlora" or room is None:
        return
    ranks = plan.fleet.per_node
    if plan.fleet.gpu_shares_memory:  # what no state fills yet
        room += ranks * max(0.0, work.gpu.usable_bytes - plan.result.memory.states)
    whole = parameters(work.model) * (4.0 if work.method == "full" and not work.pure_bf16 else 2.0)
    if ranks * whole > room:
        yield (
            f"Each of the {ranks} ranks of a node first loads the whole model: {ranks * whole / GIB:.0f} GiB in all, "
            f"but "
            f"main memory has {room / GIB:.0f} GiB. Set cpu_ram_efficient_loading in fsdp_config: then only one "
            f"loads it."
        )


def _step_on_processors(plan: Plan) -> str:
    """How long a step takes at a round rate: no table has that of processors."""
    work = plan.work
    tokens = plan.global_batch * work.seq
    # Forward, backward to the inputs, to the weights where they are trained, and forward again.
    passes = 2 + (work.method == "full") + (work.recompute == "full")
    flop = 2.0 * active_parameters(work.model) * passes * tokens
    seconds = flop / (work.gpus * 1e12)
    return (
        f"A step takes {flop / 1e12:.3g} TFLOP of matrix products. If each process reaches 1 TFLOP/s, that is "
        f"{seconds:.3g} s, "
        f"and 1,000 steps take {seconds / 3.6:.3g} hours."
    )


def _held_back(plan: Plan) -> Iterator[str]:
    """What attention kernels that torch holds back would change here."""
    fleet = plan.fleet
    if plan.work.flash or attention(replace(fleet, experimental_kernels=True)).value != "flash":
        return
    other = solve({**plan.spec, "attention": "flash"})
    changes: list[str] = []
    before, after = f"{plan.result.memory.high / GIB:.1f}", f"{other.memory.high / GIB:.1f}"
    if before != after:
        changes.append(f"need at most {after} instead of {before} GiB")
    if other.speed is not None and plan.result.speed is not None:
        gain = other.speed.tokens_per_s_per_gpu / plan.result.speed.tokens_per_s_per_gpu - 1
        changes += [f"be {gain:.0%} faster"] if gain > 0.005 else []
    if changes:
        yield (
            f"With TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL=1 this plan would {' and '.join(changes)}. The kernels are "
            f"experimental on {fleet.gfx}: set the variable, check that `rocdoctor smoke` passes, and plan again."
        )


def _speed_basis(plan: Plan) -> Iterator[str]:
    """How sure the speed is: what was measured here, or how many published runs stand behind the table."""
    if plan.work.model.experts:
        yield (
            "The speed is rough for a mixture of experts: the table is based on few published runs, which differ by "
            "half or more between software versions."
        )
    source = plan.fleet.sources.get("peak", "")
    if "measured" in source:
        yield f"The speed is based on figures measured here ({source})."
        return
    rows = efficiency()["generations"]
    entry = rows.get(plan.work.gpu.generation, rows["other"]).get("matrix_bf16", {})
    count = int(entry.get("rows", 0))
    if count == 0:
        yield (
            "The speed is a guess: the table for this GPU generation is not based on any published run. "
            "`rocdoctor smoke --figures` measures this machine."
        )
