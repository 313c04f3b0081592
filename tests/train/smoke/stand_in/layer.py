"""A device layer that stands in for GPUs: what ``torch.cuda`` tells comes from a file, and the CPU computes.

The file (JSON): ``hip`` or ``cuda`` (version), ``gpus`` (each ``name``, ``memory_bytes``, and as known ``gfx``,
``pci``, ``uuid``, ``busy_bytes``, ``integrated``, ``slower`` (so many times), ``refused``: words with which it
cannot be opened, by those ranks in ``refused_by``), ``opened`` (something opened a GPU at start), ``fault`` (names of
FAULTS, or one of those in ``graphs.py`` and ``shared.py``), ``fault_gpu``, and ``wrong_pairs`` (pairs of GPUs, copies
between which change a value).

Tensors "on" a GPU are on the CPU: a mode of torch's function dispatch takes the device out of each call and counts what
is allocated. The back end nccl is gloo. Not imitated: asynchronous streams, device-side asserts, other processes.
"""

from __future__ import annotations

import json
import os
import time
import types
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import graphs  # type: ignore[import-not-found, unused-ignore]
import shared  # type: ignore[import-not-found, unused-ignore]
import torch
import torch.distributed as dist
from torch.overrides import TorchFunctionMode


class Layer:
    """The GPUs of this process."""

    def __init__(self, told: Mapping[str, Any], path: str) -> None:
        self.told, self.path = told, path
        self.current, self.opened = 0, bool(told.get("opened"))
        self.contexts: set[int] = set()
        self.used: dict[int, int] = {}
        self.held: dict[int, int] = {}

    def gpus(self) -> list[dict[str, Any]]:
        """Those that the variables of this process leave, in their order (ROCR first, then HIP or CUDA)."""
        many = [dict(one, number=number) for number, one in enumerate(self.told["gpus"])]
        if self.told.get("hip"):
            many = _masked(many, os.environ.get("ROCR_VISIBLE_DEVICES"))
            return _masked(many, os.environ.get("HIP_VISIBLE_DEVICES") or os.environ.get("CUDA_VISIBLE_DEVICES"))
        return _masked(many, os.environ.get("CUDA_VISIBLE_DEVICES"))

    def open(self, number: int) -> dict[str, Any]:
        """Make a context on a GPU, as each use of it does."""
        gpus = self.gpus()
        if not 0 <= number < len(gpus):
            raise RuntimeError("CUDA error: invalid device ordinal")
        one = gpus[number]
        rank = os.environ.get("RANK")
        if one.get("refused") and (one.get("refused_by") is None or rank in one["refused_by"]):
            raise RuntimeError(one["refused"])
        if number not in self.contexts:
            self.contexts.add(number)
            with open(self.path + ".contexts", "a") as stream:
                stream.write(f"{rank} {one['number']} {os.environ.get('ROCDOCTOR_SMOKE_MODE')} {os.getpid()}\n")
        self.opened = True
        return one

    def free(self, number: int) -> int:
        """Bytes that nobody has."""
        one = self.open(number)
        return int(one["memory_bytes"]) - int(one.get("busy_bytes", 0)) - self.used.get(number, 0)

    def take(self, tensor: Any, number: int) -> None:
        """Count a tensor's memory until it is gone."""
        size = tensor.numel() * tensor.element_size()
        if size > (free := self.free(number)):
            words = f"CUDA out of memory. Tried to allocate {size >> 10} KiB. GPU {number} has {free >> 10} KiB free."
            raise torch.OutOfMemoryError(words)
        self.used[number] = self.used.get(number, 0) + size
        self.held[tensor.data_ptr()] = number
        weakref.finalize(tensor.untyped_storage(), self._give_back, number, size, tensor.data_ptr())

    def _give_back(self, number: int, size: int, place: int) -> None:
        self.used[number] -= size
        self.held.pop(place, None)


def _masked(many: list[dict[str, Any]], value: str | None) -> list[dict[str, Any]]:
    if value is None:
        return many
    found: list[dict[str, Any]] = []
    for word in filter(None, (part.strip() for part in value.split(","))):
        if word.isdigit():
            if int(word) >= len(many):
                break
            found.append(many[int(word)])
        else:
            some = [one for one in many if str(one.get("uuid", "")).startswith(word)]
            if len(some) != 1:
                break
            found += some
    return found


