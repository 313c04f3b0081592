"""The file that ``accelerate launch --config_file`` reads, each key with its reason."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rocdoctor.train.emit.data_parallel import refusal, script_part
from rocdoctor.train.emit.files import File, comment, plain
from rocdoctor.train.emit.launcher import PORT, open_ports
from rocdoctor.train.emit.targets import Order, deepspeed
from rocdoctor.train.recommend.model.layout import Framework
from rocdoctor.train.recommend.model.spec import Work
from rocdoctor.train.recommend.plan import Plan

FRAMEWORKS: tuple[Framework, ...] = ("fsdp2", "ddp", "deepspeed")
TRANSFORMERS = True

_NO_GPU = "No GPU: set ACCELERATE_USE_CPU=true, so that the processes communicate over gloo."
# utils/launch.py prepare_multi_gpu_env (huggingface/accelerate, read 2026-11-28): a port in use makes it --standalone,
# for which torch takes the endpoint localhost:0 as the path of the file (tried with torch 2.13: run.py,
# c10d_rendezvous_backend.py).
_MEETING_FILE = (
    f"Start it in a folder that only you can write to: if port {PORT} is in use, the processes meet "
    "in the file localhost:0 there, and whoever can write that file can run code in them. A free "
    "--main_process_port avoids the file."
)
# Under ACCELERATE_USE_CPU accelerate leaves DeepSpeed out, and without a backend each process takes itself for all.
_NO_GPU_DEEPSPEED = (
    "No GPU: set DS_ACCELERATOR=cpu, not ACCELERATE_USE_CPU, with which accelerate silently leaves DeepSpeed out. "
    'The script must make Accelerator(kwargs_handlers=[InitProcessGroupKwargs(backend="gloo")]); otherwise '
    "each process assumes that it is the only one."
)


@dataclass(frozen=True, slots=True)
class AccelerateLine:
    """One key of a section (empty: the top) with its value and reason."""

    section: str
    key: str
    value: Any
    reason: str = ""


def refuses(work: Work) -> str | None:
    """Why the file of ``accelerate launch`` cannot express a configuration, or None."""
    if work.framework == "deepspeed":
        said = deepspeed.refuses(work)
        if said is None and work.optimizer != "adam":
            return f"with accelerate the training script makes the optimizer, so {work.optimizer} is not the file's"
        return said
    said = refusal(work, "the configuration of accelerate", FRAMEWORKS)
    if said is not None:
        return said
    if work.loss == "fused":
        return "the configuration of accelerate cannot fuse the loss: the model's code would have to"
    if work.optimizer != "adam":
        return f"with accelerate the training script makes the optimizer, so {work.optimizer} is not the file's"
    if work.pure_bf16:
        return "how weights are loaded is the training script's; nearest: precision bf16"
    return _fsdp2(work) if work.framework == "fsdp2" else _ddp(work)


def _fsdp2(work: Work) -> str | None:
    sizes = work.parallel
    if work.gpus == 1:
        return "FSDP2 on one GPU shards nothing; nearest: framework ddp"
    if sizes.zero != 3:
        return "FSDP2 shards weights, gradients and optimizer, or keeps gathered weights (SHARD_GRAD_OP)"
    if sizes.shard != sizes.dp:
        return (
            f"sharding over {sizes.shard} of {sizes.dp} ranks needs a device mesh that accelerate makes but that "
            "could not be proven here; nearest: shard over all"
        )
    if sizes.offload_optimizer != sizes.offload_weights:
        return "FSDP2 moves weights, gradients and optimizer to main memory together or not at all"
    if work.microbatches > 1:
        return (
            f"accelerate keeps whole gradients on every GPU while FSDP2 accumulates {work.microbatches} micro-batches, "
            "unless the training script sets sync_each_batch; nearest: grad_accum 1"
        )
    if work.compile:
        return "accelerate compiles the model before FSDP2 shards it, which was not estimated"
    if work.precision == "fp16":
        return "FSDP2 in fp16 needs a scaler of sharded gradients in the training script; nearest: bf16"
    if work.method == "qlora":
        return "FSDP2 shards 4-bit weights only when the training script stores them as bf16; nearest: framework ddp"
    return None


def _ddp(work: Work) -> str | None:
    sizes = work.parallel
    if sizes.zero or sizes.shard > 1:
        return "DistributedDataParallel shards nothing"
    if sizes.offload_optimizer or sizes.offload_weights:
        return "DistributedDataParallel moves nothing to main memory"
    return None


def _kind(plan: Plan) -> tuple[str, str]:
    work = plan.work
    if work.framework == "deepspeed":
        return "DEEPSPEED", plan.why("framework")
    if work.framework == "fsdp2":
        return "FSDP", plan.why("framework") or plan.why("shard")
    if work.gpus == 1:
        return "NO", "one process alone"
    return "MULTI_GPU", plan.why("framework") or "DistributedDataParallel: every GPU has a whole copy"


def lines(plan: Plan) -> list[AccelerateLine]:
    """Every key of the file with its reason, in the file's order."""
    work, fleet = plan.work, plan.fleet
    kind, why = _kind(plan)
    found = [
        AccelerateLine("", "compute_environment", "LOCAL_MACHINE"),
        AccelerateLine("", "distributed_type", kind, why),
    ]
    if work.framework != "deepspeed":  # beside a DeepSpeed file accelerate refuses a precision of its own
        precision = "no" if work.precision == "fp32" else work.precision
        found.append(
            AccelerateLine(
                "", "mixed_precision", precision, plan.why("precision") or "the precision of matrix products"
            )
        )
    several = fleet.nodes > 1
    per = "nodes x processes of one" if fleet.vendor == "cpu" else "one a GPU"
    found += [
        AccelerateLine("", "num_machines", fleet.nodes, "nodes"),
        AccelerateLine("", "num_processes", fleet.gpus, f"{per}: {fleet.nodes} x {fleet.per_node}"),
        AccelerateLine(
            "", "machine_rank", 0, "other nodes: accelerate launch --machine_rank 1, 2 ..." if several else ""
        ),
        AccelerateLine("", "main_training_function", "main"),
        AccelerateLine("", "use_cpu", False),
    ]
    if work.framework == "fsdp2":
        found += _fsdp_lines(plan)
    elif work.framework == "deepspeed":
        early = work.parallel.zero == 3
        found += [
            AccelerateLine(
                "deepspeed_config",
                "deepspeed_config_file",
                "ds_config.json",
                "stage, buckets and precision are there; looked for in the folder where you start",
            ),
            AccelerateLine(
                "deepspeed_config", "zero3_init_flag", early, "weights are sharded while they load" if early else ""
            ),
        ]
        if several:
            found.append(
                AccelerateLine("deepspeed_config", "deepspeed_multinode_launcher", "standard", "started on every node")
            )
    if work.compile:
        found.append(
            AccelerateLine("dynamo_config", "dynamo_backend", "INDUCTOR", plan.why("compile") or "torch.compile")
        )
    return found


