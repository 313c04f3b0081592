"""Parameters of one GPU before sharding, and the bytes that a framework keeps of each."""

from __future__ import annotations

from dataclasses import dataclass

from rocdoctor.train.recommend.model.shapes import embedding_parameters, expert_matrix, layer_parameters, parameters
from rocdoctor.train.recommend.model.spec import Work


@dataclass(frozen=True, slots=True)
class Shares:
    """Parameters of one GPU before sharding: fullest stage, largest layer without its experts, head, and what lies
    outside the layers (embedding and head)."""

    dense: float
    expert: float
    layer: float
    head: float
    outer: float

    @property
    def total(self) -> float:
        """All parameters of the stage on this GPU."""
        return self.dense + self.expert


def shares(work: Work) -> Shares:
    """Parameters that one GPU holds after tensor, pipeline and expert parallelism."""
    model, plan = work.model, work.parallel
    stage = -(-model.layers // plan.pp)
    layer = max(layer_parameters(model, kind) for kind, _ in model.kinds)
    layers = sum(layer_parameters(model, kind) * count for kind, count in model.kinds) / model.layers * stage
    moe = sum(count for kind, count in model.kinds if kind == "moe") / model.layers * stage
    expert = expert_matrix(model) * moe
    head = float(model.vocab * model.hidden)
    outer = embedding_parameters(model) if plan.pp == 1 else head
    # Whatever the given count has beyond the shapes (learned positions) lies with the embedding.
    if plan.pp == 1 and model.given_parameters:
        outer = max(outer, parameters(model) - layers)
    one_layer = layer - (expert_matrix(model) if model.experts else 0)
    parts = (layers - expert + outer, expert / plan.ep * plan.tp / plan.cut, one_layer, head, outer)
    return Shares(*(one / plan.tp for one in parts))


# Bytes a parameter of the optimizer's moments; the fp32 master copy is counted apart.
_MOMENTS = {"adam": 8.0, "adam16bit": 4.0, "adam8bit": 2.1, "momentum": 4.0, "sgd": 0.0, "adafactor": 0.1}


def adapter_bytes(work: Work) -> tuple[float, float, float]:
    """Bytes a parameter of adapters: weights, gradients and the optimizer's moments.

    PEFT keeps them in fp32 (``autocast_adapter_dtype`` of get_peft_model, 5d602fdbf), torchtune and litgpt in the type
    of the weights (recipes/lora_finetune_single_device.py, bd2a0fc7c; litgpt/finetune/lora.py, 26857050), and TRL in
    bf16 beside 4-bit weights. Hardly an
    adapter has less than the 4,096 elements below which bitsandbytes keeps 32-bit moments (``min_8bit_size`` of
    optim/optimizer.py, 95f9af30; all read 2026-11-30).
    """
    moments = 0.0 if work.parallel.offload_optimizer else _MOMENTS[work.optimizer]
    if work.own_adapters and (work.pure_bf16 or work.method == "qlora"):
        return 2.0, 2.0, moments / 2 if work.optimizer == "adam" else moments
    return 4.0, 4.0, moments


def bytes_per_parameter(work: Work) -> tuple[float, float, float]:
    """Bytes a parameter of weights, gradients and optimizer (master copy included), before any sharding."""
    moments = _MOMENTS[work.optimizer]
    if work.pure_bf16:
        return 2.0, 2.0, moments / 2 if work.optimizer == "adam" else moments
    if work.precision == "fp32":
        return 4.0, 4.0, moments
    if work.framework in {"fsdp2", "fsdp1"}:
        return 4.0, 4.0, moments
    if work.framework == "ddp":
        return 4.0, 4.0, moments
    if work.framework == "deepspeed":
        return 2.0, 2.0, 4.0 + moments
    # Megatron: 16-bit weights, or 8-bit ones in both orientations (fp8-param-gather); fp32 main gradients. Its
    # precision-aware optimizer keeps of the fp32 weights what bf16 ones lack (``store_param_remainders`` of
    # megatron/core/optimizer/optimizer_config.py, on by default, read 2026-11-28; other types share no bits with them).
    remainders = work.optimizer == "adam16bit" and work.precision == "bf16"
    return (4.0 if work.doubled else 2.0), 4.0, (2.0 if remainders else 4.0) + moments
