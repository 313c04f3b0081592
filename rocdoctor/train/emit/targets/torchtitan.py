"""The command of torchtitan 0.3.0: its options over one of its own configurations.

Option names are in ``torchtitan_options``; what can be said with them in ``torchtitan_limits``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, gcd

from rocdoctor.train.emit.files import File
from rocdoctor.train.emit.launcher import Argument, own_options
from rocdoctor.train.emit.script import because, render, told
from rocdoctor.train.emit.targets import Order
from rocdoctor.train.emit.torchtitan_limits import (
    FRAMEWORKS,
    RECOMPUTE,
    SCHEDULES,
    refuses,
)
from rocdoctor.train.recommend.model.layout import Parallel
from rocdoctor.train.recommend.model.torchtitan_code import FLAVOURS, VERSION, preset_of
from rocdoctor.train.recommend.plan import Plan

__all__ = ["FRAMEWORKS", "LEFT_OPEN", "files", "program", "refuses"]


def _batches(plan: Plan) -> Iterator[Argument]:
    work = plan.work
    each, piped = work.micro_batch, work.parallel.pp > 1
    local = each * work.microbatches if piped else each
    yield Argument(
        ("--training.seq_len", str(work.seq)), f"activations were estimated for {work.seq} tokens per sequence"
    )
    reason = because(plan, "micro_batch", "sequences of one pass")
    if piped:
        yield Argument(("--parallelism.pipeline_parallel_microbatch_size", str(each)), reason)
        reason = f"{work.microbatches} micro-batches of {each} fill the pipeline in each step"
    yield Argument(("--training.local_batch_size", str(local)), reason)
    count = "one pass per step" if piped or work.microbatches == 1 else f"{work.microbatches} passes per step"
    sentence = f"{count}, {work.parallel.dp} data-parallel ranks"
    yield Argument(("--training.global_batch_size", str(plan.global_batch)), because(plan, "global_batch", sentence))


def _division(plan: Plan) -> Iterator[Argument]:
    sizes = plan.work.parallel
    shard = sizes.shard // sizes.cp if sizes.zero == 3 else 1
    copies = sizes.dp // shard

    def one(option: str, value: object, key: str, instead: str) -> Argument:
        return Argument((f"--parallelism.{option}", str(value)), because(plan, key, instead))

    yield one("data_parallel_shard_degree", shard, "shard", "states are divided among these ranks")
    yield one(
        "data_parallel_replicate_degree",
        copies,
        "replicate",
        "one copy of the states" if copies == 1 else f"{copies} copies of the states",
    )
    keep = "never" if sizes.keep_gathered else "default"
    kept = "gathered weights stay until the backward pass" if sizes.keep_gathered else "each layer is freed after use"
    yield one("fsdp_reshard_after_forward", keep, "", kept)
    yield one(
        "tensor_parallel_degree",
        sizes.tp,
        "tensor_parallel",
        f"each matrix is divided among {sizes.tp} ranks" if sizes.tp > 1 else "no tensor parallelism",
    )
    if sizes.tp > 1:
        option = f"--parallelism.{'' if sizes.sequence else 'no_'}enable_sequence_parallel"
        words = (
            "norms are divided among the tensor-parallel ranks" if sizes.sequence else "norms are whole on each rank"
        )
        yield Argument((option,), because(plan, "sequence_parallel", words))
    yield one(
        "context_parallel_degree",
        sizes.cp,
        "context_parallel",
        f"each sequence is divided among {sizes.cp} ranks" if sizes.cp > 1 else "one rank holds whole sequences",
    )
    yield one(
        "expert_parallel_degree",
        sizes.ep,
        "expert_parallel",
        f"experts are divided among {sizes.ep} ranks" if sizes.ep > 1 else "experts are not moved",
    )
    yield one(
        "pipeline_parallel_degree",
        sizes.pp,
        "pipeline_parallel",
        f"layers are divided among {sizes.pp} ranks" if sizes.pp > 1 else "no pipeline",
    )
    if sizes.pp > 1:
        yield from _stages(plan, sizes)


def _stages(plan: Plan, sizes: Parallel) -> Iterator[Argument]:
    reason = because(plan, "schedule", "the order of forward and backward passes")
    yield Argument(("--parallelism.pipeline_parallel_schedule", SCHEDULES[sizes.schedule]), reason)
    each = ceil(plan.work.model.layers / (sizes.pp * sizes.chunks))
    yield Argument(
        ("--parallelism.pipeline_parallel_layers_per_stage", str(each)),
        f"{sizes.pp} ranks with {sizes.chunks} of {sizes.pp * sizes.chunks} stages each",
    )
    for end in ("first", "last"):
        option = f"--parallelism.pipeline_parallel_{end}_stage_less_layers"
        yield Argument((option, "0"), "stages were estimated with equal numbers of layers")


def _computing(plan: Plan) -> Iterator[Argument]:
    work = plan.work
    reason = because(plan, "precision", "weights and optimizer in fp32, products in 16 bits")
    yield Argument(("--training.dtype", "bfloat16" if work.pure_bf16 else "float32"), reason)
    param = "float32" if work.precision == "fp32" else "bfloat16"
    yield Argument(("--training.mixed_precision_param", param), "the type in which weights are gathered and multiplied")
    yield Argument(("--training.disable_cuda_graphs",), "memory was estimated without CUDA graphs and their own pool")
    offload = "enable_cpu_offload" if work.parallel.offload_weights else "no_enable_cpu_offload"
    yield Argument((f"--training.{offload}",), because(plan, "offload", "all states were estimated to be on the GPU"))
    yield Argument(("--optimizer.implementation", "fused"), "the configuration's AdamW, in one kernel")
    parts = [name for name, used in (("model", work.compile), ("loss", work.loss == "compiled")) if used]
    if parts:
        reason = because(plan, "compile", "compiled layers keep fewer activations")
        yield Argument(("--compile.enable", "--compile.components", ",".join(parts)), reason)
    else:
        yield Argument(("--compile.no_enable",), because(plan, "compile", "estimated without torch.compile"))
    overlap = "enable_async_tensor_parallel" if work.parallel.async_tp else "no_enable_async_tensor_parallel"
    yield Argument(
        (f"--compile.{overlap}",), "tensor-parallel collectives " + ("overlap" if work.parallel.async_tp else "wait")
    )
    chunks = gcd(work.seq // work.parallel.cp, 8)
    words = "the loss in pieces: it needs less memory than in the plan, which has all logits at once"
    yield Argument(("--loss.num_chunks", str(chunks)), words if chunks > 1 else "the loss in one piece, as estimated")


def program(plan: Plan, order: Order) -> list[Argument]:
    """What each rank runs: torchtitan with its options; the policy of recompute must be the last word."""
    name = preset_of(plan.work.model) or ""
    flavour = FLAVOURS[name]
    words = [
        Argument(("-m", "torchtitan.train"), "torchtitan's own training program"),
        Argument(("--module", flavour.module, "--config", flavour.config), f"its configuration for {name}"),
        *_batches(plan),
        *_division(plan),
        *_computing(plan),
        *own_options(order.script_arguments),
    ]
    policy = f"activation-checkpoint:{RECOMPUTE[plan.work.recompute]}"
    return [*words, Argument((policy,), because(plan, "recompute", "which activations are computed again"))]


LEFT_OPEN = (
    "Data, tokenizer, learning rate, steps and checkpoints are those of torchtitan's configuration; set yours with "
    "--hf_assets_path (folder of the tokenizer), --dataloader.dataset, --training.steps and "
    "--checkpoint.enable, before activation-checkpoint, which must remain the last argument.",
    "Other versions of torchtitan name their options differently.",
)


def files(plan: Plan, order: Order) -> Sequence[File]:
    """The script that starts torchtitan on one node."""
    head = [told(plan, f"torchtitan {VERSION}"), *LEFT_OPEN]
    return [File("torchtitan.sh", render(plan, head, (), program(plan, order)), executable=True)]
