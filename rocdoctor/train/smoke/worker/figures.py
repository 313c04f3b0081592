"""How fast this rank's device is by itself: matrix products, memory, and what starting a small operation costs.

Not modes: nothing is compared, so nothing can be wrong. The parts are ordered like modes, each with a deadline of its
own; what they measured goes into the result's facts (``measured``), and the runner makes figures of it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from . import figures_links, figures_training
from .context import Context
from .mode import Mode
from .timing import has_bf16, largest, measure, note, on_host, together, wait

_LARGEST_SQUARE = 8192
_CALL_S = {"cpu": 0.03, "cuda": 0.02}
_KINDS = ("float32", "tf32", "float16", "bfloat16", "float8")


def product(context: Context, kind: str, size: int) -> Any:
    """A function that multiplies two square matrices of ``kind``; None where this device or release has no such type.

    Random numbers, not zeros: a GPU draws less power over zeros and clocks higher.
    """
    torch = context.torch
    dtype = getattr(torch, {"tf32": "float32", "float8": "bfloat16"}.get(kind, kind))
    one, two = (torch.randn(size, size, dtype=torch.float32, device=context.device).to(dtype) for _ in range(2))
    if kind == "float8":
        return _product_of_8_bits(torch, context, one, two)
    result = torch.empty(size, size, dtype=dtype, device=context.device)
    return lambda: torch.mm(one, two, out=result)


def _product_of_8_bits(torch: Any, context: Context, one: Any, two: Any) -> Any:
    if context.device.type != "cuda" or not hasattr(torch, "_scaled_mm"):
        return None
    # gfx942 has a type of its own; later GPUs have the common one.
    own = "gfx94" in getattr(torch.cuda.get_device_properties(context.device), "gcnArchName", "")
    kind = getattr(torch, "float8_e4m3fnuz" if own else "float8_e4m3fn", None)
    if kind is None:
        return None
    left, right = one.to(kind), two.t().contiguous().to(kind).t()
    unit = torch.ones((), device=context.device)
    # NVIDIA's published rate is that of the fast accumulation; on AMD there is no choice.
    more = {} if torch.version.hip else {"use_fast_accum": True}
    return lambda: torch._scaled_mm(left, right, scale_a=unit, scale_b=unit, out_dtype=torch.bfloat16, **more)


def square_for(context: Context, kind: str, call_s: float) -> int:
    """The largest size whose product takes at most ``call_s`` and fits into a quarter of the free memory."""
    size = 256
    limit = _LARGEST_SQUARE
    if context.device.type == "cuda":
        free, _ = context.torch.cuda.mem_get_info(context.device)
        while limit > size and 5 * 4 * limit * limit > free // 4:
            limit //= 2
    while size < limit:
        call = product(context, kind, size)
        if call is None:
            return size
        on_host(context, call, 1)
        if 8 * on_host(context, call, 2) / 2 > call_s:
            break
        size *= 2
    return size


def _has_tf32(torch: Any, device: Any) -> bool:
    """Matrix units for tf32 that torch would use: on AMD those of gfx94x alone, and when hipBLASLt is told so."""
    if device.type != "cuda":
        return False
    seen = torch.cuda.get_device_properties(device)
    if torch.version.hip:
        return "gfx94" in getattr(seen, "gcnArchName", "") and os.environ.get("HIPBLASLT_ALLOW_TF32") == "1"
    return bool(seen.major >= 8)


def matmul(context: Context) -> None:
    """Rate of square matrix products in each type, on all devices at once."""
    torch = context.torch
    skipped = []
    for kind in _KINDS:
        together(context)
        context.mark(f"matrix products in {kind}")
        tf32 = kind == "tf32"
        if tf32 and not _has_tf32(torch, context.device):
            continue
        try:
            if tf32:
                torch.backends.cuda.matmul.allow_tf32 = True
            size = square_for(context, kind, _CALL_S[context.device.type])
            call = product(context, kind, size)
            if call is None:
                continue
            seconds = measure(context, call)
            note(context, f"matmul_{kind}", seconds, work=2.0 * size**3, size=size)
        except (RuntimeError, NotImplementedError, TypeError, ValueError) as error:
            if not _refused(error):
                raise
            skipped.append(f"{kind}: {type(error).__name__}: {error}"[:160])
        finally:
            if tf32:
                torch.backends.cuda.matmul.allow_tf32 = False
    if skipped:
        context.facts["skipped"] = skipped


def _refused(error: Exception) -> bool:
    """Whether the words are those of a type that this device or release does not have."""
    low = str(error).lower()
    return not isinstance(error, RuntimeError) or any(
        part in low for part in ("not implemented", "not supported", "only supported", "unsupported")
    )


def memory(context: Context) -> None:
    """Device memory: a copy (one read, one write) and the triad a = b + 3 c (two reads, one write)."""
    torch = context.torch
    size = 64 << 20
    if context.device.type == "cuda":
        # Far larger than any cache: the largest last-level cache of a GPU so far has 256 MiB.
        free, _ = torch.cuda.mem_get_info(context.device)
        size = max(16 << 20, min(1 << 30, free // 8))
    numbers = size // 4
    one, two, three = (torch.ones(numbers, dtype=torch.float32, device=context.device) for _ in range(3))
    together(context)
    context.mark("memory, copy")
    note(context, "memory_copy", measure(context, lambda: one.copy_(two)), work=2.0 * numbers * 4, bytes=numbers * 4)
    together(context)
    context.mark("memory, triad")
    triad = measure(context, lambda: torch.add(two, three, alpha=3.0, out=one))
    note(context, "memory_triad", triad, work=3.0 * numbers * 4, bytes=numbers * 4)


def launch(context: Context) -> None:
    """What a small operation costs: the host's time to start it, and on a GPU the time until its result is there."""
    torch = context.torch
    small = torch.zeros(16, device=context.device)
    together(context)
    context.mark("small operations")
    call: Callable[[], Any] = lambda: small.add_(1.0)  # noqa: E731
    on_host(context, call, 200)
    starts = []
    for _ in range(9):
        wait(context)
        began = time.perf_counter()
        for _ in range(200):  # far fewer than a queue holds, so the host never waits for the device
            call()
        starts.append((time.perf_counter() - began) / 200)
    note(context, "op_start", starts)
    if context.device.type == "cuda":
        note(context, "op_round_trip", [on_host(context, call, 1) for _ in range(51)])


