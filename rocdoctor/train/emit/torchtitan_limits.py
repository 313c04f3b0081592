"""What torchtitan 0.3.0 can be told: models of its registry, sizes, schedules.

torchtitan takes no sizes of a model, only the name of a configuration in its registry (``torchtitan_code``). Rules are
those of ``torchtitan/config/configs.py``, ``trainer.py``, ``models/common/decoder.py``,
``distributed/parallel_dims.py`` and ``distributed/pipeline_parallel.py`` of that version, and of
``torch.distributed.pipelining`` 2.13.
"""

from __future__ import annotations

from math import ceil, gcd

from rocdoctor.train.emit.script import method_refusal
from rocdoctor.train.recommend.model.layout import Framework
from rocdoctor.train.recommend.model.spec import Work
from rocdoctor.train.recommend.model.torchtitan_code import FLAVOURS, preset_of, without_code

FRAMEWORKS: tuple[Framework, ...] = ("fsdp2",)
SCHEDULES = {"1f1b": "1F1B", "gpipe": "GPipe", "interleaved": "Interleaved1F1B", "zbv": "ZBVZeroBubble"}
RECOMPUTE = {"none": "none", "selective-op": "selective", "full": "full"}


def refuses(work: Work) -> str | None:
    """Why torchtitan's options cannot express a configuration, or None."""
    if work.framework not in FRAMEWORKS:
        return f"torchtitan shards with FSDP2; the configuration follows {work.framework}"
    found = method_refusal(work, "torchtitan") or _model(work) or _numbers(work) or _layout(work) or _pipeline(work)
    return found if found is None or found.startswith("torchtitan") else f"torchtitan: {found}"


def _model(work: Work) -> str | None:
    model, sizes = work.model, work.parallel
    name = preset_of(model)
    if name is None:
        return without_code(model)
    longest = FLAVOURS[name].longest
    if work.seq > longest:
        return f"its {name} takes at most {longest} tokens per sequence, not {work.seq}; nearest: {longest}"
    if model.tied and sizes.pp > 1:
        return f"{name} shares its embedding with the head, which excludes pipeline parallelism; nearest: pp 1"
    if model.latent is None and model.kv_heads % sizes.tp:
        near_tp = gcd(model.kv_heads, sizes.tp)
        return f"tp {sizes.tp} must divide the {model.kv_heads} key-value heads; nearest: tp {near_tp}"
    if model.sinks and sizes.cp > 1:
        return f"{name} uses variable-length attention, which excludes context parallelism; nearest: cp 1"
    return None


def _numbers(work: Work) -> str | None:
    """Precision, recompute, loss, attention, compile."""
    if work.precision not in ("bf16", "fp32"):
        eight = " (float8 needs a configuration function of your own)" if work.precision.startswith("fp8") else ""
        return f"no option sets {work.precision}{eight}; nearest: bf16"
    if work.recompute not in RECOMPUTE:
        return "it recomputes single operations or whole layers, not attention alone; nearest: selective-op"
    stage = ceil(work.model.layers / work.parallel.pp)
    if work.recompute == "full" and work.recompute_layers is not None and work.recompute_layers < stage:
        return f"it recomputes all {stage} layers of a stage or none, not {work.recompute_layers}; nearest: {stage}"
    if work.loss in ("fused", "inplace"):
        return f"it has no {work.loss} cross-entropy, its own is computed in chunks; nearest: plain"
    if not work.flash:
        return f"it uses FlexAttention, which keeps no scores, not {work.attention} attention; nearest: flash"
    if work.parallel.async_tp and not work.compile:
        return "it overlaps tensor-parallel collectives only in a compiled model; nearest: compile true"
    return None


def _layout(work: Work) -> str | None:
    """Sizes of sharding, sequence, experts, offload."""
    sizes = work.parallel
    if sizes.zero != 3 and work.gpus > 1:
        return f"it shards weights, gradients and optimizer together (ZeRO 3), not ZeRO {sizes.zero}; nearest: 3"
    if sizes.zero == 3 and (sizes.shard % sizes.cp or sizes.dp % (sizes.shard // sizes.cp)):
        all_ranks = sizes.dp * sizes.cp
        return f"{all_ranks} ranks are not a whole number of groups of {sizes.shard}; nearest: fsdp {sizes.dp}"
    if sizes.offload_optimizer != sizes.offload_weights:
        return "it offloads weights, gradients and optimizer together or nothing; nearest: no offload"
    cut = (sizes.tp if sizes.sequence or work.model.experts else 1) * (2 * sizes.cp if sizes.cp > 1 else 1)
    if work.seq % cut:
        near = max(1, round(work.seq / cut)) * cut
        return f"seq {work.seq} must be a multiple of {cut} (tp times twice cp); nearest: {near}"
    ranks = sizes.shard * sizes.tp
    if ranks % sizes.ep:
        return f"ep {sizes.ep} must divide the {ranks} ranks of one copy; nearest: ep {gcd(ranks, sizes.ep)}"
    return None


def _pipeline(work: Work) -> str | None:
    sizes, layers, count = work.parallel, work.model.layers, work.microbatches
    if sizes.pp == 1:
        return None
    if sizes.schedule not in SCHEDULES:
        return f"it runs {', '.join(SCHEDULES)}, not {sizes.schedule}; nearest: zbv"
    many = sizes.schedule in ("interleaved", "zbv")
    if many != (sizes.chunks > 1) or (sizes.schedule == "zbv" and sizes.chunks != 2):
        return f"{sizes.schedule} does not run with {sizes.chunks} chunks per stage; nearest: vpp {2 if many else 1}"
    stages = sizes.pp * sizes.chunks
    each = ceil(layers / stages)
    if ceil(layers / each) != stages:
        return (
            f"{layers} layers, {each} per stage, make {ceil(layers / each)} stages, not {stages}; nearest: a smaller pp"
        )
    if sizes.schedule == "1f1b" and count < sizes.pp:
        return f"1F1B needs at least {sizes.pp} micro-batches, not {count}; nearest: {sizes.pp}"
    rounds = max(1, count // sizes.pp)
    if sizes.schedule == "interleaved" and count % rounds:
        return f"{count} micro-batches are not {rounds} equal rounds; nearest: {rounds * sizes.pp}"
    return None
