"""How a specification divides its work: framework, sizes of each parallelism, sharding.

The rules are those of Megatron-LM (``core/parallel_state.py``) and torchtitan (``parallel_dims.py``): the world is
tp x pp x cp x dp, expert parallelism divides dp x cp and is no factor of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rocdoctor.train.recommend.errors import SpecError, flag, nearest_divisor, whole
from rocdoctor.train.recommend.model.shapes import Model
from rocdoctor.train.recommend.speed.pipeline import schedule_name

Framework = Literal["fsdp2", "fsdp1", "deepspeed", "megatron", "ddp"]


@dataclass(frozen=True, slots=True)
class Parallel:
    """How the work is divided.

    ``shard``: ranks over which states are sharded; ``zero`` 3 shards weights, gradients and optimizer, 2 gradients and
    optimizer, 1 the optimizer. ``keep_gathered``: weights stay whole after the forward pass. ``etp``: ranks that cut an
    expert (``--expert-tensor-parallel-size``), 0 for as many as cut the other matrices.
    """

    tp: int
    pp: int
    cp: int
    ep: int
    dp: int
    shard: int
    zero: int
    chunks: int
    schedule: str
    sequence: bool
    async_tp: bool
    keep_gathered: bool
    offload_optimizer: bool
    offload_weights: bool
    etp: int = 0

    @property
    def cut(self) -> int:
        """Ranks over which the matrices of one expert are cut."""
        return self.etp or self.tp

    def expert_ranks(self, ranks: int) -> int:
        """Of ``ranks`` that share the other weights, those that share the same experts: tensor-parallel ranks that do
        not cut them have other ones (core/parallel_state.py)."""
        return max(1, ranks * self.tp // (self.ep * self.cut))


_FRAMEWORKS: tuple[tuple[str, Framework], ...] = (
    ("titan|fsdp2", "fsdp2"),
    ("foundry|composer|fsdp1|fsdp$", "fsdp1"),
    # Megatron-DeepSpeed divides layers as Megatron-LM does, and its ZeRO-1 keeps what the distributed optimizer has:
    # 16-bit weights and fp32 gradients (``fp32_groups_gradients`` of deepspeed/runtime/bf16_optimizer.py, edaa72212).
    ("megatron|primus|nemo", "megatron"),
    ("deepspeed|zero", "deepspeed"),
    ("ddp", "ddp"),
)


def framework_of(parallel: Mapping[str, Any], model: Model, spec: Mapping[str, Any]) -> Framework:
    """Whose conventions a specification follows: the named framework, else the one whose fields it uses."""
    named = re.sub(r"[^a-z0-9]", "", str(spec.get("framework") or "")[:40].lower())
    for pattern, name in _FRAMEWORKS:
        if named and re.search(pattern, named):
            return name
    wide = any(parallel.get(key) not in (None, 1, "1") for key in ("tp", "pp", "ep"))
    if parallel.get("zero") is not None:
        return "megatron" if wide else "deepspeed"
    if flag(parallel, "fsdp2", "parallel.fsdp2"):
        return "fsdp2"
    if parallel.get("strategy") is not None or (parallel.get("fsdp") is not None and model.family == "mpt"):
        return "fsdp1"
    if parallel.get("fsdp") is not None and not (parallel.get("fsdp") in (1, "1") and parallel.get("dp") is not None):
        return "fsdp2"
    # Only Megatron's launchers name sizes of tensor, pipeline and expert parallelism beside no sharding.
    keys = ("tp", "pp", "cp", "ep", "vpp", "fsdp", "dist_opt", "distributed_optimizer")
    return "megatron" if any(parallel.get(key) is not None for key in keys) else "ddp"


def _sizes(raw: Mapping[str, Any], model: Model, gpus: int, framework: Framework, why: list[str]) -> dict[str, int]:
    sizes = {key: whole(raw, key, f"parallel.{key}") or 1 for key in ("tp", "pp", "cp", "ep")}
    tp, pp, cp, ep = sizes["tp"], sizes["pp"], sizes["cp"], sizes["ep"]
    if model.heads % tp:
        near = nearest_divisor(model.heads, tp)
        raise SpecError(f"tp {tp} does not divide the {model.heads} attention heads; nearest: tp {near}")
    if pp > model.layers:
        raise SpecError(f"pp {pp} is more than the {model.layers} layers; nearest: pp {model.layers}")
    if gpus % (tp * pp * cp):
        near = nearest_divisor(gpus, tp * pp * cp)
        raise SpecError(f"tp x pp x cp = {tp * pp * cp} does not divide the {gpus} GPUs; nearest product: {near}")
    dp = gpus // (tp * pp * cp)
    given_dp, given_fsdp = whole(raw, "dp", "parallel.dp"), whole(raw, "fsdp", "parallel.fsdp")
    replicas = whole(raw, "replicate", "parallel.replicate") or whole(raw, "hsdp", "parallel.hsdp") or 1
    products = {
        one for one in (given_dp, given_fsdp, (given_dp or 1) * (given_fsdp or 1), (given_fsdp or 1) * replicas) if one
    }
    named = given_dp is not None or given_fsdp is not None
    # Some tables count context-parallel ranks as data-parallel ones: sharding spans both.
    if named and not products & {dp, dp * cp}:
        key, value = ("dp", given_dp) if given_dp is not None else ("fsdp", given_fsdp)
        raise SpecError(
            f"tp x pp x cp x {key} = {tp * pp * cp * (value or 1)} is not the {gpus} GPUs; nearest: {key} {dp}"
        )
    sizes |= {"dp": dp, "shard": min(given_fsdp or dp, dp) * cp}
    if ep > 1 and not model.experts:
        raise SpecError(f"ep {ep} needs a model with experts; nearest: ep 1")
    cut = whole(raw, "etp", "parallel.etp") or 0
    if not cut and framework == "megatron" and ep > 1 and (dp * cp) % ep and not (dp * cp * tp) % ep:
        cut = 1
        why.append(
            f"parallel.etp not given: 1, since {dp * cp * tp} ranks do not hold {ep} parts of experts cut in {tp}"
        )
    if cut and (not model.experts or tp % cut):
        raise SpecError(f"etp {cut} needs a model with experts and must divide tp {tp}; nearest: etp 1")
    if cut and (dp * cp * tp) % (ep * cut):
        near = nearest_divisor(dp * cp * tp // cut, ep)
        raise SpecError(f"ep x etp = {ep * cut} must divide the {dp * cp * tp} ranks; nearest: ep {near}")
    sizes["etp"] = cut
    if ep > 1 and (model.experts % ep or (dp * cp * tp) % ep):
        near = nearest_divisor(model.experts, ep)
        raise SpecError(
            f"ep {ep} must divide the {model.experts} experts and the {dp * cp * tp} ranks; nearest: ep {near}"
        )
    return sizes


def read_parallel(raw: Mapping[str, Any], model: Model, gpus: int, framework: Framework, why: list[str]) -> Parallel:
    """The division of the work; raises SpecError with the nearest size that works."""
    sizes = _sizes(raw, model, gpus, framework, why)
    tp, pp, cp, dp = sizes["tp"], sizes["pp"], sizes["cp"], sizes["dp"]
    zero = whole(raw, "zero", "parallel.zero", low=0, high=3)
    strategy = str(raw.get("strategy") or "")[:40].upper()
    distributed = flag(raw, "dist_opt", "parallel.dist_opt")
    if distributed is None:
        distributed = flag(raw, "distributed_optimizer", "parallel.distributed_optimizer")
    keep = strategy in {"SHARD_GRAD_OP", "HYBRID_SHARD_ZERO2"}
    if zero is None:
        if framework in {"fsdp2", "fsdp1"}:
            zero = 0 if strategy == "NO_SHARD" else 3
        elif framework == "megatron":
            zero = 0 if distributed is False else 1
            if distributed is None and dp * cp > 1:
                why.append("parallel.dist_opt not given: the distributed optimizer is assumed, as usual with Megatron")
        else:
            zero = 0
    chunks = whole(raw, "vpp", "parallel.vpp", high=1024) or 1
    text = str(raw.get("schedule") or "")[:60]
    name = schedule_name(text, chunks)
    if name is None:
        raise SpecError(f"parallel.schedule '{text}' is not known; nearest: 1F1B")
    if name in {"interleaved", "zbv", "v-half", "v-min"} and chunks == 1 and pp > 1:
        chunks = 2
        why.append(f"parallel.vpp not given: 2 chunks per stage for {name}")
    if pp * chunks > model.layers:
        raise SpecError(
            f"pp x vpp = {pp * chunks} is more than the {model.layers} layers; nearest: vpp {model.layers // pp}"
        )
    sequence = flag(raw, "sp", "parallel.sp")
    both = flag(raw, "offload", "parallel.offload") or flag(raw, "cpu_offload", "parallel.cpu_offload") or False
    optimizer, weights = (
        both or str(raw.get(key) or raw.get(other)).lower() in {"cpu", "nvme", "true"}
        for key, other in (("offload_optimizer", "offload_opt"), ("offload_params", "offload_param"))
    )
    # torchtitan keeps the weights of a pipeline stage gathered: it would gather them for every micro-batch otherwise.
    keep = keep or (framework == "fsdp2" and pp > 1)
    return Parallel(
        tp,
        pp,
        cp,
        sizes["ep"],
        dp,
        sizes["shard"] if zero else 1,
        zero,
        chunks if pp > 1 else 1,
        name,
        tp > 1 if sequence is None else sequence and tp > 1,
        flag(raw, "async_tp", "parallel.async_tp") or False,
        keep,
        optimizer,
        weights and zero == 3,
        sizes["etp"],
    )
