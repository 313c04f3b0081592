"""The configuration of DeepSpeed, and a page with the reason of each value, since JSON has no comments."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rocdoctor.train.emit.data_parallel import refusal, script_part
from rocdoctor.train.emit.files import File, plain
from rocdoctor.train.emit.targets import Order
from rocdoctor.train.recommend.memory.shares import shares
from rocdoctor.train.recommend.model.layout import Framework
from rocdoctor.train.recommend.model.spec import Work
from rocdoctor.train.recommend.plan import Plan

FRAMEWORKS: tuple[Framework, ...] = ("deepspeed",)

# What the estimate counts (train/recommend/memory/gpu_memory.py): DeepSpeed's own defaults, in parameters.
_BUCKET, _LIVE = 500_000_000, 1_000_000_000
# Two buckets of 2 bytes each are 20 MB: the estimate counts none for frozen weights.
_ADAPTER_BUCKET = 5_000_000
_PREFETCH, _PERSISTENT = 50_000_000, 100_000
# A cautious start; no estimate depends on it.
_RATE = 1e-5


@dataclass(frozen=True, slots=True)
class DeepSpeedLine:
    """One value of the file: its path (``zero_optimization.stage``), and why."""

    path: str
    value: Any
    reason: str


def refuses(work: Work) -> str | None:
    """Why DeepSpeed's file cannot express a configuration, or None."""
    sizes = work.parallel
    said = refusal(work, "the DeepSpeed configuration", FRAMEWORKS)
    if said is not None:
        return said
    if sizes.zero and sizes.shard != sizes.dp:
        return f"ZeRO shards over all {sizes.dp} data-parallel ranks, not over {sizes.shard}"
    if sizes.keep_gathered:
        return "ZeRO has no setting that keeps gathered weights after the forward pass"
    if sizes.zero == 3 and work.model.experts:
        return "ZeRO-3 gathers all experts of a layer at once, which the estimate does not count; nearest: ZeRO-2"
    if sizes.offload_optimizer and not sizes.zero:
        return "DeepSpeed moves the optimizer to main memory only with ZeRO-1 and above"
    if sizes.offload_weights and (sizes.zero < 3 or not sizes.offload_optimizer):
        return "DeepSpeed moves weights to main memory only with ZeRO-3 and together with the optimizer"
    if work.optimizer not in ("adam", "sgd", "momentum"):
        return f"the DeepSpeed configuration has no {work.optimizer} optimizer; nearest: adamw"
    if sizes.offload_optimizer and work.optimizer != "adam":
        return f"DeepSpeed computes Adam on the CPU, not {work.optimizer}"
    if work.loss == "fused":
        return "the DeepSpeed configuration cannot fuse the loss: the model's code would have to"
    if work.compile:
        return "the DeepSpeed configuration does not compile the model: the training script would have to"
    if work.pure_bf16:
        return "DeepSpeed keeps fp32 copies of the weights unless they are offloaded; nearest: precision bf16"
    if work.method == "qlora" and sizes.zero == 3:
        return "ZeRO-3 does not shard 4-bit weights; nearest: ZeRO-2"
    return None


def _batches(plan: Plan) -> list[DeepSpeedLine]:
    work = plan.work
    return [
        DeepSpeedLine(
            "train_micro_batch_size_per_gpu", work.micro_batch, plan.why("micro_batch") or "sequences per GPU and pass"
        ),
        DeepSpeedLine(
            "gradient_accumulation_steps", work.microbatches, plan.why("grad_accum") or "passes before each step"
        ),
        DeepSpeedLine(
            "train_batch_size",
            plan.global_batch,
            plan.why("global_batch") or f"{work.micro_batch} x {work.microbatches} x {work.parallel.dp} ranks",
        ),
    ]


def _precision(plan: Plan) -> list[DeepSpeedLine]:
    work = plan.work
    why = plan.why("precision")
    lines = []
    if work.precision != "fp32":
        lines.append(DeepSpeedLine(f"{work.precision}.enabled", True, why or f"matrix products in {work.precision}"))
        if work.precision == "fp16":
            lines.append(DeepSpeedLine("fp16.loss_scale", 0, "0: the loss scale is adjusted during training"))
    size = 4 if work.precision == "fp32" else 2
    reason = f"{size} bytes of gradient per parameter, as estimated"
    return [*lines, DeepSpeedLine("data_types.grad_accum_dtype", work.precision, reason)]


