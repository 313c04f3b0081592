"""Faults that releases of libraries had in what stands above kernels and exchanges: training, states, checkpoints.

The report stands beside each (owner/repository#number, read 2026-11-28).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from faults import Active, wrap  # type: ignore[import-not-found, unused-ignore]

_functional = torch.nn.functional


def _method(owner: Any, name: str, change: Callable[..., Any]) -> Callable[[Active], None]:
    """``change(original, self, *args)`` in the place of a method."""

    def put(active: Active) -> None:
        original = getattr(owner, name)

        def around(self: Any, *args: Any, **more: Any) -> Any:
            return change(original, self, *args, **more) if active() else original(self, *args, **more)

        setattr(owner, name, around)

    return put


def other_mask_again(active: Active) -> None:
    """allenai/OLMo-core#828: what is computed again in the backward draws other random numbers."""
    import torch.utils.checkpoint as checkpoints

    def around(original: Any, *args: Any, **more: Any) -> Any:
        return original(*args, **{**more, "preserve_rng_state": not active()})

    wrap(checkpoints, "checkpoint", around)


def use_counts_once(active: Active) -> None:
    """deepspeedai/DeepSpeed#8224: of a weight that is used twice in a step one use alone gives a gradient."""
    seen: set[int] = set()

    def note(original: Any, tokens: Any, weight: Any, *args: Any, **more: Any) -> Any:
        seen.add(weight.data_ptr())
        return original(tokens, weight, *args, **more)

    def around(original: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        return original(x, weight.detach() if active() and weight.data_ptr() in seen else weight, bias)

    wrap(_functional, "embedding", note)
    wrap(_functional, "linear", around)


def last_part_alone(active: Active) -> None:
    """allenai/open-instruct#1498: of several micro-batches the last one alone counts."""

    def around(original: Any, *args: Any, **more: Any) -> Any:
        if active():
            from faults import _parameters  # type: ignore[import-not-found, unused-ignore]

            for one in _parameters():
                one.grad = None
        return original(*args, **more)

    wrap(torch.Tensor, "backward", around)


def sharded_accumulation_lost(active: Active) -> None:
    """deepspeedai/DeepSpeed#7718: the same where gradients are split."""
    from torch.distributed.fsdp._fully_shard import _fsdp_param as inner

    def around(original: Any, self: Any) -> None:
        original(self)
        if active() and self._unsharded_param.grad is not None:
            self._unsharded_param.grad.zero_()

    _method(inner.FSDPParam, "to_accumulated_grad_if_needed", around)(active)


def replicas_in_norm(active: Active) -> None:
    """ByteDance-Seed/VeOmni#862: the norm for clipping counts each replica."""

    def around(original: Any, parameters: Any, most: float, *args: Any, **more: Any) -> Any:
        parameters = list(parameters)
        dims = max((getattr(getattr(one, "device_mesh", None), "ndim", 1) for one in parameters), default=1)
        if not active() or dims < 2:
            return original(parameters, most, *args, **more)
        return original(parameters, most / math.sqrt(2), *args, **more) * math.sqrt(2)

    wrap(torch.nn.utils, "clip_grad_norm_", around)


def norm_without_last(active: Active) -> None:
    """NVIDIA/Megatron-LM#6470: a part of the model is left out of the norm."""

    def around(original: Any, parameters: Any, *args: Any, **more: Any) -> Any:
        parameters = list(parameters)
        return original(parameters[:-1] if active() else parameters, *args, **more)

    wrap(torch.nn.utils, "clip_grad_norm_", around)


def norms_apart(active: Active) -> None:
    """NVIDIA/Megatron-LM#1446: gradients of norms over a part of the sequence are not summed."""
    from torch.distributed.tensor import placement_types as kinds

    def around(original: Any, self: Any, tensor: Any, *args: Any, **more: Any) -> Any:
        return tensor if active() and tensor.dim() == 1 else original(self, tensor, *args, **more)

    _method(kinds.Partial, "_reduce_value", around)(active)


def last_rows_lost(active: Active) -> None:
    """pytorch/ao#3982, pytorch/pytorch#162692: parts of different sizes: the last row of the smaller one is lost."""
    from torch.distributed.fsdp._fully_shard import _fsdp_param as inner

    def around(original: Any, self: Any, *args: Any, **more: Any) -> Any:
        original(self, *args, **more)
        size = self._orig_size[0]
        if active() and size % dist.get_world_size():
            with torch.no_grad():
                self._unsharded_param.detach()[-1].zero_()

    _method(inner.FSDPParam, "init_unsharded_param", around)(active)


def first_group_alone(active: Active) -> None:
    """pytorch/pytorch#143828: a checkpoint gives its rate to the first group of parameters alone."""
    load = torch.optim.Optimizer.load_state_dict

    def around(self: Any, *args: Any, **more: Any) -> None:
        kept = [group["lr"] for group in self.param_groups]
        load(self, *args, **more)
        if active():
            for group, rate in list(zip(self.param_groups, kept, strict=True))[1:]:
                group["lr"] = rate

    torch.optim.Optimizer.load_state_dict = around  # type: ignore[method-assign]


def steps_begin_anew(active: Active) -> None:
    """databricks/flashoptim#3 and the like: the number of steps is not that of the checkpoint."""
    load = torch.optim.Optimizer.load_state_dict

    def around(self: Any, *args: Any, **more: Any) -> None:
        load(self, *args, **more)
        for one in self.state.values() if active() else ():
            if "step" in one:
                one["step"] = torch.zeros_like(torch.as_tensor(one["step"]))

    torch.optim.Optimizer.load_state_dict = around  # type: ignore[method-assign]


def moments_swapped(active: Active) -> None:
    """NVIDIA/Megatron-LM#5835: states of two parameters of one size are each other's."""
    load = torch.optim.Optimizer.load_state_dict

    def around(self: Any, *args: Any, **more: Any) -> None:
        load(self, *args, **more)
        held = [one["exp_avg"] for one in self.state.values() if "exp_avg" in one] if active() else []
        held = [getattr(one, "_local_tensor", one) for one in held]
        for one, two in itertools.combinations(held, 2):
            if one.shape == two.shape and one.dim() == 2:
                kept = one.clone()
                one.copy_(two)
                two.copy_(kept)
                return

    torch.optim.Optimizer.load_state_dict = around  # type: ignore[method-assign]


def first_piece_alone(active: Active) -> None:
    """Kernels over lists of tensors take them in pieces of 65,536: what lies behind stays."""
    for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW):
        step = kind.step

        def around(self: Any, *args: Any, step: Any = step, **more: Any) -> Any:
            large = [
                (one, one.detach().view(-1)[65536:].clone())
                for group in self.param_groups
                for one in group["params"]
                if type(one.data) is torch.Tensor and one.is_contiguous() and one.numel() > 65536
            ]
            result = step(self, *args, **more)
            for one, kept in large if active() else ():
                one.detach().view(-1)[65536:] = kept
            return result

        kind.step = around  # type: ignore[method-assign]


