"""What ``pretrain_gpt.py`` of Megatron-LM can be told: models, sizes, schedules, precision.

Rules are those of megatron-core 0.19.2: ``megatron/training/arguments.py``, ``megatron/core/transformer/
transformer_config.py``, ``core/parallel_state.py``, ``core/pipeline_parallel/schedules.py``.
"""

from __future__ import annotations

from math import ceil, gcd

from rocdoctor.train.emit.script import method_refusal
from rocdoctor.train.recommend.model.layout import Framework
from rocdoctor.train.recommend.model.megatron_code import other_code
from rocdoctor.train.recommend.model.spec import Work

FRAMEWORKS: tuple[Framework, ...] = ("megatron",)
VERSION = "0.19.2"


def refuses(work: Work) -> str | None:
    """Why the arguments of Megatron-LM cannot express a configuration, or None."""
    if work.framework not in FRAMEWORKS:
        return f"Megatron-LM shards as Megatron does; the configuration follows {work.framework}"
    found = method_refusal(work, "Megatron-LM") or _model(work) or _numbers(work) or _layout(work) or _pipeline(work)
    return found if found is None or found.startswith("Megatron-LM") else f"Megatron-LM: {found}"


def _model(work: Work) -> str | None:
    model, sizes = work.model, work.parallel
    other = other_code(model)
    if other is not None:
        return other
    tp = sizes.tp
    for what, width in (("feed-forward width", model.ffn), ("width of an expert", model.expert_ffn)):
        if width % tp:
            return f"tp {tp} must divide the {what} {width}; nearest: tp {gcd(width, tp)}"
    if model.latent is None and model.kv_heads % tp and tp % model.kv_heads:
        near = gcd(tp, model.kv_heads)
        return f"tp {tp} must be a multiple or divisor of the {model.kv_heads} key-value heads; nearest: tp {near}"
    if model.experts and tp > 1 and not sizes.sequence:
        return "tensor parallelism of a model with experts needs sequence parallelism; nearest: sp true"
    return None


def _numbers(work: Work) -> str | None:
    """Precision, recompute, loss, attention, compile."""
    sizes = work.parallel
    if work.pure_bf16:
        return "it keeps fp32 master weights, pure bf16 cannot be set; nearest: bf16"
    if work.precision == "fp8-rowwise":
        return "no recipe has one scale per row; nearest: fp8"
    if work.precision == "fp8" and sizes.zero != 1:
        return "weights stay in 8 bits only with the distributed optimizer; nearest: dist_opt true"
    if work.precision == "fp32" and work.flash:
        return "its flash attention is 16-bit only; nearest: bf16"
    if work.recompute == "selective-op":
        return "recompute of single operations is torchtitan's; nearest: selective"
    if work.recompute == "full" and work.recompute_layers is not None and work.recompute_layers % sizes.chunks:
        near = ceil(work.recompute_layers / sizes.chunks) * sizes.chunks
        return (
            f"{work.recompute_layers} recomputed layers are not {sizes.chunks} equal chunks of a stage; nearest: {near}"
        )
    if work.loss != "plain":
        return f"a {work.loss} cross-entropy whose memory was estimated cannot be set; nearest: plain"
    if work.compile:
        return "the model is not compiled as a whole; nearest: compile false"
    return None


def _layout(work: Work) -> str | None:
    """Sizes of sharding, sequence, experts, offload."""
    sizes = work.parallel
    if sizes.zero > 1:
        return f"the distributed optimizer shards only optimizer states (ZeRO 1), not ZeRO {sizes.zero}; nearest: 1"
    if sizes.offload_optimizer or sizes.offload_weights:
        return "the memory of its offload was not estimated; nearest: no offload"
    ranks = sizes.dp * sizes.cp
    wide = ranks * sizes.tp // sizes.cut
    if wide % sizes.ep:
        return f"ep {sizes.ep} must divide the {wide} ranks of data and context; nearest: ep {gcd(wide, sizes.ep)}"
    same = sizes.expert_ranks(ranks)
    if sizes.zero == 1 and (ranks % sizes.shard or same % (ranks // sizes.shard)):
        return f"{ranks} ranks (experts: {same}) cannot be cut into groups of {sizes.shard}; nearest: {ranks}"
    cut = 2 * sizes.cp if sizes.cp > 1 else 1
    if work.seq % cut or (sizes.sequence and work.seq % (sizes.cp * sizes.tp)):
        cut = cut * sizes.tp // gcd(cut, sizes.tp) if sizes.sequence else cut
        return f"seq {work.seq} must be a multiple of {cut}; nearest: {max(1, round(work.seq / cut)) * cut}"
    if sizes.async_tp and not sizes.sequence:
        return "it overlaps tensor-parallel collectives only with sequence parallelism; nearest: sp true"
    return None


def _pipeline(work: Work) -> str | None:
    sizes, layers, count = work.parallel, work.model.layers, work.microbatches
    if sizes.pp == 1:
        return None
    if sizes.schedule not in ("1f1b", "interleaved"):
        return f"it runs 1F1B, plain or interleaved, not {sizes.schedule}; nearest: 1F1B"
    if sizes.chunks > 1 and layers % (sizes.pp * sizes.chunks):
        return f"{layers} layers are not {sizes.pp * sizes.chunks} equal stages; nearest: vpp 1"
    if sizes.chunks == 1 and last_stage(work) < 1:
        return f"{layers} layers leave none for the last of {sizes.pp} stages; nearest: a smaller pp"
    if sizes.chunks > 1 and count % sizes.pp:
        near = ceil(count / sizes.pp) * sizes.pp
        return f"interleaved stages need a multiple of {sizes.pp} micro-batches, not {count}; nearest: {near}"
    return None


def last_stage(work: Work) -> int:
    """Layers of the last stage where all others have as many as the fullest one."""
    stages = work.parallel.pp
    return work.model.layers - (stages - 1) * ceil(work.model.layers / stages)
