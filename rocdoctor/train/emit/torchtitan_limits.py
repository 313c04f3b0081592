"""What torchtitan 0.3.0 can be told: models of its registry, sizes, schedules.

torchtitan takes no sizes of a model, only the name of a configuration in its registry, so a model must be one of
``FLAVOURS``. Rules are those of ``torchtitan/config/configs.py``, ``trainer.py``, ``models/common/decoder.py``,
``distributed/parallel_dims.py`` and ``distributed/pipeline_parallel.py`` of that version, and of
``torch.distributed.pipelining`` 2.13.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import ceil, gcd

from rocdoctor.train.emit.script import method_refusal
from rocdoctor.train.recommend.model.layout import Framework
from rocdoctor.train.recommend.model.models import read_model
from rocdoctor.train.recommend.model.shapes import Model, counted_parameters
from rocdoctor.train.recommend.model.spec import Work

FRAMEWORKS: tuple[Framework, ...] = ("fsdp2",)
VERSION = "0.3.0"


@dataclass(frozen=True, slots=True)
class Flavour:
    """A configuration of torchtitan's registry: its module, its name, and the longest sequence of its rotations."""

    module: str
    config: str
    longest: int


# Preset -> registry (torchtitan/models/*/config_registry.py, lengths in */__init__.py). Other sizes have code there
# (llama3 1B, 3B, 405B; qwen3 4B, 8B, 235B-A22B; deepseek_v3 236B) but no configuration for pretraining in bf16.
FLAVOURS: Mapping[str, Flavour] = {
    "llama-3.1-8b": Flavour("llama3", "llama3_8b", 131_072),
    "llama-3.1-70b": Flavour("llama3", "llama3_70b", 131_072),
    "qwen3-0.6b": Flavour("qwen3", "qwen3_0_6b", 40_960),
    "qwen3-1.7b": Flavour("qwen3", "qwen3_1_7b", 40_960),
    "qwen3-14b": Flavour("qwen3", "qwen3_14b", 40_960),
    "qwen3-32b": Flavour("qwen3", "qwen3_32b", 40_960),
    "qwen3-30b-a3b": Flavour("qwen3", "qwen3_30b_a3b", 40_960),
    "deepseek-v2-lite": Flavour("deepseek_v3", "deepseek_v3_16b", 16_384),
    "deepseek-v3": Flavour("deepseek_v3", "deepseek_v3_671b", 16_384),
    "gpt-oss-20b": Flavour("gpt_oss", "gpt_oss_20b", 131_072),
    "gpt-oss-120b": Flavour("gpt_oss", "gpt_oss_120b", 131_072),
}
SCHEDULES = {"1f1b": "1F1B", "gpipe": "GPipe", "interleaved": "Interleaved1F1B", "zbv": "ZBVZeroBubble"}
RECOMPUTE = {"none": "none", "selective-op": "selective", "full": "full"}


def _sizes(model: Model) -> Model:
    return replace(model, name="", given_parameters=None)


@cache
def _known() -> Mapping[str, Model]:
    return {name: _sizes(read_model(name, [])) for name in FLAVOURS}


def preset_of(model: Model) -> str | None:
    """The preset whose sizes a model has, whatever it is called."""
    sizes = _sizes(model)
    return next((name for name, known in _known().items() if known == sizes), None)


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
        count = counted_parameters(model)
        near = min(FLAVOURS, key=lambda one: abs(counted_parameters(_known()[one]) - count))
        return f"torchtitan {VERSION} has no configuration with the sizes of {model.name}; nearest: {near}"
    longest = FLAVOURS[name].longest
    if work.seq > longest:
        return f"its {name} takes at most {longest} tokens a sequence, not {work.seq}; nearest: {longest}"
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
        return f"{sizes.schedule} does not run with {sizes.chunks} chunks a stage; nearest: vpp {2 if many else 1}"
    stages = sizes.pp * sizes.chunks
    each = ceil(layers / stages)
    if ceil(layers / each) != stages:
        return (
            f"{layers} layers, {each} a stage, make {ceil(layers / each)} stages, not {stages}; nearest: a smaller pp"
        )
    if sizes.schedule == "1f1b" and count < sizes.pp:
        return f"1F1B needs at least {sizes.pp} micro-batches, not {count}; nearest: {sizes.pp}"
    rounds = max(1, count // sizes.pp)
    if sizes.schedule == "interleaved" and count % rounds:
        return f"{count} micro-batches are not {rounds} equal rounds; nearest: {rounds * sizes.pp}"
    return None