def _zero(plan: Plan) -> list[DeepSpeedLine]:
    work = plan.work
    sizes = work.parallel
    name = "zero_optimization."
    lines = [
        DeepSpeedLine(f"{name}stage", sizes.zero, plan.why("shard") or plan.why("data_parallel") or _STAGES[sizes.zero])
    ]
    if not sizes.zero:
        return lines
    # The buffers are made whole whatever the model's size, so a model smaller than a bucket gets a smaller one.
    bucket = max(1, min(_BUCKET, int(shares(work).total)))
    if work.method != "full" and sizes.zero < 3:
        bucket = _ADAPTER_BUCKET
    gib = 4 * bucket / 2**30
    held = f"two buckets of {bucket:,} 16-bit gradients are in flight ({gib:.2g} GiB), as estimated"
    lines += [
        DeepSpeedLine(f"{name}overlap_comm", True, "gradients are reduced during the backward pass"),
        DeepSpeedLine(f"{name}contiguous_gradients", True, "gradients are copied into one buffer: no fragments"),
        DeepSpeedLine(f"{name}reduce_bucket_size", bucket, held),
    ]
    if sizes.zero < 3:
        lines.append(
            DeepSpeedLine(f"{name}allgather_bucket_size", bucket, "new weights are sent in pieces of that size")
        )
    else:
        live = (
            f"at most this many parameters are gathered at once ({2 * _LIVE / 2**30:.2g} GiB in 16 bits), as estimated"
        )
        lines += [
            DeepSpeedLine(f"{name}stage3_max_live_parameters", _LIVE, live),
            DeepSpeedLine(
                f"{name}stage3_max_reuse_distance", _LIVE, "parameters that are needed again within that many are kept"
            ),
            DeepSpeedLine(
                f"{name}stage3_prefetch_bucket_size", _PREFETCH, "gathered before they are used; DeepSpeed's default"
            ),
            DeepSpeedLine(
                f"{name}stage3_param_persistence_threshold", _PERSISTENT, "smaller ones are not divided; the default"
            ),
        ]
    host = plan.why("offload") or "the GPU's memory does not hold it"
    if sizes.offload_optimizer:
        lines += [
            DeepSpeedLine(f"{name}offload_optimizer.device", "cpu", host),
            DeepSpeedLine(f"{name}offload_optimizer.pin_memory", True, "copies overlap only from pinned memory"),
        ]
    if sizes.offload_weights:
        lines += [
            DeepSpeedLine(f"{name}offload_param.device", "cpu", host),
            DeepSpeedLine(f"{name}offload_param.pin_memory", True, "copies overlap only from pinned memory"),
        ]
    return lines


_STAGES = (
    "states are whole on every GPU",
    "the optimizer is sharded",
    "optimizer and gradients are sharded",
    "optimizer, gradients and weights are sharded",
)


def _optimizer(plan: Plan) -> list[DeepSpeedLine]:
    work = plan.work
    kind = "AdamW" if work.optimizer == "adam" else "SGD"
    lines = [
        DeepSpeedLine("optimizer.type", kind, plan.why("optimizer") or "the optimizer whose states were estimated"),
        DeepSpeedLine(
            "optimizer.params.lr", _RATE, "a cautious start; set the rate of your recipe, memory does not depend on it"
        ),
    ]
    if work.optimizer == "momentum":
        lines.append(DeepSpeedLine("optimizer.params.momentum", 0.9, "one momentum per parameter was estimated"))
    if kind == "SGD" and work.parallel.zero:
        lines.append(
            DeepSpeedLine("zero_allow_untested_optimizer", True, "DeepSpeed accepts SGD with ZeRO only if this is set")
        )
    return lines


def lines(plan: Plan) -> list[DeepSpeedLine]:
    """Every value of the file with its reason, in the file's order."""
    return [*_batches(plan), *_precision(plan), *_zero(plan), *_optimizer(plan)]


def nested(values: Sequence[DeepSpeedLine]) -> dict[str, Any]:
    """The values as the mapping that DeepSpeed reads."""
    out: dict[str, Any] = {}
    for line in values:
        *parents, last = line.path.split(".")
        place = out
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = line.value
    return out


def _page(plan: Plan, values: Sequence[DeepSpeedLine], must: Sequence[str], order: Order) -> str:
    work = plan.work
    text = [
        "# Why each value of ds_config.json is there",
        "",
        f"For {plain(plan.fleet.name)} and {plain(work.model.name)}. DeepSpeed 0.19.8 was asked; names and defaults "
        "of other versions may differ.",
        "",
        "| key | value | why |",
        "| --- | --- | --- |",
    ]
    text += [
        f"| `{line.path}` | `{json.dumps(line.value)}` | {plain(line.reason).replace('|', '/')} |" for line in values
    ]
    text += ["", f"What the training script ({plain(order.script)}) must do, because this file cannot:", ""]
    return "\n".join([*text, *(f"- {line}" for line in must)]) + "\n"


def _must(plan: Plan) -> list[str]:
    work = plan.work
    must = script_part(work)
    if work.recompute == "full":
        must.insert(0, "call model.gradient_checkpointing_enable(): the estimate recomputes every layer")
    must.append("build the optimizer from this file (deepspeed.initialize without an optimizer argument)")
    return must + loading(work)


def loading(work: Work) -> list[str]:
    """What the training script must do where it loads weights, whoever calls DeepSpeed."""
    if work.method != "full":
        return ["load the frozen weights in 16 bits or fewer"]
    if work.precision == "fp32":
        # The engine's __check_params is empty in 0.19.8, and transformers 5 loads in the type of the checkpoint.
        return [
            "load the weights in fp32 (torch_dtype=torch.float32): DeepSpeed trains in the type "
            "in which they are loaded"
        ]
    return []


def _files(plan: Plan, values: Sequence[DeepSpeedLine], must: Sequence[str], order: Order) -> list[File]:
    text = json.dumps(nested(values), indent=2) + "\n"
    return [File("ds_config.json", text), File("ds_config.reasons.md", _page(plan, values, must, order))]


def files(plan: Plan, order: Order) -> Sequence[File]:
    """``ds_config.json`` and its reasons."""
    return _files(plan, lines(plan), _must(plan), order)


def without_optimizer(plan: Plan, must: Sequence[str], order: Order) -> Sequence[File]:
    """The same files for a launcher whose training script makes the optimizer; ``must`` is what else it must do."""
    return _files(plan, [line for line in lines(plan) if not line.path.startswith("optimizer.")], must, order)
