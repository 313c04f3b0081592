"""Some training steps of a plan's own shapes, on this rank: peak memory and seconds of a step.

Not a mode: nothing is compared with a reference, but that the loss is a number. The order (``options``) has the fields
of ``rocdoctor/train/smoke/plan/order.py``. What was measured goes into the facts:

``trial``: ``layers``, ``seconds`` (of each measured step), ``live_bytes`` and ``reserved_bytes`` (most of this rank; on
the CPU both are the growth of the process), ``outside_bytes`` (in use on the GPU beside torch's allocator, else None).
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
from typing import Any

from .context import Context
from .mode import Mode
from .plan_model import PlanModel
from .timing import elapsed, together, wait

NAME = "plan"
_M_MMAP_THRESHOLD = -3
_FEW = 16


def train(context: Context) -> None:
    """Build, warm up, measure, tell."""
    order = context.options
    if context.device.type == "cpu":
        _give_back_what_is_freed()
        context.mark("loading kernels")  # the process grows by their code: before the measurement, not in it
        small = PlanModel(context, {**order, "batch": 1, "seq": _FEW}, 1).divided()
        PlanSteps(context, small).run()
        del small
    gauge = Gauge(context)
    held = PlanModel(context, order, int(order["layers"])).divided()
    steps = PlanSteps(context, held)
    for number in range(int(order["warm"])):
        context.mark(f"step {number + 1}, to warm up")
        steps.run()
    together(context)
    seconds = [elapsed(context, steps.run, 1) for _ in range(int(order["steps"]))]
    wait(context)
    loss = steps.loss
    context.expect("local", "the loss is a number", bool(context.torch.isfinite(loss)), f"it is {float(loss)}")
    good = all(one > 0 for one in seconds)
    context.expect("local", "a step takes time", good, f"took {min(seconds, default=0.0)} s")
    rounded = [float(f"{one:.4g}") for one in seconds]
    context.facts["trial"] = {"layers": held.layers, "seconds": rounded, **gauge.most()}
    steps.end()
    del held, steps, loss
    _emptied(context)
    together(context)


class Gauge:
    """The most memory that this rank held from now on."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.before = 0
        _emptied(context)
        if context.device.type == "cuda":
            context.torch.cuda.reset_peak_memory_stats(context.device)
        else:
            with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as stream:
                stream.write("5")  # VmHWM begins again (linux Documentation/filesystems/proc.rst)
            self.before = _status("VmRSS")

    def most(self) -> dict[str, Any]:
        """Bytes; ``outside_bytes`` counts what other programs have on this GPU too."""
        if self.context.device.type != "cuda":
            grown = max(0, _status("VmHWM") - self.before)
            return {"live_bytes": grown, "reserved_bytes": grown, "outside_bytes": None}
        cuda, device = self.context.torch.cuda, self.context.device
        free, total = cuda.mem_get_info(device)
        return {
            "live_bytes": cuda.max_memory_allocated(device),
            "reserved_bytes": cuda.max_memory_reserved(device),
            "outside_bytes": max(0, total - free - cuda.memory_reserved(device)),
        }


def _status(name: str) -> int:
    """A size in /proc/self/status, in bytes; 0 where it is not told."""
    with contextlib.suppress(OSError, ValueError), open("/proc/self/status") as stream:
        for line in stream:
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
    return 0


def _give_back_what_is_freed() -> None:
    """Freed blocks go back to the system at once, so that the process's peak is what was alive at once.

    A threshold that is set no longer grows with the blocks that are freed (glibc, mallopt(3), M_MMAP_THRESHOLD).
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, 1 << 16)


def _emptied(context: Context) -> None:
    gc.collect()
    if context.device.type == "cuda":
        context.torch.cuda.empty_cache()
    else:  # what is free but still the process's would be used again, and would not count as growth
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)


class PlanSteps:
    """Steps of training with what they need: model, optimizer, tokens; ``loss`` is that of the last one."""

    def __init__(self, context: Context, held: PlanModel) -> None:
        self.context, self.held, self.order = context, held, held.order
        torch, order = context.torch, held.order
        self.loss: Any = None
        self.optimizer: Any = optimizer_of(context, held)
        short = order["mixed"] or order["params"] == "bf16"
        compute = torch.bfloat16 if short else torch.float32
        generator = torch.Generator().manual_seed(17 + context.rank // int(order["tp"]))
        words = torch.randint(order["vocab"], (order["batch"], order["seq"]), generator=generator)
        self.words = words.to(context.device)
        place = torch.arange(order["seq"], device=context.device, dtype=torch.float32)
        half = torch.arange(order["head_dim"], device=context.device, dtype=torch.float32)
        angles = torch.outer(place, 10000.0 ** (-half / order["head_dim"]))
        self.inputs = [angles.cos().to(compute), angles.sin().to(compute)]
        mask = torch.zeros(1, device=context.device, dtype=compute)
        if order["attention"] == "eager":
            size = (order["seq"], order["seq"])
            mask = torch.full(size, float("-inf"), device=context.device, dtype=compute).triu(1)
        self.inputs.append(mask)

    def run(self) -> None:
        """One step, all its micro-batches."""
        torch, order, module = self.context.torch, self.order, self.held.module
        count, loss = int(order["count"]), None
        for number in range(count):
            last = number == count - 1
            alone = not last and order["framework"] == "ddp" and self.context.world > 1
            with module.no_sync() if alone else contextlib.nullcontext():
                place = self.context.device.type
                with self.held.loss_place():
                    with torch.autocast(
                        place, dtype=torch.bfloat16, enabled=order["autocast"]
                    ):  # not the backward pass
                        loss, kept = module(self.words, *self.inputs)
                    self.context.mark("backward of the loss")
                    (loss / count).backward()
                del kept
        self.context.mark("optimizer step")
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.loss = None if loss is None else loss.detach()

    def end(self) -> None:
        """Let go of everything."""
        self.optimizer = self.loss = None
        self.inputs, self.words = [], None


def optimizer_of(context: Context, held: PlanModel) -> Any:
    """The plan's optimizer, in the form that its training code takes (one kernel, or tensors together)."""
    torch, order = context.torch, held.order
    kind = order["optimizer"]
    optim = torch.optim
    fused = bool(order["fused_step"]) and context.device.type == "cuda"
    together_too = {"fused": True} if fused else {"foreach": not order["fused_step"]}
    makers: dict[str, Any] = {
        "adam": (optim.AdamW, {"lr": 1e-5, **together_too}),
        "sgd": (optim.SGD, {"lr": 1e-5, "foreach": False}),
        "momentum": (optim.SGD, {"lr": 1e-5, "momentum": 0.9, "foreach": False}),
    }
    if kind == "adafactor":
        context.need(hasattr(optim, "Adafactor"), "needs torch 2.5: Adafactor")
        makers[kind] = (optim.Adafactor, {"lr": 1e-5, "foreach": False})
    context.need(kind in makers, f"the optimizer {kind} is not torch's own")
    make, options = makers[kind]
    trained = [one for one in held.module.parameters() if one.requires_grad]
    if order["zero"] == 1 and order["framework"] == "ddp" and context.world > 1:
        from torch.distributed.optim import ZeroRedundancyOptimizer

        return ZeroRedundancyOptimizer(trained, optimizer_class=make, **options)
    return make(trained, **options)


MODE = Mode(NAME, "training steps of a plan", train, slow=1.0)
