"""Live memory of one step from a trace with fake tensors, in place of the closed form where a trace can be had.

The program ``rocdoctor/host/probe/memory_trace.py`` runs one step of a model with few layers in the user's interpreter.
All that lives in a part of a step grows by the same bytes with each further layer, so two depths give every depth. What
the program does not run is added by arithmetic: moments of the optimizer and DistributedDataParallel's buckets.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rocdoctor.host.base import Answer
from rocdoctor.train.recommend.estimate import Result
from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from rocdoctor.train.recommend.memory.allocator import needed, with_room
from rocdoctor.train.recommend.memory.fit import fits
from rocdoctor.train.recommend.memory.gpu_memory import GpuMemory, adapters, bucket_bytes
from rocdoctor.train.recommend.memory.shares import adapter_bytes, bytes_per_parameter
from rocdoctor.train.recommend.memory.step_memory import step_copy
from rocdoctor.train.recommend.model.adapters import PARTS
from rocdoctor.train.recommend.model.shapes import Model, counted_parameters
from rocdoctor.train.recommend.model.spec import Work

# Depths that are traced: of each end two layers are looked at, and the inner ones lie between them.
DEPTHS = (4, 5)
_ENDS = 2
# Left open by a trace: kernels' own workspace, and code of the user's that is not in the model.
_ERROR = 0.04

Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Traced:
    """Bytes of one GPU without the optimizer's moments: alive before the step, when its layers are forwarded, and at
    most in each part of it.

    A key names the part and the place of the layer, from the end where it is negative.
    """

    torch: str
    static: float
    forwarded: float
    parts: Mapping[Key, float]


def refusal(work: Work) -> str | None:
    """Why a configuration cannot be traced, as the end of a sentence; None where it can."""
    model, plan = work.model, work.parallel
    sizes = {"tensor": plan.tp, "pipeline": plan.pp, "context": plan.cp, "expert": plan.ep}
    split = next((name for name, size in sizes.items() if size > 1), None)
    if split is not None:
        return f"{split} parallelism is not traced"
    if work.framework not in {"ddp", "fsdp2"}:
        return f"{work.framework} keeps memory of its own that a trace of torch does not show"
    if work.framework == "ddp" and plan.zero > 1:
        return f"ZeRO {plan.zero} with DistributedDataParallel is not traced"
    if work.compile:
        return "a compiled model keeps what its compiler chooses"
    if work.method == "qlora":
        return "4-bit weights are not built here"
    if work.method == "lora" and (work.framework != "ddp" or not work.transformers or work.pure_bf16):
        return "adapters are traced for the Hugging Face code without sharding and with autocast only"
    if work.loss_alone:
        return "a fused loss without Liger's other kernels is not built here"
    if work.method == "lora" and work.loss == "fused":
        return "Liger's kernels alongside adapters are not built here"
    told = unlike_layers(model) or unlike_memory(work)
    if told is not None:
        return told
    if work.loss not in {"plain", "fused"}:
        return f"the {work.loss} loss is not traced"
    if work.recompute == "full" and work.recompute_layers is not None and work.recompute_layers < model.layers:
        return "recompute of some layers is not traced"
    return None


def unlike_layers(model: Model) -> str | None:
    """Why the decoder of ``memory_model.py`` does not stand for a model, as a sentence; None where it does."""
    if model.experts or model.latent is not None or model.sinks:
        kind = "experts" if model.experts else "latent attention" if model.latent else "attention sinks"
        return f"layers with {kind} are not built here"
    if model.more_weights:
        return "layers with an indexer or linear attention are not built here"
    if model.norms != 2:
        return f"layers of {model.norms} norms are not built here"
    if model.given_parameters and abs(counted_parameters(model) / model.given_parameters - 1) > 0.02:
        return (
            f"its shapes give {counted_parameters(model) / 1e9:.2f} B parameters, the specification "
            f"{model.given_parameters / 1e9:.2f} B"
        )
    return None


def unlike_memory(work: Work) -> str | None:
    """Why a step of that decoder does not stand for a configuration; None where it does."""
    if work.precision.startswith("fp8"):
        return "8-bit products are not built here"
    if work.step_in_backward:
        return "a step in the backward pass is not traced"
    if work.parallel.offload_optimizer or work.parallel.offload_weights:
        return "offload to the host is not built here"
    return None


def request(work: Work) -> dict[str, Any]:
    """What the program is asked: shapes, batch, sharding, and how the code is written."""
    model, plan = work.model, work.parallel
    single = work.precision == "fp32"
    sharded = work.framework == "fsdp2"
    shard = plan.shard if plan.zero == 3 else 1
    return {
        "layers": [model.layers] if model.layers <= max(DEPTHS) else list(DEPTHS),
        **{
            name: getattr(model, name)
            for name in (
                "hidden",
                "heads",
                "kv_heads",
                "head_dim",
                "ffn",
                "vocab",
                "gated",
                "tied",
                "bias",
                "attn_bias",
                "norm",
                "norm_bias",
                "qk_norm",
            )
        },
        "seq": work.seq,
        "batch": work.micro_batch,
        "accumulate": work.microbatches > 1,
        "framework": work.framework,
        "shard": shard,
        "replicate": plan.dp // shard if sharded else 1,
        "reshard": not plan.keep_gathered,
        "recompute": work.recompute,
        "params": "bf16" if work.pure_bf16 or (work.method == "lora" and not single) else "fp32",
        "adapters": {"rank": work.lora_rank, "targets": [one for one in PARTS if work.reads_input(one)]}
        if work.method == "lora"
        else None,
        "sums_in_16": work.sums_in_16,
        "mixed": sharded and not single and not work.pure_bf16,
        "autocast": not sharded and not single and not work.pure_bf16,
        "loss": work.loss,
        "attention": "flash" if work.flash else "eager",
        "code": "transformers" if work.transformers else "torch",
    }


def heard(answer: Answer, layers: int) -> Traced | str:
    """What the program's run gave for a model of this many layers."""
    if not answer.ok:
        words = {
            "timeout": "the trace did not end in time; try again when the machine is less busy",
            "absent": "no Python interpreter was found; name the one that trains with --python PATH",
        }
        return words.get(answer.status, answer.note or f"the interpreter cannot be run ({answer.status})")
    told = read(answer.text, layers)
    ended = f"; it ended with status {answer.exit_code}" if answer.exit_code else ""
    return told if isinstance(told, Traced) else told + ended


