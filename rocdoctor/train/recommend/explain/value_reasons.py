"""Why each value of a plan is what it is: the figure it rests on, and what the next value would give.

Alternatives are estimated, never asserted: a reason that names another value names what that value would cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from rocdoctor.train.recommend.memory.fit import SHARE
from rocdoctor.train.recommend.memory.shares import bytes_per_parameter
from rocdoctor.train.recommend.model.megatron_code import other_code
from rocdoctor.train.recommend.model.shapes import parameters
from rocdoctor.train.recommend.model.spec import Work
from rocdoctor.train.recommend.model.torchtitan_code import without_code
from rocdoctor.train.recommend.plan import Choice, Plan
from rocdoctor.train.recommend.search.candidates import Candidate, Search
from rocdoctor.train.recommend.software import ENGINE_ATTENTION, attention, fp8, precision
from rocdoctor.train.recommend.speed.communication import volumes
from rocdoctor.train.smoke.plan.order import refusal

FRAMEWORK_WORDS = {
    "ddp": "PyTorch DistributedDataParallel",
    "fsdp2": "PyTorch FSDP2 (fully_shard)",
    "fsdp1": "PyTorch FSDP1",
    "deepspeed": "DeepSpeed ZeRO",
    "megatron": "Megatron-LM",
}
LINKS = {"xgmi": "XGMI", "nvlink": "NVLink", "pcie": "PCIe", "none": "own"}


def gib(value: float) -> str:
    """Bytes as GiB with one decimal."""
    return f"{value / GIB:.1f} GiB"


def room(work: Work) -> float:
    """Bytes of a GPU that a plan may use."""
    return SHARE * work.gpu.usable_bytes


def _pace(better: Candidate, other: Candidate) -> str:
    """How ``other`` compares in speed, in words; empty where speeds are not known."""
    if better.speed is None or other.speed is None:
        return ""
    change = other.speed.tokens_per_s_per_gpu / better.speed.tokens_per_s_per_gpu - 1
    return "equally fast" if abs(change) < 0.005 else f"{abs(change):.0%} {'faster' if change > 0 else 'slower'}"


def _share(better: Candidate, other: Candidate) -> str:
    """How ``other`` compares in speed and memory, in words."""
    pace, most = _pace(better, other), f"at most {gib(other.memory.high)}"
    return f"{pace} ({most})" if pace else most


def margin(first: Candidate, second: Candidate) -> str:
    """By how much the plan is ahead of the next best one."""
    most, now = gib(second.memory.high), gib(first.memory.high)
    held = "it needs as much" if most == now else f"it needs at most {most} instead of {now}"
    if first.speed is None or second.speed is None:
        return f"speeds are not known; {held}"
    change = 1 - second.speed.tokens_per_s_per_gpu / first.speed.tokens_per_s_per_gpu
    if change > 0.005:
        return f"{change:.0%} slower; {held}"
    more = "" if second.level <= first.level else ", which is not worth the extra setup"
    if more and 2 * second.sequences < first.sequences:
        more = f", but with only {second.sequences} sequence{'s' if second.sequences > 1 else ''} per step"
    return f"{'equally fast' if change > -0.005 else f'{-change:.0%} faster'}{more}; {held}"


# What examples call the file that ``recommend --json`` is written to.
PLAN_FILE = "plan.json"


def gain(sure: Candidate, fast: Candidate) -> str:
    """How a plan that may just fit compares with the one that surely does."""
    found, usable = fast.memory, fast.work.gpu.usable_bytes
    times = fast.speed.tokens_per_s_per_gpu / sure.speed.tokens_per_s_per_gpu if fast.speed and sure.speed else 1.0
    likely = found.needed + found.context
    spare = (
        f"{gib(usable - likely)} to spare (likely {gib(likely)}, at most {gib(found.high)}, of {gib(usable)} usable)"
    )
    tried = "Run it for a few steps and watch the memory."
    if refusal(fast.work) is None:
        tried = f"Try it there: rocdoctor recommend ... --json > {PLAN_FILE}; rocdoctor smoke --plan {PLAN_FILE}:faster"
    return f"{times:.2f} times as fast. By the estimate it leaves {spare}. {tried}"


def choices(search: Search, chosen: Candidate, plan: Plan) -> tuple[Choice, ...]:
    """The decisions of a plan in the order in which a person would take them."""
    return tuple(_choices(search, chosen, plan))


def _choices(search: Search, chosen: Candidate, plan: Plan) -> Iterator[Choice]:
    work, fleet = chosen.work, search.fleet
    sizes = work.parallel
    yield _method(work, plan)
    yield _framework(chosen, plan)
    if sizes.dp > 1:
        once = volumes(work)
        sent = once.data + once.sharded
        yield Choice(
            "data_parallel",
            str(sizes.dp),
            "each rank works on its own part of the batch",
            f"{sent / 1e9:.2f} GB sent per GPU in each step",
        )
    yield from _sharding(search, chosen)
    yield from _tensor(search, chosen)
    yield from _pipeline(chosen)
    yield from _context_expert(chosen)
    yield from _batch(search, chosen, plan)
    yield _recompute(search, chosen)
    found = fp8(fleet) if work.precision == "fp8" else precision(fleet)
    value = f"pure {work.precision}" if work.pure_bf16 else work.precision
    yield Choice("precision", value, found.reason, _doubt(found.source), source=found.source)
    kernel = ENGINE_ATTENTION if work.framework == "megatron" and work.flash else attention(fleet)
    yield Choice("attention", work.attention, kernel.reason, _doubt(kernel.source), source=kernel.source)
    if work.method == "full":
        yield _optimizer(search, chosen)
        if work.step_in_backward:
            keeping = _with(search, chosen, replace(work, step_in_backward=False))
            held = gib(keeping.memory.high)
            reason = (
                f"the backward pass updates each weight and frees its gradient; with gradients kept, {held} are needed"
            )
            yield Choice("step_in_backward", "on", reason, "gradients cannot be accumulated")
    if work.compile:
        whole = work.loss == "compiled"
        plain = _with(search, chosen, replace(work, compile=False, loss="plain" if whole else work.loss))
        reason = "layers and loss are compiled, as in torchtitan's and AMD's recipes"
        if not whole:
            reason = "layers are compiled, which takes minutes at the start; the plan also fits without it"
        held = f"logits and loss {gib(chosen.memory.logits)}"
        yield Choice("compile", "on", reason, held, f"off would be {_share(chosen, plain)}")
    if work.loss == "fused":
        plain = _with(search, chosen, replace(work, loss="plain"))
        reason = f"a plain loss takes {gib(plain.memory.logits)} with its logits; the fused one needs liger-kernel"
        yield Choice("loss", "fused", reason, gib(chosen.memory.logits), f"plain would be {_share(chosen, plain)}")
    if sizes.offload_optimizer and not work.paged:
        yield _offload(search, chosen)


def _doubt(source: str) -> str:
    return "not verified" if "not verified" in source else ""


def _with(search: Search, chosen: Candidate, work: Work) -> Candidate:
    return search.estimated(work, chosen.level, chosen.saver)


def _method(work: Work, plan: Plan) -> Choice:
    count = parameters(work.model) / 1e9
    frozen = f"{count:.2f} B frozen {'32' if work.precision == 'fp32' else '16'}-bit weights"
    experts = ", but for the experts, which bitsandbytes leaves in 16 bits" if work.model.experts else ""
    words = {
        "pretrain": f"all {count:.2f} B parameters are trained",
        "full": f"all {count:.2f} B parameters are trained",
        "lora": f"{frozen}; adapters of rank {work.lora_rank} are trained",
        "qlora": f"{count:.2f} B frozen 4-bit weights{experts}; adapters of rank {work.lora_rank} are trained",
    }[plan.workload.method]
    return Choice("method", plan.workload.method, words)


def _framework(chosen: Candidate, plan: Plan) -> Choice:
    work = chosen.work
    if plan.workload.framework:
        return Choice("framework", work.framework, f"you asked for {plan.workload.framework}")
    if work.framework == "ddp":
        one = "one GPU needs nothing more" if work.gpus == 1 else "the simplest choice: every GPU holds the whole model"
        if plan.fleet.vendor == "cpu":
            one = "the simplest choice; ranks communicate over gloo"
        return Choice("framework", "ddp", one)
    if work.framework == "deepspeed":
        reason = "it can move states to main memory" if work.parallel.offload_optimizer else "its ZeRO stage fits best"
        return Choice("framework", "deepspeed", reason)
    reason = f"{FRAMEWORK_WORDS[work.framework]} shards the training state across the GPUs"
    if plan.workload.method == "pretrain" and not work.transformers and without_code(work.model) is not None:
        without = "torchtitan has no 16-bit configuration for a model of these sizes"
        if work.framework == "megatron" and plan.fleet.nodes > 1:
            reason = f"it accepts any sizes; {without}, so FSDP2 would need your own configuration or training program"
        elif work.framework == "fsdp2":
            reason += f"; {without}, so write one, or your own training program{_others(work)}"
    return Choice("framework", work.framework, reason)


def _others(work: Work) -> str:
    """Programs that train a model which has to be written for FSDP2; the Trainer divides by data alone."""
    sizes = work.parallel
    trainer = sizes.tp == sizes.pp == sizes.cp == sizes.ep == 1
    options = ["`rocdoctor emit trainer`"] if trainer else []
    options += ["--framework megatron"] if other_code(work.model) is None else []
    return f"; or use {' or '.join(options)}" if options else ""


def _sharding(search: Search, chosen: Candidate) -> Iterator[Choice]:
    work = chosen.work
    sizes = work.parallel
    if sizes.shard > 1:
        names = {1: "the optimizer is", 2: "gradients and optimizer are", 3: "weights, gradients and optimizer are"}
        whole = _with(search, chosen, replace(work, parallel=replace(sizes, zero=0, shard=1)))
        per = f"{sum(bytes_per_parameter(work)):g} B per parameter: " if work.method == "full" else ""
        figure = f"{per}{gib(whole.memory.states)} in all, {gib(chosen.memory.states)} per GPU"
        why = "which leaves room for activations"
        if whole.fits == "no":
            why = f"because undivided they would need {gib(whole.memory.low)} or more, with the activations"
        reason = f"{names[sizes.zero]} divided among {sizes.shard} GPUs, {why}"
        if sizes.offload_optimizer:  # the whole states would not lie on a GPU either
            reason = f"{names[sizes.zero]} divided among {sizes.shard} GPUs"
            figure = f"{gib(chosen.memory.states)} of states per GPU"
        yield Choice("shard", f"{sizes.shard} (ZeRO {sizes.zero})", reason, figure)
        copies = sizes.dp * sizes.cp // sizes.shard
        if copies > 1:
            yield Choice(
                "replicate",
                str(copies),
                f"each node holds a copy of the states (HSDP), so weights are gathered over its "
                f"{LINKS[search.fleet.fabric]} links and only gradients cross the network",
            )
    elif sizes.dp > 1 and work.framework == "ddp":
        yield Choice("shard", "1", "each GPU has room for all states", gib(chosen.memory.states))


def _tensor(search: Search, chosen: Candidate) -> Iterator[Choice]:
    work = chosen.work
    if work.parallel.tp == 1:
        return
    fleet = search.fleet
    where = (
        f"within the {fleet.island} GPUs joined by {LINKS[fleet.fabric]}" if fleet.fabric != "none" else "within a node"
    )
    yield Choice(
        "tensor_parallel",
        str(work.parallel.tp),
        f"each layer is split; its traffic stays {where}",
        f"{work.gpu.local_link / 1e9:.0f} GB/s to its peers",
    )
    if work.parallel.sequence:
        yield Choice("sequence_parallel", "on", "norms and residuals are split too, without extra traffic")


def _pipeline(chosen: Candidate) -> Iterator[Choice]:
    work, plan = chosen.work, chosen.schedule
    if plan.stages == 1:
        return
    yield Choice(
        "pipeline_parallel",
        str(plan.stages),
        "only activations cross between stages, which suits slow links",
        _layers(work, plan.stages),
    )
    chunks = f", {plan.chunks} chunks per stage" if plan.chunks > 1 else ""
    yield Choice(
        "schedule",
        plan.name + chunks,
        f"{plan.microbatches} micro-batches keep {plan.stages} stages busy",
        f"{plan.idle:.0%} idle",
    )


def _layers(work: Work, stages: int) -> str:
    """How layers are divided among the stages; what is over goes to the last one of Megatron-LM, as it is emitted."""
    most = -(-work.model.layers // stages)
    if work.model.layers % stages == 0:
        return f"{most} layers per stage"
    last = work.model.layers - (stages - 1) * most
    uneven = work.framework == "megatron" and last > 0
    return f"{most} layers per stage, {last} in the last" if uneven else f"at most {most} layers per stage"


def _context_expert(chosen: Candidate) -> Iterator[Choice]:
    work = chosen.work
    if work.parallel.cp > 1:
        yield Choice(
            "context_parallel",
            str(work.parallel.cp),
            "the sequence is split; keys and values pass from rank to rank",
            f"{work.seq // work.parallel.cp} tokens per GPU",
        )
    if work.parallel.ep > 1:
        yield Choice(
            "expert_parallel",
            str(work.parallel.ep),
            "each rank holds some of the experts",
            f"{work.model.experts // work.parallel.ep} of {work.model.experts} experts",
        )


def _batch(search: Search, chosen: Candidate, plan: Plan) -> Iterator[Choice]:
    work, given = chosen.work, search.workload.global_batch
    larger = next(((m, n) for m, n in search.batches(work.parallel) if m > work.micro_batch), None)
    reason = "the largest that divides the batch" if given else "a larger one would make steps larger than usual"
    if larger is not None:
        other = _with(search, chosen, replace(work, micro_batch=larger[0], microbatches=larger[1]))
        most, pace = gib(other.memory.high), _pace(chosen, other)
        reason = f"{larger[0]} would {f'be {pace} and ' if pace else ''}need at most {most}"
        if other.fits != "yes":
            reason = f"{larger[0]} may need {most}, and {gib(room(work))} are available to a plan"
        elif not search.fits_as_it_is(other.work):
            reason = f"{larger[0]} would fit only if torch.compile meets no graph break"
        elif search.workload.goal == "memory":
            reason = f"the goal is memory; {reason}"
    held = f"{work.micro_batch} needs at most {gib(chosen.memory.high)}"
    yield Choice("micro_batch", str(work.micro_batch), reason, held)
    if given is not None:
        made_of = f"{work.micro_batch} x {work.microbatches} x {work.parallel.dp} ranks"
        words = f"{given} sequences per step, as you asked: {made_of}"
    else:
        count = "1 sequence" if plan.global_batch == 1 else f"{plan.global_batch} sequences"
        words = f"you gave no batch size, so a step has {count} ({plan.global_batch * work.seq} tokens)"
    yield Choice("grad_accum", str(work.microbatches), words)


def recompute_words(work: Work) -> str:
    """``full``, or in how many of a stage's layers."""
    if work.recompute_layers is None:
        return work.recompute
    return f"{work.recompute} in {work.recompute_layers} of {-(-work.model.layers // work.parallel.pp)} layers"