def _fsdp_lines(plan: Plan) -> list[AccelerateLine]:
    work = plan.work
    again = work.recompute == "full"
    reshard = not work.parallel.keep_gathered
    fact = "weights are freed after the forward pass" if reshard else "weights stay whole until the backward pass"
    values: list[tuple[str, Any, str]] = [
        ("fsdp_version", 2, "FSDP2 was estimated"),
        ("fsdp_reshard_after_forward", reshard, f"{fact}; {plan.why('shard')}".rstrip("; ")),
        ("fsdp_auto_wrap_policy", "TRANSFORMER_BASED_WRAP", "layer by layer: two layers are gathered at once"),
        ("fsdp_offload_params", work.parallel.offload_weights, plan.why("offload")),
        ("fsdp_activation_checkpointing", again, plan.why("recompute")),
        ("fsdp_state_dict_type", "SHARDED_STATE_DICT", "each rank saves its part"),
    ]
    return [AccelerateLine("fsdp_config", *one) for one in values]


def _unit(plan: Plan) -> str:
    return "process" if plan.fleet.vendor == "cpu" else "GPU"


def _must(plan: Plan) -> list[str]:
    work = plan.work
    sequences = "1 sequence" if work.micro_batch == 1 else f"{work.micro_batch} sequences"
    passes = "1 pass" if work.microbatches == 1 else f"{work.microbatches} passes"
    must = [f"load {sequences} a {_unit(plan)} and pass"]
    if work.framework == "deepspeed":
        must += _deepspeed_must(plan)
    else:
        must.append(f"accumulate {passes}: Accelerator(gradient_accumulation_steps={work.microbatches})")
        must.append(
            "load full weights in fp32 (torch_dtype=torch.float32)"
            if work.method == "full"
            else "load the frozen weights in 16 bits or fewer"
        )
    must += script_part(work)
    if work.parallel.offload_optimizer and work.framework == "deepspeed":
        must.append("use torch.optim.AdamW: accelerate replaces it with DeepSpeed's own, which computes on the CPU")
    else:
        must.append("use torch.optim.AdamW")
    if work.recompute == "full" and work.framework != "fsdp2":
        must.append("call model.gradient_checkpointing_enable(): the estimate recomputes every layer")
    return must


