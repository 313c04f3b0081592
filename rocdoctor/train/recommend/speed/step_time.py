"""Time of a training step from the work of each part: a roofline with the share of the peak that is reached.

Matrix products: FLOPs over peak x efficiency(generation, precision) x a term for small local widths. Attention: causal
FLOPs, forward once and backward 2.5 times (the flash kernels compute the scores again), at its own efficiency. The
rest moves memory: norms, rotations, gates, residuals, casts to fp8, the loss, the optimizer. Communication that is not
hidden and the idle time of the pipeline come on top.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rocdoctor.train.recommend.memory.gpu_memory import weight_bytes
from rocdoctor.train.recommend.memory.shares import bytes_per_parameter, shares
from rocdoctor.train.recommend.model import tried
from rocdoctor.train.recommend.model.shapes import (
    Kind,
    active_mlp_matrix,
    active_parameters,
    attention_flops,
    attention_matrix,
)
from rocdoctor.train.recommend.model.spec import Work
from rocdoctor.train.recommend.speed.communication import Times, times, volumes
from rocdoctor.train.recommend.speed.elementwise import elementwise_bytes, unpacked_bytes
from rocdoctor.train.recommend.speed.pipeline import Schedule


@dataclass(frozen=True, slots=True)
class Speed:
    """Seconds of a step by what they go to, and what follows; ``mfu`` counts 6 N + 12 L h s FLOP a token (all of the
    attention square, as PaLM; 4 N where weights are frozen), ``mfu_causal`` half of the square. ``low``: tokens a
    second and GPU with torch's own builds, where the shares rest on others; else the estimate itself."""

    matrix: float
    attention: float
    memory: float
    optimizer: float
    communication: float
    bubble: float
    tokens_per_s_per_gpu: float
    mfu: float
    mfu_causal: float
    bound_by: str
    low: float


def _figure(table: Mapping[str, Any], generation: str, key: str) -> float:
    rows = table["generations"]
    row = rows.get(generation) or rows["other"]
    found = row.get(key) or rows["other"][key]
    return float(found["v"])


def _kernel(work: Work) -> str:
    """Which attention kernel a framework uses where none is named."""
    named = work.attention
    if any(word in named for word in ("triton", "flash1", "fa1")):
        return "attention_triton"
    if any(word in named for word in ("cudnn", "te", "flash3", "fa3", "aiter", "v3")):
        return "attention_vendor"
    if work.model.family == "mpt":
        return "attention_triton"
    return "attention_vendor" if work.framework == "megatron" else "attention_flash"