def read(text: str, layers: int) -> Traced | str:
    """The program's answer for a model of this many layers, or why there is none."""
    try:
        answer = json.loads(text.strip().splitlines()[-1]) if text.strip() else {}
        if not isinstance(answer, dict):
            raise ValueError
        if answer.get("unavailable"):
            return str(answer["unavailable"])[:600]
        first, *more = (_depth(one) for one in answer["depths"])
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        return "the program that traces gave no answer"
    torch, count = str(answer.get("torch"))[:60], first[0]
    if not more:
        return Traced(torch, *first[1:]) if count == layers else "the trace has a different depth than the model"
    second = more[0]
    if set(first[3]) != set(second[3]) or second[0] <= count:
        return "the two traced depths do not match"
    times = (layers - count) / (second[0] - count)

    def grown(one: float, other: float) -> float:
        return one + times * (other - one)

    parts = {key: grown(size, second[3][key]) for key, size in first[3].items()}
    return Traced(torch, grown(first[1], second[1]), grown(first[2], second[2]), parts)


def _depth(one: Mapping[str, Any]) -> tuple[int, float, float, dict[Key, float]]:
    return int(one["layers"]), float(one["static"]), float(one["forwarded"]), _by_end(one)


def _by_end(depth: Mapping[str, Any]) -> dict[Key, float]:
    """Most bytes by part and place; layers near the end are counted from there, those between are left out."""
    layers = int(depth["layers"])
    found: dict[Key, float] = {}
    for name, place, size in depth["parts"]:
        if layers > 2 * _ENDS or name not in {"forward", "backward"}:
            inner = name in {"forward", "backward"} and _ENDS <= place < layers - _ENDS
            if inner:
                continue
        key = (str(name), place - layers if name in {"forward", "backward"} and place >= layers - _ENDS else place)
        found[key] = max(found.get(key, 0.0), float(size))
    return found


def merged(one: Result, traced: Traced, table: Mapping[str, Any]) -> Result:
    """The estimate with the traced live peak; ``table`` is ``memory`` of the efficiency table."""
    found = memory(one.work, one.memory, traced, table)
    return replace(one, memory=found, fits=fits(found, one.work.gpu))


def memory(work: Work, closed: GpuMemory, traced: Traced, table: Mapping[str, Any]) -> GpuMemory:
    """Bytes of one GPU from a trace; what lies beside torch's live memory comes from the closed form's rules."""
    plan = work.parallel
    count = float(work.model.given_parameters or counted_parameters(work.model))
    _, gradients, moments = bytes_per_parameter(work)
    if work.method == "lora":
        count, (_, gradients, moments) = adapters(work), adapter_bytes(work)
    shard = plan.shard if plan.zero else 1
    optimizer = moments * count / shard
    buckets = bucket_bytes(work, count)
    added = optimizer + buckets
    peak = max(traced.parts.values())
    kept = gradients * count / (plan.shard if plan.zero >= 2 else 1)
    static = traced.static + added - (kept if work.microbatches > 1 else 0.0)
    step = static + kept + step_copy(work, kept)
    live = max(peak + added, step)
    moving = max(0.0, live - static - closed.gathered - (kept if work.microbatches > 1 else 0.0))
    enough = live + (needed(work, table) - 1) * moving
    roomy = min(live + (with_room(work, table) - 1) * moving, work.gpu.usable_bytes - closed.context)
    # Whole weights are there when the layers are done; how many is known by rule only.
    activations = max(0.0, traced.forwarded - traced.static - closed.gathered)
    loss = max(traced.parts["head", 0], traced.parts["loss", 0]) - traced.forwarded
    return replace(
        closed,
        states=static + kept - buckets,
        buffers=max(closed.buffers, buckets),
        activations=activations,
        logits=loss,
        live_peak=live,
        reserved=max(enough, roomy),
        low=live * (1 - _ERROR),
        high=enough * (1 + _ERROR) + closed.context,
        needed=enough,
        spread=0.0,
    )


def described(one: Result, traced: Traced) -> dict[str, Any]:
    """What the answer says of a trace that was used; GiB of one GPU."""
    part, place = max(traced.parts, key=lambda key: traced.parts[key])
    return {
        "state": "used",
        "why": None,
        "torch": traced.torch,
        "live_peak": round(one.memory.live_peak / GIB, 2),
        "at": _words(part, place, one.work.model.layers),
    }


def unavailable(why: str) -> dict[str, Any]:
    """What the answer says where there is no trace."""
    return {"state": "unavailable", "why": why, "torch": None, "live_peak": None, "at": None}


def _words(part: str, place: int, layers: int) -> str:
    if part in {"forward", "backward"}:
        return f"{part} pass of layer {(place % layers) + 1} of {layers}"
    words = {"start": "beginning of the step", "head": "head and loss", "loss": "backward of the loss"}
    return words.get(part, part if part == "embedding" else "end of the step")
