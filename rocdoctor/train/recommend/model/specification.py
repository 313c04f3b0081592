"""A configuration as the specification that ``rocdoctor estimate`` reads."""

from __future__ import annotations

from typing import Any

from rocdoctor.train.recommend.model.spec import Work
from rocdoctor.train.recommend.plan import Fleet, Workload

# Our names of schedules -> those that a specification and most frameworks print.
_SCHEDULES = {
    "gpipe": "GPipe",
    "1f1b": "1F1B",
    "interleaved": "Interleaved1F1B",
    "zb1p": "ZB1P",
    "zbv": "ZBVZeroBubble",
    "v-half": "V-Half",
    "v-min": "V-Min",
}


def _parallel(work: Work) -> dict[str, Any]:
    sizes = work.parallel
    out: dict[str, Any] = {}
    for key in ("tp", "pp", "cp", "ep"):
        if getattr(sizes, key) > 1:
            out[key] = getattr(sizes, key)
    if sizes.etp:
        out["etp"] = sizes.etp
    if work.framework in ("fsdp2", "fsdp1"):
        out["fsdp"] = max(1, sizes.shard // sizes.cp)
        replicas = sizes.dp // out["fsdp"]
        if replicas > 1:
            out["replicate"] = replicas
    elif work.framework == "deepspeed":
        out |= {"dp": sizes.dp, "zero": sizes.zero}
    else:
        out["dp"] = sizes.dp
    if work.framework == "megatron":
        out["dist_opt"] = sizes.zero == 1
    if sizes.pp > 1:
        out["schedule"] = _SCHEDULES[sizes.schedule]
        if sizes.chunks > 1:
            out["vpp"] = sizes.chunks
    if sizes.tp > 1:
        out["sp"] = sizes.sequence
    if sizes.async_tp:
        out["async_tp"] = True
    if sizes.offload_optimizer and sizes.offload_weights:
        out["offload"] = True
    elif sizes.offload_optimizer and not work.paged:
        out["offload_optimizer"] = "cpu"
    return out


def _optimizer(work: Work) -> str:
    if work.paged:
        return "paged_adamw_8bit"
    if work.torchao:
        return "adamw_torch_8bit"
    return {"adam": "adamw", "adam8bit": "adamw_8bit", "adam16bit": "adamw_bf16_moments"}.get(
        work.optimizer, work.optimizer
    )


def _precision(work: Work) -> str:
    if work.framework == "megatron" and work.precision == "fp8":
        return "fp8-param-gather"  # Megatron's own words for weights that are in 8 bits alone
    return f"pure {work.precision}" if work.pure_bf16 else work.precision


def framework_field(framework: str, transformers: bool) -> str:
    """The ``framework`` field: with the model code of Hugging Face where that is not said by the method."""
    return f"{framework} with transformers" if transformers and framework != "deepspeed" else framework


def spec_of(fleet: Fleet, workload: Workload, work: Work) -> dict[str, Any]:
    """The specification from which the estimate reads exactly this configuration again."""
    spec: dict[str, Any] = {
        "model": workload.model_field,
        "gpu": dict(fleet.spec_gpu),
        "gpus": fleet.gpus,
        "seq": work.seq,
        "micro_batch": work.micro_batch,
        "grad_accum": work.microbatches,
        "framework": framework_field(work.framework, work.transformers and workload.method == "pretrain"),
        "parallel": _parallel(work),
        "recompute": work.recompute,
        "precision": _precision(work),
        "optimizer": _optimizer(work),
        "attention": work.attention,
        "compile": work.compile,
    }
    if workload.method != "pretrain":
        spec["method"] = workload.method
    if work.step_in_backward:
        spec["step_in_backward"] = True
    if work.recompute_layers is not None:
        spec["recompute_layers"] = work.recompute_layers
    if work.method != "full":
        spec["lora_rank"] = work.lora_rank
        if work.adapted is not None:
            spec["lora_targets"] = [f"{one}_proj" for one in work.adapted]
        if work.prepared:
            spec["kbit_prepared"] = True
    if work.loss in ("fused", "compiled", "chunked"):
        spec["fused_ce"] = {"fused": "cce" if work.loss_alone else "liger"}.get(work.loss, work.loss)
    elif work.loss == "plain" and (work.model.family == "mpt" or work.framework == "megatron"):
        spec["fused_ce"] = "none"
    return spec