def _deepspeed_must(plan: Plan) -> list[str]:
    work = plan.work
    must: list[str] = []
    if work.parallel.zero == 3:
        must.append(
            "make the Accelerator before the model is loaded with from_pretrained(): only then are the weights sharded "
            "while they load"
        )
    if work.microbatches > 1:
        # DeepSpeedEngineWrapper.backward names each pass the last one of a step unless accumulate() says otherwise.
        must.append(
            f'run each of the {work.microbatches} passes in "with accelerator.accumulate(model):", because without it '
            "accelerate makes a step after every pass, whatever ds_config.json says"
        )
    if plan.fleet.vendor == "amd" and work.precision == "bf16":
        # DeepSpeedPlugin.set_mixed_precision, on ROCm alone.
        must.append(
            "give Accelerator() no mixed_precision: ds_config.json has it. If it is given here "
            "too, accelerate sends gradients in fp32 on ROCm (its guard against overflow), which "
            "takes more memory and time than estimated"
        )
    return must + deepspeed.loading(work)


def _text(plan: Plan, order: Order) -> str:
    several = plan.fleet.nodes > 1
    # Where its port is taken, accelerate has one node meet by a store that takes pickles from anybody: not by a file.
    options = "--rdzv_conf store_type=file "
    if several:
        options = "--machine_rank N --main_process_ip HOST --main_process_port 29500 "
    out = [
        *comment(
            f"For {plan.fleet.name} and {plan.work.model.name}. Start on each node:"
            if several
            else f"For {plan.fleet.name} and {plan.work.model.name}. Start:"
        ),
        f"#   accelerate launch --config_file accelerate.yaml {options}{plain(order.script)}",
        *open_ports(),
        *([] if several else comment(_MEETING_FILE)),
    ]
    if plan.fleet.vendor == "cpu":
        out += comment(_NO_GPU_DEEPSPEED if plan.work.framework == "deepspeed" else _NO_GPU)
    out.append("# The training script must:")
    for words in _must(plan):
        out += [f"#   {'-' if not n else ' '} {part[2:]}" for n, part in enumerate(comment(words, width=90))]
    section = ""
    for line in lines(plan):
        if line.section != section:
            out.append(f"{line.section}:")
            section = line.section
        indent = "  " if section else ""
        out += comment(line.reason, indent=indent) if line.reason else []
        out.append(f"{indent}{line.key}: {json.dumps(line.value)}")
    return "\n".join(out) + "\n"


def files(plan: Plan, order: Order) -> Sequence[File]:
    """``accelerate.yaml``, and for DeepSpeed the configuration that it names, with its reasons."""
    found = [File("accelerate.yaml", _text(plan, order))]
    if plan.work.framework == "deepspeed":
        # The optimizer is the script's: accelerate refuses one made by it beside one in the file.
        found += deepspeed.without_optimizer(plan, _must(plan), order)
    return found
