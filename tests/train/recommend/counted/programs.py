"""Training steps as the frameworks do them, for any division of the work; each gives what its last step sent."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import fsdp
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import CheckpointImpl, checkpoint_wrapper
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import wrap
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

from rocdoctor.train.recommend.model.spec import Work
from tests.train.recommend.counted import context, native
from tests.train.recommend.counted.counter import Counting
from tests.train.recommend.counted.decoder import Block, Decoder, loss_of
from tests.train.recommend.counted.lora import adapt


def _counted(labels: dict[str, str], step: Callable[[], None], before: int = 1) -> Counter[str]:
    """What a step sends after ``before`` others: in the first the shapes of a pipeline travel, for example."""
    for _ in range(before):
        step()
    counting = Counting(labels)
    with counting:
        step()
    return counting.found


def batch(work: Work) -> tuple[Any, Any]:
    """Tokens and targets of one micro-batch of this rank."""
    shape = (work.micro_batch, work.seq // work.parallel.cp)
    return torch.randint(work.model.vocab, shape), torch.randint(work.model.vocab, shape)


def _checkpointed(work: Work, model: Any) -> None:
    if work.recompute == "full":
        for name, block in model.layers.items():
            model.layers[name] = checkpoint_wrapper(
                block, checkpoint_impl=CheckpointImpl.NO_REENTRANT, early_stop=False
            )


def _world(label: str) -> dict[str, str]:
    group: Any = dist.group.WORLD
    return {group.group_name: label}


def _dtype(work: Work) -> Any:
    return torch.float32 if work.precision == "fp32" else torch.bfloat16


def ddp(work: Work) -> Counter[str]:
    """DistributedDataParallel with autocast; with ZeRO 1 the optimizer is ZeroRedundancyOptimizer."""
    model: Any = Decoder(work.model)
    if work.method != "full":
        adapt(model, work.lora_rank)
    if work.pure_bf16:
        model.bfloat16()
    model = DistributedDataParallel(model)
    trained = [one for one in model.parameters() if one.requires_grad]
    if work.parallel.zero:
        optimizer: Any = ZeroRedundancyOptimizer(trained, torch.optim.SGD, lr=0.1)
    else:
        optimizer = torch.optim.SGD(trained, lr=0.1)
    tokens, targets = batch(work)

    def step() -> None:
        for turn in range(work.microbatches):
            last = turn == work.microbatches - 1
            with (
                contextlib.nullcontext() if last else model.no_sync(),
                torch.autocast("cpu", torch.bfloat16, enabled=work.precision == "bf16" and not work.pure_bf16),
            ):
                loss = loss_of(model(tokens), targets)
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    # Buckets are arranged anew after the first step.
    return _counted(_world("dp"), step, before=2)


def fsdp1(work: Work) -> Counter[str]:
    """FullyShardedDataParallel around each block, as Composer does: weights and gradients travel in 16 bits."""
    model: Any = Decoder(work.model)
    if work.method != "full":
        adapt(model, work.lora_rank)
    _checkpointed(work, model)
    strategy = fsdp.ShardingStrategy.SHARD_GRAD_OP if work.parallel.keep_gathered else fsdp.ShardingStrategy.FULL_SHARD
    dtype = _dtype(work)
    kinds = {type(one) for one in model.layers.values()} | {Block}
    model = fsdp.FullyShardedDataParallel(
        model,
        sharding_strategy=strategy,
        auto_wrap_policy=wrap.ModuleWrapPolicy(kinds),
        use_orig_params=True,
        device_id=torch.device("cpu"),
        mixed_precision=fsdp.MixedPrecision(param_dtype=dtype, reduce_dtype=dtype, buffer_dtype=dtype),
    )
    optimizer = torch.optim.SGD([one for one in model.parameters() if one.requires_grad], lr=0.1)
    tokens, targets = batch(work)

    def step() -> None:
        for _ in range(work.microbatches):
            loss_of(model(tokens), targets).backward()
        optimizer.step()
        optimizer.zero_grad()

    return _counted(_world("shard"), step)


def fsdp2(work: Work) -> Counter[str]:
    """torchtitan's way: FSDP2 over what tensor, pipeline, context and expert parallelism leave of the model."""
    plan = work.parallel
    copies = plan.dp * plan.cp // plan.shard
    names = ("pp", "replicate", "shard", "tp")
    mesh = init_device_mesh("cpu", (plan.pp, copies, plan.shard, plan.tp), mesh_dim_names=names)
    labels: dict[str, str] = {mesh[name].get_group().group_name: name for name in names}
    ring = native.context_groups(work, labels) if plan.cp > 1 else None
    pieces = native.pieces(work, dist.get_rank() // (dist.get_world_size() // plan.pp))
    modules = [native.parallelize(work, one, mesh, labels, ring) for one in pieces]
    trained = [one for module in modules for one in module.parameters() if one.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.1, foreach=False)
    step = native.stepper(work, modules, mesh)

    def whole() -> None:
        step()
        optimizer.step()
        optimizer.zero_grad()

    return _counted(labels, whole)


def ring(work: Work) -> Counter[str]:
    """The attention of all layers over a ring of sends, as Transformer Engine does it for Megatron."""
    model = work.model
    tokens = work.seq // work.parallel.cp
    query, key, value = (
        torch.randn(work.micro_batch, heads, tokens, model.head_dim, dtype=_dtype(work), requires_grad=True)
        for heads in (model.heads, model.kv_heads, model.kv_heads)
    )

    def step() -> None:
        for _ in range(work.microbatches * model.layers):
            run = partial(context.ring_of_sends, dist.group.WORLD)
            if work.recompute == "full":
                out = checkpoint(run, query, key, value, use_reentrant=False, early_stop=False)
            else:
                out = run(query, key, value)
            out.sum().backward()

    return _counted(_world("cp"), step)


PROGRAMS: dict[str, Callable[[Work], Counter[str]]] = {"ddp": ddp, "fsdp1": fsdp1, "fsdp2": fsdp2, "ring": ring}
