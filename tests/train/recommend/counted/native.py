"""torchtitan's parallel forms of the decoder: its plan of tensor parallelism, units of FSDP2, pipeline schedules."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import _functional_collectives as functional
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import CheckpointImpl, checkpoint_wrapper
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.pipelining import PipelineStage, schedules
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor import parallel as styles
from torch.distributed.tensor.parallel import loss_parallel

from rocdoctor.train.recommend.model.spec import Work
from tests.train.recommend.counted import context
from tests.train.recommend.counted.decoder import Decoder, loss_of
from tests.train.recommend.counted.lora import adapt

_SCHEDULES = {
    "gpipe": schedules.ScheduleGPipe,
    "1f1b": schedules.Schedule1F1B,
    "interleaved": schedules.ScheduleInterleaved1F1B,
    "zbv": schedules.ScheduleZBVZeroBubble,
}


def _groups(size: int) -> Any:
    """This rank's group of ``size`` neighbours."""
    rank, found = dist.get_rank(), None
    for first in range(0, dist.get_world_size(), size):
        group = dist.new_group(list(range(first, first + size)))
        found = group if first <= rank < first + size else found
    return found


def context_groups(work: Work, labels: dict[str, str]) -> Any:
    """The ring of context parallelism: the innermost part of the ranks over which FSDP2 shards."""
    ring = _groups(work.parallel.cp)
    labels[ring.group_name] = "cp"
    return ring


def holders(work: Work) -> list[int]:
    """The rank of the pipeline that holds each stage."""
    plan = work.parallel
    if plan.schedule == "zbv":
        return [*range(plan.pp), *reversed(range(plan.pp))]
    return [*range(plan.pp)] * plan.chunks


