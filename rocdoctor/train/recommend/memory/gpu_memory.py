"""Memory of one GPU: states, gathered weights, activations, loss, and what the allocator keeps beyond.

Bytes a parameter: Megatron 18, with the distributed optimizer 6 + 12/dp (NVIDIA/Megatron-LM
``theoretical_memory_usage.py``); DeepSpeed 2 + 18/n (ZeRO-2), 18/n (ZeRO-3) (its estimators); FSDP with fp32 weights
16/n; NF4 weights 4.127 bits (Dettmers et al. 2023).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from rocdoctor.train.recommend.memory.activations import autocast, loss_bytes, stage_bytes
from rocdoctor.train.recommend.memory.allocator import idle_segments, left_by_head, merged_at_start, needed, with_room
from rocdoctor.train.recommend.memory.communicators import collective_bytes
from rocdoctor.train.recommend.memory.shares import Shares, adapter_bytes, bytes_per_parameter, shares
from rocdoctor.train.recommend.memory.step_memory import step_copy
from rocdoctor.train.recommend.model import tried
from rocdoctor.train.recommend.model.shapes import attention_matrix, embedding_parameters
from rocdoctor.train.recommend.model.spec import Work
from rocdoctor.train.recommend.speed.pipeline import Schedule

# What a trial leaves open: another run of the whole plan, and a depth that was not run. Chosen, not measured.
TRIED_WHOLE, TRIED_CUT = 0.02, 0.05


@dataclass(frozen=True, slots=True)
class GpuMemory:
    """Bytes of one GPU; ``low`` and ``high`` bound what the device must have. With ``needed`` the allocator gets by,
    ``reserved`` is what it holds where there is room."""

    states: float
    gathered: float
    activations: float
    logits: float
    buffers: float
    live_peak: float
    reserved: float
    context: float
    low: float
    high: float
    spread: float
    needed: float


def bucket_bytes(work: Work, count: float) -> float:
    """DistributedDataParallel's buckets: a copy of all gradients in their type, for as long as the wrapper lives.

    Its default (``gradient_as_bucket_view=False``); the trace of torch 2.13 shows the same.
    """
    if work.framework != "ddp" or work.parallel.dp == 1 or work.method != "full":
        return 0.0
    return bytes_per_parameter(work)[1] * count


def _states(work: Work, part: Shares) -> tuple[float, float]:
    """Bytes of weights and optimizer, and of gradients, after sharding."""
    plan = work.parallel
    weights, gradients, optimizer = bytes_per_parameter(work)

    def split(count: float, shard: int) -> tuple[float, float]:
        w = weights * count / (shard if plan.zero == 3 else 1)
        g = gradients * count / (shard if plan.zero >= 2 else 1)
        o = optimizer * count / (shard if plan.zero >= 1 else 1)
        w, o = (0.0 if plan.offload_weights else w), (0.0 if plan.offload_optimizer else o)
        return w + o, 0.0 if _gradients_away(work) else g

    dense, experts = split(part.dense, plan.shard), split(part.expert, plan.expert_ranks(plan.shard))
    return dense[0] + experts[0], dense[1] + experts[1]


def _gradients_away(work: Work) -> bool:
    """Whether gradients lie in main memory: FSDP2 moves them with the weights, DeepSpeed with the optimizer (``device``
    in runtime/zero/stage_1_and_2.py and stage3.py, edaa72212, read 2026-11-30). Stage 1 does not divide them, and
    they stay."""
    plan = work.parallel
    if work.framework == "deepspeed":
        return plan.offload_optimizer and plan.zero >= 2
    return work.framework == "fsdp2" and plan.offload_weights


def _held_for_gradients(work: Work, part: Shares) -> float:
    """Bytes that DeepSpeed's allocator holds where gradients lie in main memory, as much as they would take.

    Live memory has none of it: 9.4 GiB of 7B on 8 GPUs with ZeRO-3, 16.9 with ZeRO-2 (chenyaofo's table, 0.14.2). But
    max_reserved of 8B on 8 GPUs (stas00/ml-engineering, when-to-upgrade-gpus) lies 0.6 to 3.0 GiB above what the
    sources explain, at four lengths, and this is 1.9. The reason is not known.
    """
    plan = work.parallel
    if work.framework != "deepspeed" or work.method != "full" or not _gradients_away(work):
        return 0.0
    return bytes_per_parameter(work)[1] * (part.dense / plan.shard + part.expert / plan.expert_ranks(plan.shard))


def adapters(work: Work) -> float:
    """Parameters of the adapters on a rank: on every linear layer, or on those that are named."""
    model, plan = work.model, work.parallel
    outer = {"q": model.q_width, "k": model.k_width, "v": model.v_width, "o": model.o_width}
    outer |= dict.fromkeys(("gate", "up", "down") if model.gated else ("up", "down"), model.ffn)
    widths = sum(one + model.hidden for name, one in outer.items() if work.reads_input(name))
    return work.lora_rank * widths * (-(-model.layers // plan.pp)) / plan.tp


def _frozen(work: Work, part: Shares) -> float:
    """Bytes of frozen weights before any sharding: 16-bit, fp32 or NF4."""
    outer = embedding_parameters(work.model) / work.parallel.tp
    inner = max(0.0, part.total - outer)
    whole = 4.0 if work.precision == "fp32" else 2.0
    # bitsandbytes converts linear layers; the experts of transformers 5 are one parameter, which stays in 16 bits.
    experts = 0.0 if work.small_experts else part.expert
    four_bit = max(0.0, inner - experts) if work.method == "qlora" else 0.0
    return whole * (outer + inner - four_bit) + 4.127 / 8 * four_bit + (2.0 * outer if work.prepared else 0.0)


def _adapted(work: Work, part: Shares) -> tuple[float, float]:
    """LoRA: frozen weights, and adapters with their moments; FSDP2 moves all of it to main memory or nothing."""
    plan = work.parallel
    if plan.offload_weights:
        return 0.0, 0.0
    shard = plan.shard if plan.zero == 3 else 1
    count = adapters(work)
    weights, gradients, moments = adapter_bytes(work)
    kept = 0.0 if _gradients_away(work) else gradients * count / shard
    return (_frozen(work, part) + (weights + moments) * count) / shard, kept


def weight_bytes(work: Work) -> float:
    """Bytes of weights of one rank after sharding, on the GPU or in main memory."""
    part, plan = shares(work), work.parallel
    if work.method != "full":
        return _frozen(work, part) / (plan.shard if plan.zero == 3 else 1)
    experts = plan.expert_ranks(plan.shard) if plan.zero == 3 else 1
    dense = plan.shard if plan.zero == 3 else 1
    return bytes_per_parameter(work)[0] * (part.dense / dense + part.expert / experts)


@dataclass(frozen=True, slots=True)
class _Flight:
    """Bytes that come and go with the layers: whole weights during the loss and the backward pass, buffers of reduction
    with gradients not yet reduced, what reducing the outer weights takes when the backward pass ends, and the gradient
    of a head that is reduced before the layers' own."""

    forward: float
    backward: float
    buffers: float
    end: float = 0.0
    at_head: float = 0.0


def _gathered(work: Work, part: Shares) -> _Flight:
    """Whole weights in flight, and buffers of reduction."""
    plan = work.parallel
    frozen = work.method != "full"
    if work.framework in {"fsdp2", "fsdp1"} and (plan.zero == 3 or work.framework == "fsdp2"):
        return _fully_sharded(work, part)
    unpack = _unpacked(work, part) if work.method == "qlora" else 0.0
    # DeepSpeed gathers into buffers of its own also where one rank holds everything (or main memory does).
    if plan.zero < 3 or (plan.shard == 1 and work.framework != "deepspeed"):
        if frozen:
            return _Flight(unpack, unpack, 0.0)
        if work.framework == "deepspeed" and plan.zero:
            return _Flight(0.0, 0.0, _bucket(work, part))  # twice with overlap
        if work.framework == "ddp":
            # Autocast keeps 16-bit copies of the weights that it multiplies, from the forward pass to their gradient.
            copies = 2.0 * (part.total - part.outer + part.head) if autocast(work) else 0.0
            return _Flight(copies, copies, 0.0)
        return _Flight(unpack, unpack, 4.0 * min(part.total, 25 * 2**18) if plan.dp > 1 else 0.0)
    # DeepSpeed: stage3_max_live_parameters 1e9 and the head beside them, and a bucket with its copy to be scattered
    # (``__params_to_release`` of runtime/zero/partitioned_param_coordinator.py, ``__add_grad_to_ipg_bucket`` of
    # stage3.py, edaa72212). A head with a gradient larger than the bucket is reduced at once.
    live = 2.0 * min(1e9, part.total)
    return _Flight(live + 2.0 * part.head, live, _bucket(work, part), at_head=2.0 * part.head)


def _bucket(work: Work, part: Shares) -> float:
    """Bytes of DeepSpeed's buckets: reduce_bucket_size 5e8 unless another one is named, twice."""
    return 4.0 * min(5e8 if work.bucket is None else float(work.bucket), part.total)


def _has_bucket(work: Work) -> bool:
    """Whether a bucket lives as long as the optimizer: that of ZeRO-3 does (``__init__`` of stage3.py), while ZeRO-2
    makes its own at the first gradient and gives them back after the last (``setup_buckets``, ``_release_ipg_buffers``
    of stage_1_and_2.py; edaa72212, read 2026-11-30)."""
    return work.framework == "deepspeed" and work.parallel.zero == 3


def _unpacked(work: Work, part: Shares) -> float:
    """Bytes of 4-bit weights that are unpacked at a time: the larger half of a layer."""
    attention = attention_matrix(work.model) / work.parallel.tp
    return 2.0 * max(part.layer - attention, attention)


def _fully_sharded(work: Work, part: Shares) -> _Flight:
    """FSDP with a unit a layer and one for the rest, whose weights stay whole from its forward to its backward pass.

    The loss sees one layer's buffer still held. The backward pass of a layer holds its weights, the gathered next ones,
    the fp32 input of the reduction before, its first large gradient (of the down projection) and the head's gradient.
    The rest is reduced at the end: weights and gradients whole, and the fp32 input. As fake tensors of torch 2.13 show.
    """
    plan, model = work.parallel, work.model
    frozen = work.method != "full"
    width = 4.0 if work.precision == "fp32" else 2.0
    wide = 2.0 if work.sums_in_16 else 4.0  # of the reduction
    unit = part.layer + part.expert / max(1, -(-model.layers // plan.pp))
    if work.method == "qlora":
        # Layers travel in 4 bits, and each matrix is unpacked when it is used.
        four = 4.127 / 8 * part.layer + width * (unit - part.layer)
        whole = width * part.outer + _unpacked(work, part)
        return _Flight(four + whole, 2 * four + whole, 0.0)
    if plan.keep_gathered:
        # Gradients of a pipeline's stage are summed whole in fp32 until its last micro-batch.
        summed = 4.0 * part.total if plan.pp > 1 and work.microbatches > 1 else 0.0
        return _Flight(width * part.total, width * part.total, summed + wide * unit)
    first = width * model.hidden * model.ffn / plan.tp if not model.experts else 0.0
    buffers = 0.0 if frozen else wide * unit + width * part.head + first
    end = 0.0 if frozen else (2 * width + wide) * part.outer
    return _Flight(width * (unit + part.outer), width * (2 * unit + part.outer), buffers, end)


def _boundaries(work: Work, plan: Schedule) -> float:
    """Bytes of tensors between stages.

    torch.distributed.pipelining allocates what every micro-batch of a step will receive, activations and gradients, at
    once, and keeps the outputs of those in flight; Megatron has one of each.
    """
    if plan.stages == 1:
        return 0.0
    one = 2.0 * work.tokens * work.model.hidden / (work.parallel.tp if work.parallel.sequence else 1)
    if work.framework == "megatron":
        return 2.0 * one
    return one * (2.0 * plan.microbatches * plan.chunks + plan.stored)


def memory(work: Work, plan: Schedule, table: Mapping[str, Any]) -> GpuMemory:
    """The peak over the phases of a step; ``table`` is ``memory`` of the efficiency table.

    The loss phase holds all activations and the logits, and gradients only where they outlive a step; the backward
    phase one layer's working part; the optimizer step gradients and what its implementation copies.
    """
    part = shares(work)
    base, gradients = _states(work, part) if work.method == "full" else _adapted(work, part)
    if work.step_in_backward:  # the largest matrix alone has one at a time: the head, or a feed-forward half
        gradients = bytes_per_parameter(work)[1] * max(part.head, part.layer / 2)
    states = base + gradients
    flight = _gathered(work, part)
    gathered, buffers = flight.backward, flight.buffers
    buckets = bucket_bytes(work, part.total)
    lasting_bucket = _bucket(work, part) / 2 if _has_bucket(work) else 0.0
    buffers -= lasting_bucket
    buckets += lasting_bucket
    base += _boundaries(work, plan) + buckets
    saved, working = stage_bytes(work)
    tokens = work.tokens
    # A stored chunk is 1/v of the stage's layers of one micro-batch.
    first = saved * tokens * plan.stored / plan.chunks
    last = first if plan.stages == 1 else saved * tokens * _stored_last(plan) / plan.chunks
    logits = loss_bytes(work)
    stays = work.framework in {"megatron", "deepspeed"} or work.microbatches > 1
    kept = gradients if stays else 0.0
    each = 4.0 if work.precision == "fp32" else 2.0
    backward = each * work.tokens * work.model.vocab / work.parallel.tp if work.loss in ("plain", "chunked") else 0.0
    # A fused loss computes the head's gradient in the forward pass and keeps it; without sharding it lies whole.
    first_gradient = work.loss == "fused" or (work.framework == "ddp" and not stays)
    at_once = work.framework == "deepspeed" and work.parallel.zero == 3
    head = 4.0 * part.head if first_gradient and work.method == "full" and not at_once else 0.0
    # A training loop that keeps the model's output keeps its logits while the gradients are computed.
    held = backward if work.framework in {"ddp", "fsdp1", "fsdp2"} and plan.stages == 1 else 0.0
    moving = gathered + buffers + working * tokens + held
    # What comes and goes in each phase, and whether all gradients are there too or those of accumulation alone.
    phases: dict[str, tuple[float, float]] = {
        "loss": (kept, flight.forward + last + logits),
        "backward": (kept, moving + max(first, last) + head),
        "head": (kept, max(flight.forward, gathered) + buffers + flight.at_head + last + backward),
        # The first layers come last: their activations are few, the gradients of all others are there.
        "late": (gradients, moving + saved * tokens / work.model.layers * work.parallel.pp),
        "end": (gradients, flight.end),
        "step": (gradients, step_copy(work, gradients)),
    }
    peak = base + max(stay + moves for stay, moves in phases.values())
    loss_counts = sum(phases["loss"]) >= sum(phases["backward"])
    errors = table["error"]
    error = float(errors.get(work.framework, errors["other"])["v"])
    named = "error_experts_megatron" if work.framework == "megatron" else "error_experts"
    error += float(table[named]["v"]) if work.model.experts else 0.0
    error += float(table["error_divided"]["v"]) if max(work.parallel.tp, work.parallel.pp) > 1 else 0.0
    context = float(table["context_gib"]["v"]) * GIB + collective_bytes(work, float(table["collective_gib"]["v"]))
    # Static memory does not fragment. Of what gradients leave behind between their steps, a part is not used again.
    lasting = gradients if stays else float(table["gradients_apart"]["v"]) * gradients
    most = max(moves for _, moves in phases.values())
    idle = idle_segments(work) if loss_counts else 0.0
    passing = max(0.0, max(most, phases["backward"][1] + left_by_head(work)) - gathered)
    least, roomy = needed(work, table), with_room(work, table)
    enough = max(peak, base + lasting + gathered + least * passing + idle) + _held_for_gradients(work, part)
    # DeepSpeed's pieces are larger than the segments that activations leave, so with room they get their own.
    more = (roomy - least) * passing + (step_copy(work, gradients) if work.framework == "deepspeed" else 0.0)
    loading = base + gradients + merged_at_start(work)
    reserved = max(enough, min(max(enough + more, loading), work.gpu.usable_bytes - context))
    # What no specification names and may save memory: Megatron's 8-bit recipes reduce gradients in 16 bits and fuse the
    # loss; newer frameworks compile the loss along with the model. States are counted, the rest is estimated.
    held, exact = min(base + gradients, peak), float(table["error_states"]["v"])
    spread = 0.0
    if work.loss == "plain" and loss_counts:
        eight = work.framework == "megatron" and work.precision.startswith("fp8")
        spread = 0.4 * logits if eight else 0.5 * logits if work.compile and work.framework == "fsdp2" else 0.0
    if work.framework == "megatron" and work.method == "full" and work.precision.startswith("fp8"):
        spread += gradients / 2
    # What the loss holds follows from its form and the batch, as states do from the model; it is less where another
    # form may be meant.
    loss = min(logits, peak - held) if loss_counts else 0.0
    least_loss = 0.0 if spread else loss
    found = GpuMemory(
        states=states,
        gathered=gathered,
        activations=(last if loss_counts else max(first, last)),
        logits=logits,
        buffers=buffers + buckets,
        live_peak=peak,
        reserved=reserved,
        context=context,
        low=(held + least_loss) * (1 - exact) + (peak - held - least_loss - spread) * (1 - error),
        high=(held + loss) * (1 + exact) + (enough - held - loss) * (1 + error) + context,
        spread=spread,
        needed=enough,
    )
    return _tried(work, found)


def _tried(work: Work, found: GpuMemory) -> GpuMemory:
    """The memory as a trial of this very plan measured it. One of its kind only raises the upper end, by what it took
    beyond its estimate: it may be the plan that the estimate is too low for."""
    trial = tried.exact(work)
    if trial is None:
        like = tried.alike(work)
        more = max(0.0, like.reserved - 1.0) if like is not None else 0.0
        return replace(found, high=found.high + more * found.reserved) if more else found
    error = TRIED_WHOLE if trial.whole else TRIED_CUT
    live = found.live_peak * trial.live
    held, context = max(live, found.reserved * trial.reserved), found.context
    if trial.outside_gib is not None:
        context = max(context, trial.outside_gib * GIB)
    high = held * (1 + error) + context
    return replace(
        found,
        live_peak=live,
        reserved=held,
        needed=held,
        context=context,
        low=live * (1 - error),
        high=high,
        spread=0.0,
    )


def _stored_last(plan: Schedule) -> float:
    """Chunks that the last rank keeps: its backward passes begin at once where the schedule alternates."""
    if plan.name == "1f1b":
        return 1.0
    if plan.name == "interleaved":
        return min(plan.stored, (plan.chunks - 1) * plan.stages + 1.0)
    return plan.stored
