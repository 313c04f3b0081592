"""Faults of sharded training: in the library, in its collectives, and in what a rank holds."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from faults import Active, _reference, flip_bit, wrap  # type: ignore[import-not-found, unused-ignore]

GATHER = "all_gather_single" if hasattr(dist, "all_gather_single") else "all_gather_into_tensor"
SCATTER = "reduce_scatter_single" if hasattr(dist, "reduce_scatter_single") else "reduce_scatter_tensor"


def after_call(name: str, act: Callable[..., None], active: Active, turn: int = 1, before: bool = False) -> None:
    """Act with (output, input) at the nth call of a collective of dist, after it or before it."""
    seen = {"count": 0}

    def around(original: Any, *args: Any, **keywords: Any) -> Any:
        if not active():
            return original(*args, **keywords)
        seen["count"] += 1
        due = seen["count"] == turn or turn == 0
        output = args[0] if args else keywords.get("output_tensor", keywords.get("output"))
        given = args[1] if len(args) > 1 else keywords.get("input_tensor", keywords.get("input"))
        if due and before:
            act(output, given)
        result = original(*args, **keywords)
        if due and not before:
            act(output, given)
        return result

    wrap(dist, name, around)


def after_step(act: Callable[[list[Any]], None], active: Active) -> None:
    """Act on the parameters' own parts after each optimizer step of the process group's own work."""

    def around(original: Any, optimizer: Any, *args: Any, **keywords: Any) -> Any:
        result = original(optimizer, *args, **keywords)
        if active():
            act([one for group in optimizer.param_groups for one in group["params"]])
        return result

    for kind in (torch.optim.SGD, torch.optim.AdamW):
        wrap(kind, "step", around)


def local(tensor: Any) -> Any:
    return tensor.detach().to_local() if hasattr(tensor, "to_local") else tensor.detach()


def stale_shard(active: Active) -> None:
    """One parameter's shard never moves."""

    def around(original: Any, optimizer: Any, *args: Any, **keywords: Any) -> Any:
        if not active():
            return original(optimizer, *args, **keywords)
        held = local(optimizer.param_groups[0]["params"][1])
        old = held.clone()
        result = original(optimizer, *args, **keywords)
        held.copy_(old)
        return result

    wrap(torch.optim.SGD, "step", around)


def shard_bit(active: Active) -> None:
    after_step(lambda many: flip_bit(local(many[1])), active)


def forgotten_shard(active: Active) -> None:
    after_step(lambda many: local(many[1]).zero_(), active)


def sends_old(active: Active) -> None:
    """What goes out of this rank in one gather is not what it holds."""

    def act(output: Any, given: Any) -> None:
        given.mul_(0.5)

    after_call(GATHER, act, active, turn=2, before=True)


def gets_wrong(active: Active) -> None:
    """One bit of what arrives from the first rank."""

    def act(output: Any, given: Any) -> None:
        if output.dtype == torch.float32:
            flip_bit(output[: given.numel()])
        else:
            output[0] += 1

    after_call(GATHER, act, active, turn=3)


def dies_in_gather(active: Active) -> None:
    after_call(GATHER, lambda output, given: os.kill(os.getpid(), signal.SIGKILL), active, turn=7, before=True)


def counts_twice(active: Active) -> None:
    """What this rank gives to the mean is twice too large."""
    after_call(SCATTER, lambda output, given: given.mul_(2), active, turn=0, before=True)


def counts_nothing(active: Active) -> None:
    after_call(SCATTER, lambda output, given: given.zero_(), active, turn=0, before=True)