def _recomputed(work: Work, kind: Kind) -> tuple[float, float]:
    """Shares of a layer's forward matrix products and attention that run again."""
    model = work.model
    if work.recompute == "full":
        stage = -(-model.layers // work.parallel.pp)
        share = 1.0 if work.recompute_layers is None else min(1.0, work.recompute_layers / stage)
        spared = 0.0
        if (work.compile or work.framework == "fsdp1") and kind == "dense":
            # No gradient needs what the last product of a layer gave: a compiled graph computes it once, and torch's
            # non-reentrant checkpoints, which FSDP1's programs take, stop before it.
            spared = model.hidden * model.ffn / (attention_matrix(model) + active_mlp_matrix(model, kind))
        return share * (1 - spared), share
    if work.recompute == "selective-op":
        if not model.gated:
            return 0.5, 0.0
        again = model.hidden * (model.k_width + model.o_width + model.ffn)  # k, o, up
        return again / (attention_matrix(model) + active_mlp_matrix(model, kind)), 0.0
    # Megatron computes the core of attention again whatever its kernel (``checkpoint_core_attention`` of
    # core/transformer/attention.py, read 2026-11-29); others keep what a flash kernel gave.
    selective = work.recompute == "selective" and (work.framework == "megatron" or not work.flash)
    return 0.0, 1.0 if selective else 0.0


def _shape(work: Work, table: Mapping[str, Any], experts: bool = False) -> float:
    """What narrow products, or products of few tokens, reach of the rate of large ones.

    An expert sees the tokens that are routed to it: those of all ranks that share the experts.
    """
    model, plan = work.model, work.parallel
    tokens, width = work.tokens, min(model.hidden, model.expert_ffn if experts else model.ffn)
    if experts:
        tokens *= model.top_k * plan.ep / model.experts
    few = 1 + float(table["small_tokens"]["v"]) / tokens
    return 1 / (1 + float(table["small_width"]["v"]) * plan.tp / width) / few


def _clock(work: Work, table: Mapping[str, Any]) -> float:
    """Clock under load over that of the part whose share of the peak the table has.

    Power rises faster than the clock, about its square. Two parts with one peak differ by what their boards may draw;
    that no more than 1.5 times counts is a choice, not measured: no known part reaches it (MI325X 1.33).
    """
    gpu = work.gpu
    row = (table["generations"].get(gpu.generation) or {}).get("board_w_per_tflops")
    drawn = gpu.power_share
    if row is not None and gpu.board_w is not None and gpu.peak:
        drawn *= min(1.5, gpu.board_w / (gpu.peak / 1e12) / float(row["v"]))
    return float(drawn ** float(table["power_exponent"]["v"]))


def _slowest_stage(head: float, all_layers: float, stage: int, work: Work) -> tuple[float, float]:
    """Of the stage that all others wait for: the time of the head and its loss, and its share of the layers.

    Stages have equal numbers of layers, but for a last one that has what is left. It computes the head beside its own:
    of a model of 70B with words for 128,256 that is as much as 1.2 layers (Megatron-LM takes it into account only where
    ``--account-for-loss-in-pipeline-split`` or layers of the last stage are given, megatron/training/arguments.py).
    """
    pp, count = work.parallel.pp, work.model.layers
    full, last = stage / count, (count - stage * (pp - 1)) / count
    if all_layers * last + head >= all_layers * full:
        return head, last
    return 0.0, full


def _step_seconds(work: Work, table: Mapping[str, Any]) -> tuple[float, float, float, float]:
    """Seconds of matrix products, attention, memory traffic (all micro-batches of a stage) and the optimizer."""
    model, gpu, plan = work.model, work.gpu, work.parallel
    peak, bandwidth = gpu.peak or 0.0, (gpu.bandwidth or 1e12) * float(table["bandwidth_share"]["v"])
    generation = gpu.generation
    clock = _clock(work, table)
    share = _figure(table, generation, "matrix_bf16")
    base = peak * clock * share
    if gpu.measured:
        # Products of a training step are smaller and less square than the measured ones; the measured rate is already
        # that under the power limit. Everything that a peak stands behind moves along.
        known = gpu.measured * float(table["measured_share"]["v"])
        peak, clock = (peak * known / base if base else known / share), (clock if base else 1.0)
        base = known
    fast = base
    if work.precision == "fp32":
        base = fast = base / 2
    elif work.precision.startswith("fp8") and gpu.peak_fp8:
        key = "matrix_fp8_rowwise" if work.precision == "fp8-rowwise" else "matrix_fp8"
        fast = gpu.peak_fp8 * clock * _figure(table, generation, key) * (peak / gpu.peak if gpu.peak else 1.0)
    shape = _shape(work, table)
    attention_rate = peak * clock * _figure(table, generation, _kernel(work))
    if not work.flash:
        attention_rate *= 0.5
    stage = -(-model.layers // plan.pp)
    weight_pass = 2.0 if work.method == "full" else 1.0  # frozen weights have no weight gradient
    matrix = attention = moved = 0.0
    for kind, count in model.kinds:
        again, again_attention = _recomputed(work, kind)
        passes = count * (1 + weight_pass + again) / fast
        if kind == "moe":
            matrix += 2.0 * attention_matrix(model) * passes / shape
            slower = 1 + float(table["expert_width"]["v"]) / model.expert_ffn
            matrix += 2.0 * active_mlp_matrix(model, kind) * passes * slower / _shape(work, table, experts=True)
        else:
            matrix += 2.0 * (attention_matrix(model) + active_mlp_matrix(model, kind)) * passes / shape
        attention += attention_flops(model, work.seq) * count * (3.5 + again_attention) / attention_rate
        moved += elementwise_bytes(work, kind, again) * count / bandwidth
        moved += unpacked_bytes(work, kind, again) * count / (work.tokens * bandwidth)
    head = 6.0 * model.vocab * model.hidden / base
    loss = 2.0 * model.vocab * (4.0 if work.loss != "plain" else 16.0) / bandwidth
    edge, layers = _slowest_stage(head + loss, matrix + attention + moved, stage, work)
    tokens = work.tokens * work.microbatches
    part = shares(work)
    if plan.zero >= 1:
        owned = part.dense / plan.shard + part.expert / plan.expert_ranks(plan.shard)
    else:
        owned = part.total
    owned = owned if work.method == "full" else owned * 0.02
    each = 2 * sum(bytes_per_parameter(work)) + 4
    update = each * owned / bandwidth
    if plan.offload_optimizer and work.optimizer == "adam8bit":
        # Paged states come to the GPU for the step, while those of before leave it: both directions at once.
        update += 2.1 * owned / (gpu.host_link * float(table["fabric"]["pcie"]["v"]))
    elif plan.offload_optimizer:
        # Gradients and weights cross the host link; the processor moves the states at about 100 GB/s a node.
        update += 4.0 * owned / gpu.host_link + 28.0 * owned * min(work.gpus, gpu.node_gpus) / 100e9
    if plan.offload_weights:
        # Each rank fetches its part for the forward and for the backward pass of every micro-batch.
        rate = gpu.host_link * float(table["fabric"]["pcie"]["v"])
        update += 2.0 * weight_bytes(work) * work.microbatches / rate
    return (
        (matrix * layers + edge) * tokens / plan.tp,
        attention * layers * tokens / plan.tp,
        moved * layers * tokens / plan.tp,
        update,
    )


def _own_builds(work: Work, table: Mapping[str, Any]) -> float:
    """Share of the estimate that torch's own builds may be down at; 1 where one was measured or no run says so."""
    generation = work.gpu.generation
    row = table["own_builds"].get(generation)
    if work.model.experts:
        row = table["own_builds_experts"].get(generation, row)
    plain = work.framework in ("fsdp2", "fsdp1", "ddp") and work.method == "full"
    known = work.gpu.measured is not None or tried.nearest(work) is not None
    return float(row["v"]) if row is not None and plain and not known else 1.0


def speed(work: Work, plan: Schedule, table: Mapping[str, Any]) -> Speed | None:
    """Tokens a second and GPU, or None for a GPU whose rate is neither in a table nor measured.

    Without a listed peak ``mfu`` is the share of the measured rate of products. A trial scales the rate, not the parts.
    """
    if not work.gpu.peak and not work.gpu.measured:
        return None
    matrix, attention, moved, update = _step_seconds(work, table)
    # Kernels that are too short to fill the time between launches; compiled graphs fuse most of them.
    launches = (40.0 if work.compile else 150.0) * -(-work.model.layers // work.parallel.pp) * work.microbatches
    busy = max(matrix + attention + moved, launches * float(table["launch_seconds"]["v"]))
    told: Times = times(work, volumes(work), table, busy)
    bubble = plan.idle * (busy + told.exposed * 0.5)
    step = busy + told.exposed + bubble + update
    tokens = work.microbatches * work.micro_batch * work.seq * work.parallel.dp / work.gpus
    trial = tried.nearest(work)
    rate = tokens / step * (trial.speed if trial is not None and trial.speed else 1.0)
    model = work.model
    matrix_flops = (6 if work.method == "full" else 4) * active_parameters(model)
    square = 6.0 * model.layers * attention_flops(model, work.seq)
    peak = work.gpu.peak or work.gpu.measured or 0.0
    if work.precision.startswith("fp8") and work.gpu.peak_fp8:
        peak = work.gpu.peak_fp8
    parts = {"compute": matrix + attention, "memory": moved + update, "communication": told.exposed, "bubble": bubble}
    return Speed(
        matrix,
        attention,
        moved,
        update,
        told.exposed,
        bubble,
        rate,
        rate * (matrix_flops + square) / peak,
        rate * (matrix_flops + square / 2) / peak,
        max(parts, key=lambda key: parts[key]),
        rate * _own_builds(work, table),
    )
