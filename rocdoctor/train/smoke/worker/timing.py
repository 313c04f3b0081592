"""How long something takes on this rank: warmed up, enough of it, and nothing left running outside of the clock.

On a GPU two events on the stream enclose the work, so what the host does meanwhile does not count. On the CPU it is the
monotonic clock without the time for which this thread waited for a processor: other programs use a CPU too. A
measurement is a list of repetitions, in seconds of one call: the reader takes the median.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

from .context import Context

REPEATS = 5
# A repetition is made at least this long, so that starting and stopping the clock does not count.
_PIECE_S = 0.02
# Clocks of a GPU rise within some tens of milliseconds of load.
_WARM_UP_S = {"cpu": 0.0, "cuda": 0.1}
_MAX_CALLS = 2000
_LONGEST_S = 1.0


def has_bf16(context: Context) -> bool:
    """Whether this rank's device computes in bf16 by itself; torch also counts GPUs that only emulate it."""
    if context.device.type == "cpu":
        return True
    asked = context.torch.cuda.is_bf16_supported
    try:
        return bool(asked(including_emulation=False))
    except TypeError:  # torch up to 2.4
        return bool(asked())


def wait(context: Context) -> None:
    """Until everything that was started on this rank's device is done."""
    if context.device.type == "cuda":
        context.torch.cuda.synchronize()


def together(context: Context) -> None:
    """Until every rank is here with nothing left to do. Goes over the host, so that no kernel spins on a GPU."""
    wait(context)
    if context.world > 1:
        context.torch.distributed.all_reduce(context.torch.zeros(1))


def largest(context: Context, value: float) -> float:
    """The largest of all ranks' values: what ranks have to do equally often is counted from it."""
    if context.world == 1:
        return value
    torch = context.torch
    box = torch.tensor([value], dtype=torch.float64)
    torch.distributed.all_reduce(box, op=torch.distributed.ReduceOp.MAX)
    return float(box)


def elapsed(context: Context, call: Callable[[], Any], count: int, device: Any = None) -> float:
    """Seconds of ``count`` calls one after another. ``device``: the GPU whose stream does the work, if another."""
    if context.device.type != "cuda":
        # Between these clocks it may wait too, which must never count twice: the outer one is the clock.
        began, waited = time.perf_counter(), _waited_s()
        for _ in range(count):
            call()
        waited = _waited_s() - waited
        return time.perf_counter() - began - waited
    cuda = context.torch.cuda
    with cuda.device(device if device is not None else context.device):
        start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
        start.record()
        for _ in range(count):
            call()
        end.record()
        end.synchronize()
    return float(start.elapsed_time(end)) / 1e3


def _waited_s() -> float:
    """For how long this thread has waited for a processor until now (linux sched-stats); 0 where that is not told."""
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/thread-self/schedstat", "rb") as stream:
        return int(stream.read().split()[1]) / 1e9
    return 0.0


def on_host(context: Context, call: Callable[[], Any], count: int) -> float:
    """Seconds of ``count`` calls by the host's clock, including the wait for the device at the end."""
    wait(context)
    began = time.perf_counter()
    for _ in range(count):
        call()
    wait(context)
    return time.perf_counter() - began


def measure(
    context: Context,
    call: Callable[[], Any],
    *,
    repeats: int = REPEATS,
    shared: bool = False,
    device: Any = None,
    clock: Callable[..., float] = elapsed,
    piece_s: float = _PIECE_S,
    warm_up: bool = True,
) -> list[float]:
    """Seconds of one call, an entry a repetition.

    The first calls load kernels and choose algorithms, so they do not count. ``shared``: all ranks call together, so
    they agree on how often. ``warm_up`` False: no clock has to rise first (copy engines).
    """
    arguments = () if device is None else (device,)

    def once() -> float:
        seconds = max(clock(context, call, 1, *arguments), 1e-7)
        return largest(context, seconds) if shared else seconds

    call()
    wait(context)
    first = once()
    rising_s = _WARM_UP_S[context.device.type] if warm_up else 0.0
    if rising_s:
        clock(context, call, _calls(rising_s / first), *arguments)
    usual = once()
    count = _calls(piece_s / usual)
    # Types that a device only emulates may take seconds a call: fewer repetitions then, and the same on all ranks.
    repeats = max(1, min(repeats, int(_LONGEST_S / usual)))
    return [clock(context, call, count, *arguments) / count for _ in range(repeats)]


def _calls(wanted: float) -> int:
    return max(1, min(_MAX_CALLS, int(wanted) + 1))


def note(context: Context, name: str, seconds: list[float], **more: Any) -> None:
    """Put a measurement into the result: times of repetitions as they are; ``work`` is what one call did.

    A time that is no time (0 or less: a clock that stands still) is a fault of this rank.
    """
    context.expect("local", name, all(one > 0 for one in seconds), f"took {min(seconds, default=0.0)} s")
    rounded = [float(f"{one:.4g}") for one in seconds]
    context.facts.setdefault("measured", []).append({"name": name, "seconds": rounded, **more})