def soak(context: Context) -> None:
    """Matrix products without a pause for ``options["seconds"]``; one of many such orders."""
    torch = context.torch
    if context.device.type == "cpu":
        torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // context.world))
    kind = "float32"
    if context.device.type == "cuda":
        kind = "bfloat16" if has_bf16(context) else "float16"
    size = context.cached("soak size", lambda: int(largest(context, square_for(context, kind, 0.05))))
    call: Any = context.cached("soak product", lambda: product(context, kind, size))
    seconds = float(context.options.get("seconds", 1.0))
    try:
        context.mark("sustained matrix products")
        on_host(context, call, 1)
        began = time.perf_counter()
        count, ahead = 0, 0.05
        per_call = max(on_host(context, call, 1), 1e-6)
        batch = max(1, int(ahead / per_call))
        before: Any = None
        while time.perf_counter() - began < seconds:
            for _ in range(batch):
                call()
            count += batch
            if context.device.type == "cuda":
                # Always one batch in the queue: the device never waits for the host.
                here = torch.cuda.Event()
                here.record()
                if before is not None:
                    before.synchronize()
                before = here
        wait(context)
        note(context, "soak", [time.perf_counter() - began], work=2.0 * size**3 * (count + 1), dtype=kind)
    finally:
        if context.device.type == "cpu":
            torch.set_num_threads(1)


def _part(name: str, title: str, function: Any, **more: Any) -> Mode:
    """A part, in which a rank may have nothing to measure."""

    def run(context: Context) -> None:
        function(context)
        context.expect("local", name, True, "")

    return Mode(name, title, run, **more)


PARTS = (
    _part("figures-matmul", "matrix products in each type", matmul),
    _part("figures-memory", "memory bandwidth", memory),
    _part("figures-launch", "cost of a small operation", launch),
    _part("figures-host", "copies between host and device", figures_links.host_copies),
    _part("figures-pairs", "copies between two devices", figures_links.pairs, min_world=2),
    _part("figures-all-reduce", "all-reduce", figures_links.all_reduce, min_world=2),
    _part("figures-training", "training of a small transformer", figures_training.alone),
    _part("figures-scaling", "training on 1 to all ranks", figures_training.scaling, min_world=2),
    _part("figures-compiled", "training, compiled", figures_training.compiled),
)
SOAK = _part("figures-soak", "sustained matrix products", soak)
ALL = (*PARTS, SOAK)
