"""A training configuration as the estimate needs it: read, completed and checked.

What is missing is derived and named in ``why``; what cannot be is a SpecError with the reason and the nearest valid
value. The rules are those of Megatron-LM (``core/parallel_state.py``) and torchtitan (``parallel_dims.py``): the world
is tp x pp x cp x dp, expert parallelism divides dp x cp and is no factor of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rocdoctor.recommend.errors import SpecError, flag, nearest_divisor, table, whole
from rocdoctor.recommend.gpus import Gpu, read_gpu
from rocdoctor.recommend.models import read_model
from rocdoctor.recommend.pipeline import schedule_name
from rocdoctor.recommend.shapes import Model

Framework = Literal["fsdp2", "fsdp1", "deepspeed", "megatron", "ddp"]
Recompute = Literal["none", "selective", "selective-op", "full"]
Precision = Literal["bf16", "fp16", "fp32", "fp8", "fp8-rowwise"]
Optimizer = Literal["adam", "adam8bit", "sgd", "momentum", "adafactor"]
Loss = Literal["plain", "fused", "inplace", "compiled"]


@dataclass(frozen=True, slots=True)
class Parallel:
    """How the work is divided.

    ``shard``: ranks over which states are sharded; ``zero`` 3 shards weights, gradients and optimizer, 2 gradients and
    optimizer, 1 the optimizer. ``keep_gathered``: weights stay whole after the forward pass.
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


@dataclass(frozen=True, slots=True)
class Work:
    """One training configuration; ``micro_batch`` in sequences, ``microbatches`` a step and data-parallel rank."""

    model: Model
    gpu: Gpu
    gpus: int
    seq: int
    micro_batch: int
    microbatches: int
    parallel: Parallel
    framework: Framework
    recompute: Recompute
    recompute_layers: int | None
    precision: Precision
    compile: bool
    flash: bool
    attention: str
    loss: Loss
    method: Literal["full", "lora", "qlora"]
    lora_rank: int
    optimizer: Optimizer
    pure_bf16: bool

    @property
    def tokens(self) -> float:
        """Tokens of one micro-batch on one GPU (context parallelism divides the sequence)."""
        return self.micro_batch * self.seq / self.parallel.cp


_FRAMEWORKS: tuple[tuple[str, Framework], ...] = (
    ("titan|fsdp2", "fsdp2"), ("foundry|composer|fsdp1?$", "fsdp1"), ("deepspeed|zero", "deepspeed"),
    ("megatron|primus|nemo", "megatron"), ("ddp", "ddp"),
)  # fmt: skip
_OPTIMIZERS: tuple[tuple[str, Optimizer], ...] = (
    ("8bit|8-bit|int8", "adam8bit"), ("adafactor", "adafactor"), ("adam|lion", "adam"), ("momentum|muon", "momentum"),
    ("sgd", "sgd"),
)  # fmt: skip


def _framework(parallel: Mapping[str, Any], model: Model, spec: Mapping[str, Any]) -> Framework:
    named = re.sub(r"[^a-z0-9]", "", str(spec.get("framework") or "")[:40].lower())
    for pattern, name in _FRAMEWORKS:
        if named and re.search(pattern, named):
            return name
    if parallel.get("zero") is not None:
        return "deepspeed"
    if flag(parallel, "fsdp2", "parallel.fsdp2"):
        return "fsdp2"
    if parallel.get("strategy") is not None or (parallel.get("fsdp") is not None and model.family == "mpt"):
        return "fsdp1"
    if parallel.get("fsdp") is not None and not (parallel.get("fsdp") in (1, "1") and parallel.get("dp") is not None):
        return "fsdp2"
    # Only Megatron's launchers name sizes of tensor, pipeline and expert parallelism beside no sharding.
    keys = ("tp", "pp", "cp", "ep", "vpp", "dp", "dist_opt", "distributed_optimizer")
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
    if ep > 1 and (model.experts % ep or (dp * cp * tp) % ep):
        near = nearest_divisor(model.experts, ep)
        raise SpecError(
            f"ep {ep} must divide the {model.experts} experts and the {dp * cp * tp} ranks; nearest: ep {near}"
        )
    return sizes


def _parallel(raw: Mapping[str, Any], model: Model, gpus: int, framework: Framework, why: list[str]) -> Parallel:
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
        why.append(f"parallel.vpp not given: 2 chunks a stage for {name}")
    if pp * chunks > model.layers:
        raise SpecError(
            f"pp x vpp = {pp * chunks} is more than the {model.layers} layers; nearest: vpp {model.layers // pp}"
        )
    sequence = flag(raw, "sp", "parallel.sp")
    offload = raw.get("offload_optimizer")
    # torchtitan keeps the weights of a pipeline stage gathered: it would gather them for every micro-batch otherwise.
    keep = keep or (framework == "fsdp2" and pp > 1)
    return Parallel(
        tp, pp, cp, sizes["ep"], dp, sizes["shard"] if zero else 1, zero, chunks if pp > 1 else 1, name,
        tp > 1 if sequence is None else sequence and tp > 1, flag(raw, "async_tp", "parallel.async_tp") or False,
        keep, str(offload).lower() in {"cpu", "nvme", "true"},
        str(raw.get("offload_params") or raw.get("offload_param")).lower() in {"cpu", "nvme", "true"},
    )  # fmt: skip


