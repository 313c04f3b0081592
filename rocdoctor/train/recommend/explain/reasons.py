"""Why an estimate says what it says, one line a term."""

from __future__ import annotations

from collections.abc import Iterator

from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from rocdoctor.train.recommend.memory.gpu_memory import GpuMemory
from rocdoctor.train.recommend.memory.shares import bytes_per_parameter, shares
from rocdoctor.train.recommend.model import tried
from rocdoctor.train.recommend.model.shapes import active_parameters, parameters
from rocdoctor.train.recommend.model.spec import Work
from rocdoctor.train.recommend.speed.pipeline import Schedule
from rocdoctor.train.recommend.speed.step_time import Speed


def reasons(work: Work, plan: Schedule, found: GpuMemory, told: Speed | None) -> list[str]:
    """The lines, memory first; each names its formula or rule."""
    model, sizes, gpu = work.model, work.parallel, work.gpu
    part = shares(work)
    active = f", {active_parameters(model) / 1e9:.2f} B active" if model.experts else ""
    lines = [f"{model.name}: {parameters(model) / 1e9:.2f} B parameters{active}"]
    used = {"tp": sizes.tp, "pp": sizes.pp, "cp": sizes.cp, "ep": sizes.ep, "dp": sizes.dp}
    split = ", ".join(f"{key} {value}" for key, value in used.items() if value > 1) or "no parallelism"
    sharded = f"ZeRO {sizes.zero} over {sizes.shard}" if sizes.shard > 1 else "states not sharded"
    lines.append(f"{work.gpus} x {gpu.name}: {split}; {sharded}, as {work.framework} does it")
    if work.method == "full":
        weights, gradients, optimizer = bytes_per_parameter(work)
        freed = ", of one matrix at a time" if work.step_in_backward else ""
        moved = ", which move to main memory" if work.paged else ""
        lines.append(
            f"states: {weights:g} bytes weights, {gradients:g} bytes gradients{freed}, "
            f"{optimizer:g} bytes optimizer per parameter"
            f"{moved}"
        )
    else:
        lines.append(f"states: frozen weights and {work.method} adapters of rank {work.lora_rank}")
    if part.total < 0.99 * parameters(model):
        lines[0] += f", {part.total / 1e9:.2f} B of them on each GPU"
    lines.append(
        f"activations: {work.tokens:.0f} tokens x {model.layers // sizes.pp} layers, recompute {work.recompute}, "
        f"stored for {plan.stored / plan.chunks:.3g} micro-batch{'es' if plan.stored > plan.chunks else ''}"
    )
    # Megatron's fused losses keep as much as its plain one, or more.
    large = work.loss == "plain" and work.framework != "megatron" and found.logits > 0.2 * found.live_peak
    spare = "; fused_ce saves most of it" if large else ""
    lines.append(f"loss: {work.loss} cross-entropy over {model.vocab} words{spare}")
    kept = (found.reserved - found.live_peak) / GIB
    room = ", where there is room" if found.reserved > found.needed else ""
    lines.append(
        f"the allocator holds {kept:.1f} GiB more than is in use{room}; the runtime takes another "
        f"{found.context / GIB:.1f} GiB of the device, so nvidia-smi or amd-smi shows about "
        f"{(found.reserved + found.context) / GIB:.1f} GiB"
    )
    lines += _tried(work)
    if told is None:
        lines.append(f"speed: no table has the peak rate of '{gpu.name}'; give gpu.peak_tflops and bandwidth_gb_s")
        return lines
    if told.low < told.tokens_per_s_per_gpu:
        lines.append(f"speed: it may be {slower(told)}")
    peak = "fp8" if work.precision.startswith("fp8") and gpu.peak_fp8 else "16-bit"
    total = told.matrix + told.attention + told.memory + told.optimizer + told.communication + told.bubble
    shown = (
        ("matrix products", told.matrix),
        ("attention", told.attention),
        ("memory traffic", told.memory),
        ("optimizer", told.optimizer),
        ("exposed communication", told.communication),
        ("pipeline idle", told.bubble),
    )
    lines.append(
        "step: " + ", ".join(f"{name} {100 * value / total:.0f} %" for name, value in shown if value > 0.005 * total)
    )
    square = "mfu counts 6 N + 12 L h s FLOP per token (full attention matrix)"
    lines.append(f"{square} against the {peak} peak; causal: {100 * told.mfu_causal:.1f} %")
    if plan.stages > 1:
        idle = f"{100 * plan.idle:.0f} % idle on top"
        lines.append(f"pipeline: {plan.name}, {plan.microbatches} micro-batches on {plan.stages} stages, {idle}")
    return lines


def slower(told: Speed) -> str:
    """Why a GPU may be slower than estimated, with the lower end."""
    share = told.low / told.tokens_per_s_per_gpu
    return (
        f"as low as {told.low:.0f} tokens/s per GPU: the estimate is based on figures for the "
        "vendor's tuned images, for Megatron-LM or for other GPUs, and published runs of "
        f"torchtitan reached only {share:.0%} of it at worst on such GPUs. "
        "`rocdoctor smoke --figures` measures what yours reaches"
    )


def _tried(work: Work) -> Iterator[str]:
    """Which trials the figures rest on, with their day."""
    own, like, fast = tried.exact(work), tried.alike(work), tried.nearest(work)
    if own is not None:
        ran = "whole" if own.whole else f"at {' and '.join(map(str, own.layers))} layers"
        yield f"memory measured here on {own.day}: this plan was tried {ran}, {own.reserved:.2f} times the estimate"
    elif like is not None and like.reserved > 1:
        words = f"the upper end is raised because a similar plan took {like.reserved:.2f} times its estimate"
        yield f"memory: {words}, measured here on {like.day}"
    if fast is not None:
        whose = "this plan" if fast == own else "the nearest plan that was tried"
        yield f"speed measured here on {fast.day}: {whose} ran at {fast.speed:.2f} times the estimate"