def pieces(work: Work, rank: int) -> list[Any]:
    """This rank's parts of the decoder, the layers cut as evenly as they go."""
    own, layers = holders(work), work.model.layers
    parts = [range(at * layers // len(own), (at + 1) * layers // len(own)) for at in range(len(own))]
    return [
        Decoder(work.model, part, work.parallel.ep) for part, holder in zip(parts, own, strict=True) if holder == rank
    ]


def _dtypes(work: Work) -> MixedPrecisionPolicy:
    if work.precision == "fp32":
        return MixedPrecisionPolicy()
    return MixedPrecisionPolicy(
        param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16 if work.sums_in_16 else torch.float32
    )


def _tensor_plan(work: Work, model: Any) -> dict[str, Any]:
    outside = Shard(1) if work.parallel.sequence else Replicate()
    plan: dict[str, Any] = {}
    if model.tok_embeddings is not None:
        plan["tok_embeddings"] = styles.RowwiseParallel(input_layouts=Replicate(), output_layouts=outside)
    if model.output is not None:
        plan["output"] = styles.ColwiseParallel(input_layouts=outside, output_layouts=Shard(-1), use_local_output=False)
    whole = partial(styles.PrepareModuleInput, input_layouts=(outside,), desired_input_layouts=(Replicate(),))
    norms = ["norm"] if model.norm is not None else []
    for name in (f"layers.{one}" for one in model.layers):
        plan[f"{name}.attention"], plan[f"{name}.feed_forward"] = whole(), whole()
        for part in ("attention.wq", "attention.wk", "attention.wv", "feed_forward.w1", "feed_forward.w3"):
            if part != "feed_forward.w3" or work.model.gated:
                plan[f"{name}.{part}"] = styles.ColwiseParallel()
        for part in ("attention.wo", "feed_forward.w2"):
            plan[f"{name}.{part}"] = styles.RowwiseParallel(output_layouts=outside)
        norms += [f"{name}.attention_norm", f"{name}.ffn_norm"]
    if work.parallel.sequence:
        plan |= {name: styles.SequenceParallel() for name in norms}
    return plan


def _experts(work: Work, model: Any, mesh: Any, labels: dict[str, str]) -> Any:
    """Let tokens travel to their experts; the mesh over which what is left of the experts is sharded."""
    plan = work.parallel
    experts = init_device_mesh("cpu", (plan.shard // plan.ep, plan.ep), mesh_dim_names=("expert_shard", "ep"))
    # A group of its own also where it has the ranks of another one.
    group = _groups(plan.ep)
    labels[group.group_name] = "ep"
    labels[experts["expert_shard"].get_group().group_name] = "expert_shard"
    own = work.model.experts // plan.ep

    def there(x: Any) -> Any:
        # The counts travel first, as they do for tokens that choose.
        counts = torch.full((work.model.experts,), x.shape[1], dtype=torch.int64)
        with torch.no_grad():
            functional.all_to_all_single(counts, None, None, group)
        splits = [own * x.shape[1]] * plan.ep
        came = functional.all_to_all_single_autograd(x.flatten(0, 1), splits, splits, group)
        return came.view(plan.ep, own, x.shape[1], -1).transpose(0, 1).flatten(1, 2)

    def back(x: Any) -> Any:
        x = x.view(own, plan.ep, -1, x.shape[-1]).transpose(0, 1)
        splits = [own * x.shape[2]] * plan.ep
        gone = functional.all_to_all_single_autograd(x.flatten(0, 2).contiguous(), splits, splits, group)
        return gone.view(work.model.experts, x.shape[2], -1)

    for block in model.layers.values():
        if hasattr(block, "moe"):
            block.moe.there, block.moe.back = there, back
    return experts["expert_shard"]


def _place(work: Work, moe: Any, parameter: Any) -> Shard:
    """Experts are cut along their second dimension where there are fewer of them than ranks."""
    expert = moe is not None and any(parameter is one for one in moe.experts.parameters())
    return Shard(1 if expert and work.parallel.shard > work.model.experts else 0)


def parallelize(work: Work, model: Any, mesh: Any, labels: dict[str, str], ring: Any = None) -> Any:
    """Tensor parallelism, checkpointing and FSDP2, in torchtitan's order."""
    plan = work.parallel
    if work.method != "full":
        adapt(model, work.lora_rank)
    if plan.tp > 1:
        styles.parallelize_module(model, mesh["tp"], _tensor_plan(work, model))
    if plan.cp > 1:
        for block in model.layers.values():
            block.attention.core = partial(context.torch_ring, ring)
    of_experts = _experts(work, model, mesh, labels) if plan.ep > 1 else None
    if work.recompute == "full":
        for name, block in model.layers.items():
            model.layers[name] = checkpoint_wrapper(
                block, checkpoint_impl=CheckpointImpl.NO_REENTRANT, early_stop=False
            )
    data = mesh["replicate", "shard"] if mesh["replicate"].size() > 1 else mesh["shard"]
    options: dict[str, Any] = {"mesh": data, "mp_policy": _dtypes(work)}
    reshard = not plan.keep_gathered
    if work.model.tied and plan.pp == 1:
        fully_shard([model.tok_embeddings, model.norm, model.output], reshard_after_forward=False, **options)
    else:
        if model.tok_embeddings is not None:
            fully_shard(model.tok_embeddings, reshard_after_forward=reshard, **options)
        if model.output is not None:
            fully_shard([model.norm, model.output], reshard_after_forward=False, **options)
    for block in model.layers.values():
        moe = getattr(block, "moe", None)
        if moe is not None and of_experts is not None:
            fully_shard(
                moe.experts,
                reshard_after_forward=reshard,
                **{**options, "mesh": of_experts},
                shard_placement_fn=partial(_place, work, moe),
            )
        fully_shard(block, reshard_after_forward=reshard, shard_placement_fn=partial(_place, work, moe), **options)
    return fully_shard(model, **options)


def stepper(work: Work, modules: list[Any], mesh: Any) -> Callable[[], None]:
    """Forward and backward of all micro-batches of a step."""
    plan, sequence = work.parallel, work.seq // work.parallel.cp
    size = work.micro_batch * (work.microbatches if plan.pp > 1 else 1)
    tokens, targets = (torch.randint(work.model.vocab, (size, sequence)) for _ in range(2))
    if plan.pp == 1:

        def step() -> None:
            for _ in range(work.microbatches):
                if plan.tp > 1:
                    with loss_parallel():
                        loss_of(modules[0](tokens), targets).backward()
                else:
                    loss_of(modules[0](tokens), targets).backward()

        return step
    own = holders(work)
    group, rank = mesh["pp"].get_group(), mesh["pp"].get_local_rank()
    numbers = [number for number, holder in enumerate(own) if holder == rank]
    stages = [
        PipelineStage(module, number, len(own), torch.device("cpu"), group=group)
        for module, number in zip(modules, numbers, strict=True)
    ]
    kind: Any = _SCHEDULES[plan.schedule]
    several = len(stages) > 1
    schedule = kind(stages if several else stages[0], n_microbatches=work.microbatches, loss_fn=loss_of)

    def piped() -> None:
        first, last = 0 in numbers, len(own) - 1 in numbers
        with loss_parallel():
            schedule.step(*([tokens] if first else []), **({"target": targets, "losses": []} if last else {}))

    return piped
