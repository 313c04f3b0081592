"""What ranks run, below the launcher, and what the plan leaves to that program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rocdoctor.train.emit.files import plain
from rocdoctor.train.emit.launcher import Argument, launcher
from rocdoctor.train.emit.targets import Order, megatron, torchtitan
from rocdoctor.train.recommend.memory.step_memory import step_copy
from rocdoctor.train.recommend.plan import Plan


def program(plan: Plan, order: Order) -> list[Argument]:
    """What each rank runs: the user's training program.

    Where the user names none, torchtitan (asked for by name, or written beside) and Megatron-LM run their own, if it
    can do the plan.
    """
    if order.script == Order().script:
        named = order.torchtitan or "titan" in (plan.workload.framework or "").lower()
        if named and torchtitan.refuses(plan.work) is None:
            return torchtitan.program(plan, order)
        if megatron.refuses(plan.work) is None:
            return megatron.program(plan, order)
    return [Argument((order.script, *order.script_arguments), "the training program")]


def left_open(plan: Plan, order: Order) -> Sequence[str]:
    """What the user still has to tell a program that is started with options of its own."""
    named = any("torchtitan.train" in one.words for one in program(plan, order))
    return torchtitan.LEFT_OPEN if named else ()


def torchrun(
    plan: Plan, order: Order, nnodes: str, node_rank: str | None, rendezvous: str | None, run_id: str | None = None
) -> list[Argument]:
    """The torchrun command with its program; parameters as of ``launcher``."""
    return [*launcher(plan, nnodes, node_rank, rendezvous, run_id), *program(plan, order)]


def demands(plan: Plan, order: Order) -> list[str]:
    """What the user's own program must do for the estimate to hold, and why; nothing where the command says it all."""
    if not any(order.script in one.words for one in program(plan, order)):
        return []
    found = ((what, plan.why(key).rstrip(".")) for key, what in _demands(plan))
    return [plain(f"{what} ({why})" if why else what) for what, why in found]


def _demands(plan: Plan) -> Iterator[tuple[str, str]]:
    """Keys of choices, and what the program must do for them."""
    work, fleet = plan.work, plan.fleet
    if fleet.vendor == "cpu":
        yield "", 'call init_process_group("gloo"), because no rank has a GPU'
    sequences = "1 sequence" if work.micro_batch == 1 else f"{work.micro_batch} sequences"
    yield "micro_batch", f"take {sequences} of {work.seq} tokens per data-parallel rank and pass"
    passes = "one pass before" if work.microbatches == 1 else f"{work.microbatches} passes before"
    seen = "1 sequence" if plan.global_batch == 1 else f"{plan.global_batch} sequences"
    yield "grad_accum", f"make {passes} each optimizer step, which sees {seen}"
    yield from _division(plan)
    if work.method != "full":
        four = "4 bits (NF4, bitsandbytes)" if work.method == "qlora" else "16 bits"
        adapters = f"LoRA adapters of rank {work.lora_rank} on every linear layer"
        yield "method", f"freeze the weights, in {four}, and train {adapters}"
        yield "precision", f"compute in {work.precision}, the adapters in fp32"
    elif work.pure_bf16:
        yield "precision", "keep weights, gradients and optimizer in bf16"
    else:
        yield "precision", _PRECISION[work.precision]
    if work.recompute == "full" and work.recompute_layers != 0:
        layers = f"{work.recompute_layers} of the {work.model.layers}" if work.recompute_layers else "all"
        yield "recompute", f"checkpoint the activations of {layers} layers, and recompute them in the backward pass"
    elif work.recompute in _KEPT:
        yield "recompute", f"checkpoint activations selectively: keep the results of {_KEPT[work.recompute]}"
    one_kernel = work.optimizer == "adam" and work.framework in ("ddp", "fsdp2") and not step_copy(work, 1.0)
    how = ", with fused=True (its default form copies all second moments in each step)" if one_kernel else ""
    name = "paged 8-bit AdamW" if work.paged else _OPTIMIZER[work.optimizer]
    yield "optimizer", f"use the {name} optimizer{how}"
    if work.step_in_backward:
        yield (
            "step_in_backward",
            "give each weight an optimizer of its own that steps and frees the gradient in a hook "
            "(register_post_accumulate_grad_hook; PyTorch's tutorial on the optimizer step in the backward pass)",
        )
    if work.loss != "plain":
        yield "loss", f"use a {work.loss} cross-entropy, which never holds all logits in fp32"
    if work.flash:
        yield "attention", "use flash attention, through scaled_dot_product_attention or a package"
    if work.compile:
        yield "compile", "compile the model with torch.compile"


_KEPT = {"selective": "all but attention", "selective-op": "attention and every second matrix product"}
_PRECISION = {
    "bf16": "compute in bf16 with fp32 master weights (autocast, or the mixed precision of FSDP or DeepSpeed)",
    "fp16": "compute in fp16 with fp32 master weights and a gradient scaler",
    "fp32": "compute in fp32",
    "fp8": "compute matrix products in float8 with one scale per tensor (torchao.float8), the rest in bf16",
    "fp8-rowwise": "compute matrix products in float8 with one scale per row (torchao.float8), the rest in bf16",
}
_OPTIMIZER = {
    "adam": "AdamW",
    "adam8bit": "8-bit AdamW",
    "adam16bit": "AdamW (moments in bf16)",
    "sgd": "SGD",
    "momentum": "SGD with momentum",
    "adafactor": "Adafactor",
}
_SHARDED = ("", "optimizer states", "optimizer states and gradients", "optimizer states, gradients and weights")


def _division(plan: Plan) -> Iterator[tuple[str, str]]:
    """How work and states are divided among the ranks."""
    work = plan.work
    sizes = work.parallel
    named = (("tensor", sizes.tp), ("pipeline", sizes.pp), ("context", sizes.cp), ("expert", sizes.ep))
    for name, size in named:
        if size > 1:
            yield f"{name}_parallel", f"divide the model by {name} parallelism over {size} ranks"
    if sizes.tp > 1 and sizes.sequence:
        yield "sequence_parallel", "use sequence parallelism within the tensor-parallel ranks"
    if sizes.pp > 1:
        chunks = f", {sizes.chunks} chunks per stage" if sizes.chunks > 1 else ""
        yield "schedule", f"use the {sizes.schedule} schedule{chunks}"
    if sizes.zero and sizes.shard > 1:
        copies = sizes.dp * sizes.cp // sizes.shard
        over = f"over {sizes.shard} ranks" + (f", in {copies} copies" if copies > 1 else "")
        yield "shard", f"shard {_SHARDED[sizes.zero]} {over} with {_TOOL[work.framework]}"
        if sizes.keep_gathered:
            yield "", "keep gathered weights after the forward pass (reshard_after_forward=False)"
    elif sizes.dp > 1:
        yield "data_parallel", "average gradients over the ranks with DistributedDataParallel"
    moved = (("optimizer", sizes.offload_optimizer and not work.paged), ("weights", sizes.offload_weights))
    parts = [name for name, is_moved in moved if is_moved]
    if parts:
        yield "offload", f"keep {' and '.join(parts)} in main memory (CPU offload)"


_TOOL = {
    "fsdp2": "fully_shard (FSDP2)",
    "fsdp1": "FullyShardedDataParallel",
    "megatron": "Megatron's distributed optimizer",
    "deepspeed": "deepspeed.initialize (rocdoctor emit deepspeed writes its file)",
    "ddp": "ZeroRedundancyOptimizer",
}