def sum_for_mean(active: Active) -> None:
    """The mean is not divided."""
    after_call(SCATTER, lambda output, given: output.mul_(given.numel() // output.numel()), active, turn=0)


def not_reduced(active: Active) -> None:
    """This rank keeps its own gradient."""
    kept: dict[str, Any] = {}
    after_call(SCATTER, lambda output, given: kept.update(own=given.clone()), active, turn=0, before=True)

    def act(output: Any, given: Any) -> None:
        parts = kept["own"].view(given.numel() // output.numel(), -1)
        output.copy_(parts[dist.get_rank() % parts.shape[0]].view_as(output))

    after_call(SCATTER, act, active, turn=0)


def reduced_bit(active: Active) -> None:
    after_call(SCATTER, lambda output, given: flip_bit(output), active, turn=2)


def _inner() -> Any:
    from torch.distributed.fsdp._fully_shard import _fsdp_param

    return _fsdp_param


def keeps_whole(active: Active) -> None:
    """Gathered parameters are not given back after the forward."""
    from torch.distributed.fsdp._fully_shard import _fsdp_param_group as groups
    from torch.distributed.fsdp._fully_shard._fsdp_common import TrainingState

    def stays(original: Any, group: Any) -> Any:
        forward = active() and group._training_state == TrainingState.FORWARD
        return None if forward else original(group)

    wrap(groups.FSDPParamGroup, "reshard", stays)


def freed_early(active: Active) -> None:
    """The memory of gathered parameters is given back before the backward needs it."""

    def around(original: Any, *args: Any, **keywords: Any) -> Any:
        if active() and not _reference():
            kind = _inner().FSDPParam
            for one in gc.get_objects():
                if type(one) is kind:
                    for tensor in one.all_gather_outputs:
                        tensor.untyped_storage().resize_(0)
        return original(*args, **keywords)

    wrap(torch.Tensor, "backward", around)


def _split() -> Any:
    import torch.distributed.fsdp as found

    return found


def splits_nothing(active: Active) -> None:
    """fully_shard leaves the model as it is."""
    wrap(_split(), "fully_shard", lambda original, module, **more: module if active() else original(module, **more))


def splits_alone(active: Active) -> None:
    """fully_shard falls back to one rank."""
    made: dict[str, Any] = {}

    def around(original: Any, module: Any, **more: Any) -> Any:
        if active():
            from torch.distributed.device_mesh import DeviceMesh

            if not made:
                groups: list[Any] = [dist.new_group([rank]) for rank in range(dist.get_world_size())]
                made["mesh"] = DeviceMesh.from_group(groups[dist.get_rank()], "cpu")
            more["mesh"] = made["mesh"]
        return original(module, **more)

    wrap(_split(), "fully_shard", around)


def _policy(active: Active, **changes: Any) -> None:
    wrap(
        _split(),
        "MixedPrecisionPolicy",
        lambda original, **more: original(**({**more, **changes} if active() else more)),
    )


def precision_ignored(active: Active) -> None:
    _policy(active, param_dtype=None, reduce_dtype=None)


def sums_short(active: Active) -> None:
    _policy(active, reduce_dtype=torch.bfloat16)


def never_recomputes(active: Active) -> None:
    from torch.distributed.algorithms._checkpoint import checkpoint_wrapper as wrappers

    wrap(
        wrappers,
        "checkpoint_wrapper",
        lambda original, module, **more: module if active() else original(module, **more),
    )


def replicas_differ(active: Active) -> None:
    """This rank's replica takes no part in the mean over replicas: its input counts as nothing."""
    seen = {"count": 0}

    def around(original: Any, tensor: Any, *args: Any, **keywords: Any) -> Any:
        if active() and keywords.get("group") is not None:
            seen["count"] += 1
            own = tensor.clone()
            result = original(tensor, *args, **keywords)
            tensor.copy_(own)
            return result
        return original(tensor, *args, **keywords)

    wrap(dist, "all_reduce", around)


FAULTS: dict[str, Callable[[Active], None]] = {
    "stale-shard": stale_shard,
    "shard-bit": shard_bit,
    "forgotten-shard": forgotten_shard,
    "gather-sends-wrong": sends_old,
    "gather-gets-wrong": gets_wrong,
    "gather-dies": dies_in_gather,
    "scatter-twice": counts_twice,
    "scatter-nothing": counts_nothing,
    "scatter-sum": sum_for_mean,
    "scatter-own": not_reduced,
    "scatter-bit": reduced_bit,
    "fsdp2-keeps-whole": keeps_whole,
    "fsdp2-freed-early": freed_early,
    "fsdp2-splits-nothing": splits_nothing,
    "fsdp2-splits-alone": splits_alone,
    "fsdp2-precision-ignored": precision_ignored,
    "fsdp2-sums-short": sums_short,
    "never-recomputes": never_recomputes,
    "replicas-differ": replicas_differ,
}
