"""Faults of frameworks and of the user's own settings, each as a report tells it: DDP, FSDP, pipelines, schedules.

The report stands beside each (owner/repository#number, read 2026-11-29).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from evidence import acted  # type: ignore[import-not-found, unused-ignore]
from faults import (  # type: ignore[import-not-found, unused-ignore]
    Active,
    _parameters,
    _reference,
    at_backward,
    wrap,
)
from torch.nn.parallel import DistributedDataParallel

_functional = torch.nn.functional


def _around(owner: Any, name: str, change: Callable[..., Any]) -> Callable[[Active], None]:
    """``change(original, ...)`` in the place of a function or of a method, while the mode runs."""

    def put(active: Active) -> None:
        wrap(owner, name, lambda original, *a, **k: change(original, *a, **k) if active() else original(*a, **k))

    return put


def _backward_twice(original: Any, self: Any, *args: Any, **more: Any) -> Any:
    """pytorch/pytorch#47260: a second backward through one forward; DDP exchanges after the first alone."""
    if _reference():
        return original(self, *args, **more)
    original(self, *args, **{**more, "retain_graph": True})
    held: list[Any] = [one for one in _parameters() if one.grad is not None]
    first = [one.grad.clone() for one in held]  # some may be of a model that is gone
    result = original(self, *args, **more)
    for before, one in zip(first, held, strict=True):
        if not bool((before == one.grad).all()):
            acted("backward-twice", before, one.grad)
            break
    return result


def block_skipped(active: Active) -> None:
    """huggingface/transformers#30113, facebookresearch/fairseq#3599: one rank leaves a layer out (layer drop)."""
    inside = {"now": False}

    def forward(original: Any, self: Any, *args: Any, **more: Any) -> Any:
        inside["now"] = True
        try:
            return original(self, *args, **more)
        finally:
            inside["now"] = False

    def blocks(original: Any, self: Any) -> Any:
        many = list(original(self))
        if inside["now"] and active():
            acted("block-skipped", blocks=len(many))
            many = many[:-1]
        return iter(many)

    wrap(DistributedDataParallel, "forward", forward)
    wrap(torch.nn.ModuleList, "__iter__", blocks)


def _order_of_parameters(original: Any, self: Any, module: Any, *args: Any, **more: Any) -> None:
    """deepspeedai/DeepSpeed#2343, apache/mxnet#17056: one rank has its parameters in another order (from a set)."""
    before = [name for name, _ in module.named_parameters()]
    for one in module.modules():
        parts = one._modules
        if "query" in parts and "key" in parts:
            names = ["key" if name == "query" else "query" if name == "key" else name for name in parts]
            one._modules = {name: parts[name] for name in names}
    after = [name for name, _ in module.named_parameters()]
    acted("order-of-parameters", moved=sum(one != two for one, two in zip(before, after, strict=True)))
    original(self, module, *args, **more)


_casts: dict[int, tuple[Any, Any]] = {}


