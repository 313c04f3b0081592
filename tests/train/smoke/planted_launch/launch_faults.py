"""Faults of launchers and of what runs in the ranks that they start."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any


def _argument(name: str, value: str) -> Callable[[], None]:
    """The launcher takes another value for one of its arguments."""

    def act() -> None:
        if name in sys.argv:
            sys.argv[sys.argv.index(name) + 1] = value

    return act


def _hang() -> None:
    time.sleep(3600)


def _gone() -> None:
    print("planted: No module named 'launcher'", file=sys.stderr, flush=True)
    os._exit(1)


def _bare() -> None:
    """The configuration that looks right and makes accelerate start one process."""
    path = sys.argv[sys.argv.index("--config_file") + 1]
    with open(path) as stream:
        text = stream.read()
    with open(path, "w") as stream:
        stream.write(text.replace("MULTI_GPU", "MULTI_CPU").replace("use_cpu: false", "use_cpu: true"))


LAUNCHER: dict[str, Callable[[], None]] = {
    "one-process": _argument("--nproc-per-node", "1"),
    "no-restart": _argument("--max-restarts", "0"),
    "launcher-hangs": _hang,
    "launcher-gone": _gone,
    "one-gpu": _argument("--num_gpus", "1"),
    "plain": _bare,
}


def _late(module: str, act: Callable[[Any], None]) -> Callable[[], None]:
    """Act on a module as soon as the program has imported it."""

    def plant() -> None:
        import importlib

        act(importlib.import_module(module))

    return plant


def _around(owner: Any, name: str, around: Callable[..., Any]) -> None:
    original = getattr(owner, name)
    setattr(owner, name, lambda *args, **keywords: around(original, *args, **keywords))


def _never_joins(dist: Any) -> None:
    _around(dist, "init_process_group", lambda original, *args, **keywords: time.sleep(3600))


def _killed(dist: Any) -> None:
    _around(dist, "init_process_group", lambda original, *args, **more: os.kill(os.getpid(), signal.SIGKILL))


def _old_checkpoint(torch: Any) -> None:
    """What is written after the first time is lost."""
    seen: list[int] = []

    def around(original: Any, state: Any, path: Any) -> Any:
        seen.append(1)
        if len(seen) == 1:
            original(state, "first.pt")
        import shutil

        return shutil.copy("first.pt", path)

    _around(torch, "save", around)


def _no_moments(torch: Any) -> None:
    """The optimizer's state is left out when it is loaded."""
    _around(torch.optim.Optimizer, "load_state_dict", lambda original, *args: None)


def _old_weights(torch: Any) -> None:
    """One weight is loaded with another value."""

    def around(original: Any, *args: Any, **keywords: Any) -> Any:
        found = original(*args, **keywords)
        found["model"]["head.weight"][0, 0] += 0.01
        return found

    _around(torch, "load", around)


def _apart(torch: Any) -> None:
    """DistributedDataParallel exchanges nothing."""
    import torch.nn.parallel as parallel

    def around(original: Any, model: Any, *args: Any, **keywords: Any) -> Any:
        model.require_backward_grad_sync = False
        return original(model, *args, **keywords)

    _around(parallel.DistributedDataParallel, "forward", around)


def _silent_sums(dist: Any) -> None:
    """Large tensors are not summed up: every rank keeps its own."""

    def reduced(original: Any, tensor: Any, *args: Any, **keywords: Any) -> Any:
        return original(tensor, *args, **keywords) if tensor.numel() < 64 else _Done()

    def scattered(original: Any, output: Any, source: Any, *args: Any, **keywords: Any) -> Any:
        output.copy_(source.flatten().chunk(dist.get_world_size())[dist.get_rank()].view_as(output))
        return _Done()

    for owner in (dist, dist.distributed_c10d):
        _around(owner, "all_reduce", reduced)
        for name in ("reduce_scatter_tensor", "reduce_scatter_single"):
            if hasattr(owner, name):
                _around(owner, name, scattered)


class _Done:
    def wait(self) -> None:
        """Nothing is under way."""

    def is_completed(self) -> bool:
        return True


def _bit(dist: Any) -> None:
    """One bit of a sum arrives flipped."""

    def around(original: Any, tensor: Any, *args: Any, **keywords: Any) -> Any:
        found = original(tensor, *args, **keywords)
        if tensor.numel() > 64:
            if found is not None:
                found.wait()
            import torch

            flat = tensor.detach().view(-1)
            at = int(flat.abs().argmax())
            flat[at : at + 1].view(torch.int32).bitwise_xor_(1 << 20)
        return found

    for owner in (dist, dist.distributed_c10d):
        _around(owner, "all_reduce", around)


def _parts_reversed(dist: Any) -> None:
    """What an exchange brings lies in the reverse order of ranks."""

    def around(original: Any, output: Any, *args: Any, **keywords: Any) -> Any:
        work = original(output, *args, **keywords)
        if work is not None:
            work.wait()
        output.copy_(output.flip(0).clone())
        return work

    for owner in (dist, dist.distributed_c10d):
        _around(owner, "all_to_all_single", around)


def _second_copy_off(partitions: Any) -> None:
    """Each second copy of ZeRO++ has one other value."""

    def around(original: Any, self: Any, param: Any, *args: Any, **keywords: Any) -> Any:
        original(self, param, *args, **keywords)
        if param.ds_secondary_tensor is not None:
            param.ds_secondary_tensor.view(-1)[0] += 0.01

    _around(partitions.Init, "_partition_param_sec", around)


RANK: dict[str, Callable[[], None]] = {
    "never-joins": _late("torch.distributed", _never_joins),
    "killed": _late("torch.distributed", _killed),
    "old-checkpoint": _late("torch", _old_checkpoint),
    "no-moments": _late("torch", _no_moments),
    "old-weights": _late("torch", _old_weights),
    "apart": _late("torch", _apart),
    "silent-sums": _late("torch.distributed", _silent_sums),
    "bit": _late("torch.distributed", _bit),
    "parts-reversed": _late("torch.distributed", _parts_reversed),
    "second-copy-off": _late("deepspeed.runtime.zero.partition_parameters", _second_copy_off),
}