def _recompute(search: Search, chosen: Candidate) -> Choice:
    work = chosen.work
    if work.recompute == "none":
        other = _with(search, chosen, replace(work, recompute="full", recompute_layers=None))
        kept, full = gib(chosen.memory.activations), f"full would be {_share(chosen, other)}"
        return Choice("recompute", "none", "all activations fit", kept, full)
    other = _with(search, chosen, replace(work, recompute="none", recompute_layers=None))
    words = f"without it, activations would take {gib(other.memory.activations)}"
    if other.fits == "yes":
        words = "it makes room for a larger micro-batch" if work.micro_batch > 1 else "it leaves the most memory free"
    return Choice(
        "recompute",
        recompute_words(work),
        words,
        f"{gib(chosen.memory.activations)} kept",
        f"none would be {_share(chosen, other)}",
    )


def _optimizer(search: Search, chosen: Candidate) -> Choice:
    work = chosen.work
    each = bytes_per_parameter(work)[2]
    if work.paged:
        return Choice(
            "optimizer",
            "paged_adamw_8bit",
            "8-bit moments do not fit alongside the rest, so they move between GPU and main memory; this needs the "
            "package bitsandbytes and may change the loss slightly",
            f"{each:g} B per parameter",
        )
    if work.optimizer == "adam8bit":
        return Choice(
            "optimizer",
            "adamw_8bit",
            "AdamW with fp32 moments does not fit; 8-bit AdamW needs the package "
            "bitsandbytes and may change the loss slightly",
            f"{each:g} B per parameter",
        )
    if work.optimizer == "adam16bit":
        whole = _with(search, chosen, replace(work, optimizer="adam"))
        return Choice(
            "optimizer",
            "adamw_bf16_moments",
            f"fp32 moments would need {gib(whole.memory.high)} in all; weights and gradients stay fp32, as in NVIDIA's "
            "recipe for DeepSeek-V4; TransformerEngine's FusedAdam keeps bf16 moments (see the notes for the release)",
            f"{each:g} B per parameter",
        )
    if work.pure_bf16:
        whole = _with(search, chosen, replace(work, pure_bf16=False))
        reason = (
            f"moments are in bf16 like the weights, because with fp32 states the plan would need "
            f"{gib(whole.memory.high)}; rounding loses small updates, so watch the loss"
        )
        return Choice("optimizer", "adamw", reason, f"{each:g} B per parameter", _in_fp32(search, chosen))
    return Choice("optimizer", "adamw", "as in published recipes, with moments in fp32", f"{each:g} B per parameter")


def _in_fp32(search: Search, chosen: Candidate) -> str:
    """What states in fp32 would cost where they fit, which is with less kept for the backward pass."""
    work = replace(chosen.work, pure_bf16=False, recompute="full", recompute_layers=None)
    small = replace(work, micro_batch=1, microbatches=work.micro_batch * work.microbatches)
    for one in (work, small):
        other = _with(search, chosen, one)
        if other.fits == "yes":
            micro = "" if one.micro_batch == chosen.work.micro_batch else " and micro-batch 1"
            return f"fp32 with recompute full{micro} would be {_share(chosen, other)}"
    return ""


def _offload(search: Search, chosen: Candidate) -> Choice:
    work = chosen.work
    what = "weights and optimizer" if work.parallel.offload_weights else "optimizer"
    plain = replace(work, parallel=replace(work.parallel, offload_optimizer=False, offload_weights=False))
    other = _with(search, chosen, plain)
    reason = f"without offload, the plan would need up to {gib(other.memory.high)}"
    return Choice("offload", what, reason, f"{gib(room(work))} available to a plan")