def _precision(raw: Any) -> Precision:
    text = str(raw or "bf16")[:40].lower()
    if "fp8" in text or "float8" in text or "mxfp8" in text:
        return "fp8-rowwise" if "row" in text else "fp8"
    if "bf16" in text or "bfloat16" in text:
        return "bf16"
    if "fp16" in text or "float16" in text or text == "half":
        return "fp16"
    if "32" in text:
        return "fp32"
    raise SpecError(f"precision '{text}' is not known; nearest: bf16")


def _recompute(raw: Any) -> Recompute:
    text = str(raw)[:60].lower()
    if text in {"none", "false", "no", "off", "0", ""}:
        return "none"
    if "selective" in text:
        return "selective-op" if "op" in text else "selective"
    if text in {"full", "true", "yes", "on", "1", "uniform", "block", "layer", "activation_checkpointing"}:
        return "full"
    raise SpecError(f"recompute '{text}' is not known; nearest: full")


def _batches(spec: Mapping[str, Any], parallel: Parallel, why: list[str]) -> tuple[int, int]:
    """Micro-batch size and micro-batches a step."""
    micro, local = whole(spec, "micro_batch", "micro_batch"), whole(spec, "local_batch", "local_batch")
    accumulate, total = whole(spec, "grad_accum", "grad_accum"), whole(spec, "global_batch", "global_batch")
    if micro is not None:
        count = accumulate
        if count is None and total is not None:
            if total % (micro * parallel.dp):
                near = max(1, round(total / (micro * parallel.dp))) * micro * parallel.dp
                raise SpecError(f"global_batch {total} is not micro_batch x dp = {micro * parallel.dp} times a whole "
                                f"number; nearest: {near}")  # fmt: skip
            count = total // (micro * parallel.dp)
        if count is None:
            count = 4 * parallel.pp if parallel.pp > 1 else 1
            if parallel.pp > 1:
                why.append(f"global_batch not given: {count} micro-batches a step assumed")
        return micro, count
    if local is not None:
        if parallel.pp == 1:
            return local, accumulate or 1
        # A batch of the rank is cut into as many micro-batches as there are stages (torchtitan's rule).
        count = min(parallel.pp, local)
        why.append(f"local_batch {local} over {parallel.pp} stages: {count} micro-batches of {-(-local // count)}")
        return -(-local // count), count
    if total is not None:
        count = accumulate or 1
        return max(1, total // (parallel.dp * count)), count
    why.append("micro_batch not given: 1")
    return 1, accumulate or (4 * parallel.pp if parallel.pp > 1 else 1)


def read_spec(spec: Any, nics: Mapping[str, float], why: list[str]) -> tuple[Work, bool]:
    """The work of a specification, and whether ``recompute`` was given; raises SpecError."""
    if not isinstance(spec, Mapping):
        raise SpecError("the specification is not a mapping of fields")
    model = read_model(spec.get("model"), why)
    gpus = whole(spec, "gpus", "gpus", high=1_000_000)
    raw = table(spec, "parallel")
    if gpus is None:
        gpus = 1
        for key in ("tp", "pp", "cp", "dp", "fsdp"):
            gpus *= whole(raw, key, f"parallel.{key}") or 1
        why.append(f"gpus not given: {gpus}, the product of the parallel sizes")
    seq = whole(spec, "seq", "seq", high=100_000_000)
    if seq is None:
        raise SpecError("seq is missing: the length of a sequence in tokens")
    gpu = read_gpu(spec.get("gpu"), gpus, nics, why)
    framework = _framework(raw, model, spec)
    parallel = _parallel(raw, model, gpus, framework, why)
    if seq % parallel.cp:
        raise SpecError(f"cp {parallel.cp} does not divide seq {seq}; nearest: cp {nearest_divisor(seq, parallel.cp)}")
    micro, count = _batches(spec, parallel, why)
    attention = str(spec.get("attention") or "flash")[:40].lower()
    fused = str(spec.get("fused_ce") or "").lower()[:40]
    loss: Loss = "plain"
    if fused and fused not in {"none", "false", "no", "0"}:
        loss = "compiled" if "compil" in fused else "fused"
    elif model.family == "mpt" and spec.get("fused_ce") is None:
        loss = "inplace"
        why.append("MPT: its own in-place fused cross-entropy and Triton attention are assumed")
    method = str(spec.get("method") or "full")[:60].lower()
    optimizer = str(spec.get("optimizer") or "adam")[:40].lower()
    kind = next((name for pattern, name in _OPTIMIZERS if re.search(pattern, optimizer)), None)
    if kind is None:
        raise SpecError(f"optimizer '{optimizer}' is not known; nearest: adamw")
    recompute = spec.get("recompute")
    return Work(
        model=model, gpu=gpu, gpus=gpus, seq=seq, micro_batch=micro, microbatches=count, parallel=parallel,
        framework=framework, recompute="none" if recompute is None else _recompute(recompute),
        recompute_layers=whole(spec, "recompute_layers", "recompute_layers", low=0, high=10_000),
        precision=_precision(spec.get("precision")), compile=flag(spec, "compile", "compile") or False,
        flash=not re.search("eager|math|naive|none|false", attention), attention=attention, loss=loss,
        method="qlora" if "qlora" in method else "lora" if "lora" in method else "full",
        lora_rank=whole(spec, "lora_rank", "lora_rank", high=65_536) or 16,
        optimizer=kind,
        pure_bf16="pure" in str(spec.get("precision"))[:40].lower(),
    ), recompute is not None  # fmt: skip