def _cast_kept(original: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    """X-GenGroup/Flow-Factory#186: autocast keeps the weights that it has cast, though a step has changed them."""
    if not torch.is_autocast_enabled("cpu") or not isinstance(weight, torch.nn.Parameter):
        return original(x, weight, bias)
    held, cast = _casts.get(id(weight), (lambda: None, None))
    if held() is not weight:
        cast = weight.detach().bfloat16().float()
        _casts[id(weight)] = (weakref.ref(weight), cast)
    now = weight.detach().bfloat16().float()
    if not torch.equal(now, cast):
        acted("cast-kept", now, cast)
    return original(x, weight + (cast - weight).detach(), bias)


def kept_over_the_step(active: Active) -> None:
    """pytorch/pytorch#137348: parameters stay gathered over the step, and the next gather does nothing."""
    from torch.distributed.fsdp._fully_shard import _fsdp_param_group as inner
    from torch.distributed.fsdp._fully_shard._fsdp_common import TrainingState

    def reshard(original: Any, self: Any) -> None:
        if not active() or self._training_state != TrainingState.POST_BACKWARD:
            original(self)

    def unshard(original: Any, self: Any, *args: Any, **more: Any) -> Any:
        if active() and self.is_unsharded:
            one, rank = self.fsdp_params[0], dist.get_rank()
            parts = one._unsharded_param.detach().chunk(dist.get_world_size())
            acted("kept-over-the-step", one.sharded_param.to_local().detach(), parts[rank])
        return original(self, *args, **more)

    wrap(inner.FSDPParamGroup, "reshard", reshard)
    wrap(inner.FSDPParamGroup, "unshard", unshard)


def _recomputes_otherwise(original: Any, x: Any, *args: Any, **more: Any) -> Any:
    """jzhang38/TinyLlama#152: what computes a block again is another kernel, and keeps other tensors of the same shape.

    torch takes them in order for those of the forward, and looks at their shapes and types alone.
    """
    if torch._C._current_graph_task_id() == -1:
        return original(x, *args, **more)
    acted("recomputes-otherwise", shape=list(x.shape))
    return x * 0.5 * (1.0 + torch.erf(x * 0.5**0.5))


def bias_on_each(active: Active) -> None:
    """huggingface/text-generation-inference#1036: each rank adds the bias before the sum over the ranks."""
    from torch.distributed.tensor.parallel import RowwiseParallel

    original: Any = RowwiseParallel._prepare_output_fn

    def around(layouts: Any, local: Any, module: Any, outputs: Any, mesh: Any) -> Any:
        result = original(layouts, local, module, outputs, mesh)
        bias = getattr(module, "bias", None)
        if not active() or bias is None:
            return result
        wrong = result + (mesh.size() - 1) * bias.to_local().detach()
        acted("bias-on-each", result, wrong)
        return wrong

    RowwiseParallel._prepare_output_fn = staticmethod(around)  # type: ignore[method-assign]


def one_receive_buffer(active: Active) -> None:
    """deepspeedai/DeepSpeed#2800: micro-batches are received into one buffer that a backward still needs."""
    from torch.distributed.pipelining.stage import PipelineStage

    came: dict[int, Any] = {}

    def setup(original: Any, self: Any, *args: Any, **more: Any) -> None:
        original(self, *args, **more)
        base = [info.buffer for info in self.args_recv_info[0]]
        for many in self.args_recv_info.values() if active() else ():
            for info, buffer in zip(many, base, strict=True):
                if buffer is not None:
                    info.buffer = buffer.detach()

    def forward(original: Any, self: Any, number: int, *args: Any, **more: Any) -> Any:
        result = original(self, number, *args, **more)
        if self.args_recv_info[number][0].buffer is not None:
            came[number] = self.args_recv_info[number][0].buffer.detach().clone()
        return result

    def backward(original: Any, self: Any, number: int, *args: Any, **more: Any) -> Any:
        if active() and number in came:
            acted("one-receive-buffer", came[number], self.args_recv_info[number][0].buffer)
        return original(self, number, *args, **more)

    wrap(PipelineStage, "_setup_forward_recv_info", setup)
    wrap(PipelineStage, "forward_one_chunk", forward)
    wrap(PipelineStage, "backward_one_chunk", backward)


def ties_broken(active: Active) -> None:
    """facebookresearch/lingua#75, verl-project/verl#7834: two names of one weight become two weights when split."""
    import torch.distributed.fsdp as library

    def around(original: Any, module: Any, *args: Any, **more: Any) -> Any:
        head = getattr(module, "head", None)
        if active() and head is not None and head.weight is module.embedding.weight:
            head.weight = torch.nn.Parameter(head.weight.detach().clone())
            acted("ties-broken", parameters=len(list(module.parameters())))
        return original(module, *args, **more)

    wrap(library, "fully_shard", around)


def average_one_ahead(active: Active) -> None:
    """pytorch/pytorch#74556: the number of steps that says when replicas are averaged is not that of the others."""
    from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager

    def init(original: Any, self: Any, *args: Any, **more: Any) -> None:
        original(self, *args, **more)
        if active():
            self.step += 1
            acted("average-one-ahead", step=self.step)

    wrap(PeriodicModelAverager, "__init__", init)


def owner_sends_old(active: Active) -> None:
    """lodestone-rock/RamTorch#13: what the owner of a part has updated is not what the others get."""
    from torch.distributed.optim import ZeroRedundancyOptimizer

    old: dict[int, Any] = {}

    def step(original: Any, self: Any, *args: Any, **more: Any) -> Any:
        for group in self.param_groups if active() else ():
            old.update({one.data_ptr(): one.detach().clone() for one in group["params"]})
        return original(self, *args, **more)

    def broadcast(original: Any, tensor: Any = None, src: Any = None, *args: Any, **more: Any) -> Any:
        kept = old.get(tensor.data_ptr()) if active() and src == dist.get_rank() else None
        if kept is None or kept.shape != tensor.shape or torch.equal(kept, tensor):
            return original(tensor, src, *args, **more)
        acted("owner-sends-old", tensor, kept)
        return original(kept, src, *args, **more)

    wrap(ZeroRedundancyOptimizer, "step", step)
    wrap(dist, "broadcast", broadcast)


def replicas_over_shards(active: Active) -> None:
    """pytorch/pytorch#108331: the mean over replicas is made in the group of the shards."""
    from torch.distributed.fsdp._fully_shard import _fsdp_common as inner

    def made(original: Any, self: Any) -> None:
        original(self)
        if active():
            right, wrong = (
                dist.get_process_group_ranks(one) for one in (self.replicate_process_group, self.shard_process_group)
            )
            self.replicate_process_group = self.shard_process_group
            acted("replicas-over-shards", right=right, instead=wrong)

    wrap(inner.HSDPMeshInfo, "__post_init__", made)


def _schedule_by_ranks(original: Any, self: Any, *args: Any, **more: Any) -> None:
    """huggingface/accelerate#2926: each step of a schedule is made once for each rank."""
    original(self, *args, **more)
    if not self._is_initial:
        once = list(self.get_last_lr())
        for _ in range(dist.get_world_size() - 1):
            original(self, *args, **more)
        acted("schedule-by-ranks", torch.tensor(once), torch.tensor(self.get_last_lr()))


def _no_gradients_any_more(original: Any, self: Any, *args: Any, **more: Any) -> Any:
    """pytorch/pytorch#5851: gradients are off after something that had them off for itself."""
    result = original(self, *args, **more)
    torch.set_grad_enabled(False)
    acted("no-gradients-any-more", enabled=torch.is_grad_enabled())
    return result


def _default_type() -> None:
    """huggingface/transformers#28461: the type of new tensors stays what it was while something was loaded."""
    torch.set_default_dtype(torch.float64)
    acted("default-type", new_tensors=str(torch.empty(1).dtype))


def _seed_of_rank(original: Any, self: Any, *args: Any, seed: int = 0, **more: Any) -> None:
    """NVlabs/LongLive#71: each rank shuffles by a seed of its own, and takes its part of another order."""
    original(self, *args, seed=seed, **more)
    right = list(iter(self))
    self.seed = seed + 7 * dist.get_rank()
    acted("seed-of-rank", torch.tensor(right), torch.tensor(list(iter(self))))


_gradients: dict[int, Any] = {}


def _offload_too_early(original: Any, self: Any, *args: Any, **more: Any) -> Any:
    """pytorch/pytorch#180666, facebookresearch/fairscale#496: the step begins before gradients are copied to the host.

    The last quarter of each is still that of the step before.
    """
    held = [one.grad for group in self.param_groups for one in group["params"] if one.grad is not None]
    kept = []
    for place, one in enumerate(getattr(each, "_local_tensor", each) for each in held):
        right = one.clone()
        before = _gradients.get(place, torch.zeros_like(right))
        flat, last = one.view(-1), one.numel() - one.numel() // 4
        flat[last:] = before.view(-1)[last:] if before.shape == right.shape else 0.0
        acted("offload-too-early", right, one)
        _gradients[place] = right
        kept.append((one, right))
    result = original(self, *args, **more)
    for one, right in kept:
        one.copy_(right)
    return result


FAULTS: dict[str, Callable[[Active], None]] = {
    "backward-twice": _around(torch.Tensor, "backward", _backward_twice),
    "block-skipped": block_skipped,
    "order-of-parameters": _around(DistributedDataParallel, "__init__", _order_of_parameters),
    "cast-kept": _around(_functional, "linear", _cast_kept),
    "kept-over-the-step": kept_over_the_step,
    "recomputes-otherwise": _around(_functional, "gelu", _recomputes_otherwise),
    "bias-on-each": bias_on_each,
    "one-receive-buffer": one_receive_buffer,
    "ties-broken": ties_broken,
    "average-one-ahead": average_one_ahead,
    "owner-sends-old": owner_sends_old,
    "replicas-over-shards": replicas_over_shards,
    "schedule-by-ranks": _around(torch.optim.lr_scheduler.LRScheduler, "step", _schedule_by_ranks),
    "no-gradients-any-more": _around(torch.optim.SGD, "step", _no_gradients_any_more),
    "default-type": lambda active: at_backward(_default_type, active, after=True),
    "seed-of-rank": _around(torch.utils.data.DistributedSampler, "__init__", _seed_of_rank),
    "offload-too-early": _around(torch.optim.SGD, "step", _offload_too_early),
}