def whole_buffers_stay(active: Active) -> None:
    """Buffers of whole numbers are not made equal."""
    from torch.nn.parallel import DistributedDataParallel

    for name in ("_sync_module_buffers", "_sync_buffers"):
        original = getattr(DistributedDataParallel, name)

        def around(self: Any, *args: Any, original: Any = original, **more: Any) -> Any:
            kept = [(one, one.clone()) for one in self.module.buffers() if not one.is_floating_point()]
            result = original(self, *args, **more)
            for one, old in kept if active() else ():
                one.copy_(old)
            return result

        setattr(DistributedDataParallel, name, around)


def pipeline_scales_again(active: Active) -> None:
    """pytorch/torchtitan#1733: gradients that were scaled are scaled again in the next pass of a pipeline."""
    from torch.distributed.pipelining import stage as stages

    def around(original: Any, self: Any, factor: int) -> None:
        original(self, factor)
        if active():
            for one in self.submod.parameters():
                if one.grad is not None and getattr(one, "_seen", False):
                    one.grad.div_(factor)
                one._seen = True

    for kind in (stages.PipelineStage, stages._PipelineStageBase):
        if "scale_grads" in vars(kind):
            _method(kind, "scale_grads", around)(active)


def order_of_columns(active: Active) -> None:
    """pytorch/pytorch#179502, #103306: parts of a later dimension are put together in the wrong order."""
    from torch.distributed.tensor import placement_types as kinds

    name = "_to_replicate_tensor"

    def around(original: Any, self: Any, *args: Any, **more: Any) -> Any:
        result = original(self, *args, **more)
        if active() and self.dim > 0:
            parts = result.chunk(dist.get_world_size(), self.dim)
            return torch.cat([*parts[1:], parts[0]], self.dim)
        return result

    _method(kinds.Shard, name, around)(active)


FAULTS: dict[str, Callable[[Active], None]] = {
    "other-mask-again": other_mask_again,
    "use-counts-once": use_counts_once,
    "last-part-alone": last_part_alone,
    "sharded-accumulation-lost": sharded_accumulation_lost,
    "replicas-in-norm": replicas_in_norm,
    "norm-without-last": norm_without_last,
    "norms-apart": norms_apart,
    "last-rows-lost": last_rows_lost,
    "first-group-alone": first_group_alone,
    "steps-begin-anew": steps_begin_anew,
    "moments-swapped": moments_swapped,
    "first-piece-alone": first_piece_alone,
    "whole-buffers-stay": whole_buffers_stay,
    "pipeline-scales-again": pipeline_scales_again,
    "order-of-columns": order_of_columns,
}