class OnCpu(TorchFunctionMode):
    """Takes GPUs out of the arguments of all of torch's functions."""

    def __init__(self, layer: Layer) -> None:
        super().__init__()
        self.layer = layer

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch.Tensor.pin_memory:
            return args[0].clone()
        if func is torch.mm and args[0].shape[0] >= _LARGE:
            Moment.ahead_s += _PRODUCT_S * self.layer.gpus()[self.layer.current].get("slower", 1.0)
            return args[0]
        if func is torch.device or getattr(func, "__name__", "") == "_parse_to":
            return func(*args, **kwargs)
        number = None
        for where in [*range(len(args)), *kwargs]:
            value = args[where] if isinstance(where, int) else kwargs[where]
            found = self._number(value)
            if found is not None:
                number = found
                if isinstance(where, int):
                    args = (*args[:where], torch.device("cpu"), *args[where + 1 :])
                else:
                    kwargs[where] = torch.device("cpu")
        if number is None:
            return self._wrong(func, args, func(*args, **kwargs))
        self.layer.open(number)
        size = _size_of(func, args)
        if size > (free := self.layer.free(number)):
            words = f"CUDA out of memory. Tried to allocate {size >> 20} MiB. GPU {number} has {free >> 20} MiB free."
            raise torch.OutOfMemoryError(words)
        source = self.layer.held.get(args[0].data_ptr()) if args and isinstance(args[0], torch.Tensor) else None
        made = func(*args, **kwargs)
        if isinstance(made, torch.Tensor) and self.layer.held.get(made.data_ptr()) != number:
            made = made.clone() if args and made is args[0] else made
            self.layer.take(made, number)
            self._copied(self.layer.current if source is None else source, number, made)
        return made

    def _copied(self, source: int, number: int, made: Any) -> None:
        if sorted((source, number)) in [sorted(pair) for pair in self.layer.told.get("wrong_pairs", ())]:
            made.view(-1)[5] += 1  # there and back

    def _number(self, value: Any) -> int | None:
        if isinstance(value, str) and value.partition(":")[0] == "cuda":
            value = torch.device(value)
        if isinstance(value, torch.device) and value.type == "cuda":
            return self.layer.current if value.index is None else value.index
        return None

    def _wrong(self, func: Any, args: Any, made: Any) -> Any:
        if self.layer.current == self.layer.told.get("fault_gpu", 0) and self.layer.opened:
            for name in str(self.layer.told.get("fault", "")).split():
                made = FAULTS[name](self.layer, func, args, made) if name in FAULTS else made
        return made


def _size_of(func: Any, args: Any) -> int:
    """Bytes that a factory is asked for, before the CPU has to find them."""
    if func is torch.empty and args and isinstance(args[0], int):
        return args[0] * 4
    return 0


def _tf32_wrong(layer: Layer, func: Any, args: Any, made: Any) -> Any:
    """Products are wrong once TF32 is allowed, and only then."""
    if func in (torch.Tensor.matmul, torch.Tensor.__matmul__) and torch.backends.cuda.matmul.allow_tf32:
        made.view(-1)[0] += 1
    return made


def _compiles(layer: Layer, func: Any, args: Any, made: Any) -> Any:
    """The first product on the GPU never comes, since its kernel is searched for; files come into the cache."""
    if func in (torch.Tensor.matmul, torch.Tensor.__matmul__) and made.dtype == torch.bfloat16:
        while True:
            with open(os.path.join(os.environ["MIOPEN_CUSTOM_CACHE_DIR"], "kernel.kdb"), "a") as stream:
                stream.write("x")
            time.sleep(0.05)
    return made


def _bit(layer: Layer, func: Any, args: Any, made: Any) -> Any:
    """A copy to this GPU changes a value."""
    if func is torch.Tensor.fill_ and made.dtype == torch.int32 and made.numel() > 1 << 20:
        made[777] ^= 4
    return made


FAULTS: dict[str, Callable[..., Any]] = {"tf32-wrong": _tf32_wrong, "compiles": _compiles, "memory-bit": _bit}


# A product that takes a GPU this long would take a CPU minutes.
_LARGE, _PRODUCT_S = 8192, 0.1


class Moment:
    """An event: the time on the host, and what GPUs would have taken for large products beside."""

    ahead_s = 0.0

    def __init__(self, *_: Any, **__: Any) -> None:
        self.at_s = 0.0

    def record(self, *_: Any) -> None:
        self.at_s = time.perf_counter() + Moment.ahead_s

    def elapsed_time(self, other: Moment) -> float:
        return (other.at_s - self.at_s) * 1e3

    def synchronize(self) -> None:
        """Nothing is under way."""

    def wait(self, *_: Any) -> None:
        """Nothing is under way."""

    def query(self) -> bool:
        return True


def put(path: str) -> None:
    """Put the layer in place of ``torch.cuda`` of this process and its forks."""
    with open(path) as stream:
        layer = Layer(json.load(stream), path)
    told = layer.told
    torch.version.hip, torch.version.cuda = told.get("hip"), told.get("cuda")  # type: ignore[assignment, misc, unused-ignore]
    cuda: Any = torch.cuda

    def number_of(device: Any) -> int:
        if device is None:
            return layer.current
        return int(getattr(device, "index", device) or 0)

    def properties(device: Any = None) -> Any:
        one = layer.gpus()[number_of(device)]
        place = str(one.get("pci") or "0000:00:00.0").replace(".", ":").split(":")
        more = {"gcnArchName": one["gfx"] + ":sramecc+:xnack-"} if one.get("gfx") else {}
        return types.SimpleNamespace(
            name=one["name"],
            major=int(str(one.get("capability", "9.4")).split(".")[0]),
            minor=int(str(one.get("capability", "9.4")).split(".")[1]),
            total_memory=one["memory_bytes"],
            multi_processor_count=one.get("units", 304),
            is_integrated=int(one.get("integrated", False)),
            pci_domain_id=int(place[0], 16),
            pci_bus_id=int(place[1], 16),
            pci_device_id=int(place[2], 16),
            **more,
        )

    def set_device(device: Any) -> None:
        layer.open(number_of(device))
        layer.current = number_of(device)

    changes = {
        "is_available": lambda: bool(layer.gpus()),
        "device_count": lambda: len(layer.gpus()),
        "is_initialized": lambda: layer.opened,
        "current_device": lambda: layer.current,
        "set_device": set_device,
        "get_device_properties": properties,
        "mem_get_info": lambda device=None: (
            layer.free(number_of(device)),
            layer.gpus()[number_of(device)]["memory_bytes"],
        ),
        "synchronize": lambda device=None: None,
        "empty_cache": lambda: None,
        "can_device_access_peer": lambda one, two: bool(told.get("peer_access", True)),
        "Event": Moment,
    }
    for name, value in changes.items():
        setattr(cuda, name, value)
    fault = str(told.get("fault", ""))

    def mine() -> bool:
        return bool(layer.current == told.get("fault_gpu", 0))

    graphs.put(cuda, fault, mine)
    _take_nccl(layer)
    shared.put(path, fault, mine)


def _take_nccl(layer: Layer) -> None:
    dist.is_nccl_available = lambda: True
    form, plain = dist.init_process_group, torch.nn.parallel.DistributedDataParallel.__init__

    def formed(backend: Any = None, *args: Any, **keywords: Any) -> None:
        with open(layer.path + ".backends", "a") as stream:
            stream.write(f"{backend} {keywords.get('timeout')}\n")
        mode: Any = OnCpu(layer)
        mode.__enter__()
        form("gloo", *args, **keywords)

    def parallel(self: Any, module: Any, *args: Any, device_ids: Any = None, **keywords: Any) -> None:
        plain(self, module, *args, **keywords)

    dist.init_process_group = formed  # type: ignore[assignment, unused-ignore]
    torch.nn.parallel.DistributedDataParallel.__init__ = parallel  # type: ignore[method-assign, unused-ignore]
