"""One device by itself: arithmetic against plain formulas in double precision, memory patterns, copies.

Nothing here communicates, so a difference is the device's own (or its driver's, or its kernel library's).
"""

from __future__ import annotations

import itertools
import os
from typing import Any

from .. import device_choice, plain
from ..context import Context
from ..mode import Mode
from ..moving import check_moves
from ..operations import known_answers, operations, rarer, rarer_convolutions
from ..tolerance import EXACT, Proof, Tolerance

ORDER = 10
# Seen with torch 2.13.0 on the CPU.
_ROUNDED = "inputs are exact in the type; the result and partial sums are rounded: "
_LIMITS = {
    "float64": Tolerance(1e-12, "results in float64", _ROUNDED + "6e-16 was seen on a CPU"),
    "float32": Tolerance(2e-5, "results in float32", _ROUNDED + "6e-7 was seen on a CPU"),
    "float16": Tolerance(5e-3, "results in float16", _ROUNDED + "half the last place is 2^-11, and 1e-3 was seen"),
    "bfloat16": Tolerance(1.6e-2, "results in bfloat16", _ROUNDED + "half the last place is 2^-8; 3.7e-3 was seen"),
    "float8": Tolerance(
        1.6e-2, "products of 8-bit matrices (GPUs)", _ROUNDED + "the result is bfloat16; not measured so far"
    ),
}
_LIMITS["tf32"] = Tolerance(
    5e-3,
    "products in fp32 with TF32 allowed (GPUs)",
    _ROUNDED + "TF32 keeps as many bits as float16; not measured so far",
)
_TWICE = "a gradient is one more product of rounded values: "
_OF_GRADIENTS = {
    kind: _LIMITS[kind].times(2, f"gradients in {kind}", _TWICE + f"{seen} was seen on a CPU")
    for kind, seen in (("float64", "2e-15"), ("float32", "1e-6"), ("float16", "1.1e-3"), ("bfloat16", "9.4e-3"))
}
_SHORT = Tolerance(
    2e-6,
    "known answers, and softmax with two threads",
    "a few operations in fp32, each rounded by 6e-8, exponential and logarithm by a few times that; 1.1e-7 was seen",
)
_PATTERNS = (0, -1, 0x55555555, -0x55555556)
_PIECE_BYTES = 256 << 20
_MORE_IN = {"float32": (rarer, rarer_convolutions), "bfloat16": (rarer,)}
# A product of this size is 1.1e12 operations: a millisecond at 1.1e15 a second, where a launch takes microseconds.
_PACE_SIZE, _PACE_CALLS, _PACE_TIMES = 8192, 4, 5


def compute(context: Context) -> None:
    """Forward and backward of the operations that training is made of, in each floating-point type, against plain
    formulas in double precision; answers that are known; whole numbers, exactly."""
    torch = context.torch
    context.comparison.of_kernels = True
    skipped: list[str] = []
    for kind in ("float32", "bfloat16", "float16", "float64"):
        dtype = getattr(torch, kind)
        chosen = itertools.chain(operations(torch), *(more(torch) for more in _MORE_IN.get(kind, ())))
        for turn, (name, shapes, function, plainly) in enumerate(chosen):
            context.mark(f"{name} in {kind}")
            generator = torch.Generator().manual_seed(17 + turn)
            exact = [torch.randn(shape, generator=generator).to(dtype).double().requires_grad_() for shape in shapes]
            moved = [one.detach().to(context.device, dtype).requires_grad_() for one in exact]
            try:
                got = function(*moved)
                got.float().sum().backward()
            except (RuntimeError, NotImplementedError) as error:
                if "not implemented" not in str(error).lower() and "not supported" not in str(error).lower():
                    raise
                skipped.append(f"{name} in {kind}")
                continue
            wanted = plainly(*exact)
            grads = torch.autograd.grad(wanted.sum(), exact)
            limit = _LIMITS[kind]
            context.check("local", f"{name} in {kind}", got, wanted, tolerance=limit, step=context.marks)
            for number, (one, right) in enumerate(zip(moved, grads)):
                # The largest gradient of a normalised output may be nothing but rounding: the scale is the inputs' too.
                scale = max(float(right.abs().max()), 1.0)
                context.check(
                    "local",
                    f"{name} in {kind}, gradient {number}",
                    one.grad,
                    right,
                    tolerance=_OF_GRADIENTS[kind],
                    scale=scale,
                    step=context.marks,
                )
    _known(context)
    _exact_products(context)
    if context.device.type == "cpu":
        _two_threads(context)
    else:
        _tf32(context)
        _pace(context)
    _fp8(context, skipped)
    _whole_numbers(context)
    check_moves(context)
    if skipped:
        context.facts["not_implemented"] = skipped[:20]


def _known(context: Context) -> None:
    """Answers that were worked out by hand."""
    torch = context.torch
    for name, function, inputs, wanted in known_answers(torch):
        context.mark(f"{name}, known answer")
        got = function(*(torch.tensor(one, device=context.device) for one in inputs))
        context.check("local", f"{name}, known answer", got, wanted, tolerance=_SHORT, step=context.marks)


def _exact_products(context: Context) -> None:
    """Products of small whole numbers, exact in every type: as a whole, as a sum of two halves, with rows moved."""
    torch = context.torch
    generator = torch.Generator().manual_seed(29)
    one, two = (torch.randint(-2, 3, shape, generator=generator).double() for shape in ((129, 512), (512, 65)))
    order = torch.arange(129) * 50 % 129
    for kind in ("float32", "bfloat16", "float16"):
        dtype = getattr(torch, kind)
        wanted = (one @ two).to(dtype)
        left, right, moved = one.to(context.device, dtype), two.to(context.device, dtype), order.to(context.device)
        context.mark(f"products of whole numbers in {kind}")
        try:
            whole, rows = left @ right, left[moved] @ right
            halves = left[:, :255].float() @ right[:255].float() + left[:, 255:].float() @ right[255:].float()
        except RuntimeError as error:
            if "not implemented" not in str(error).lower():
                raise
            continue
        for name, got, answer in (
            ("", whole, wanted),
            (", rows in another order", rows, wanted[order]),
            (", sum of two halves", halves, one @ two),
        ):
            words = f"product of whole numbers in {kind}{name}"
            context.check("local", words, got, answer, tolerance=0.0, step=context.marks)


def _two_threads(context: Context) -> None:
    """The same with two threads, which share the work from some size on: jobs have them, the ranks here have one."""
    torch = context.torch
    one, two = ((torch.arange(size * size) * 7 % 5 - 2).double().reshape(size, size) for size in (256, 256))
    wanted, row = one @ two, torch.arange(1 << 16)
    torch.set_num_threads(2)
    try:
        context.mark("arithmetic with two threads")
        got = one.float() @ two.float()
        total = (row % 7).float().sum()
        scaled = torch.softmax((row % 11).float().reshape(256, 256), -1)
    finally:
        torch.set_num_threads(1)
    exact = plain.softmax((row % 11).double().reshape(256, 256))
    for name, found, right in (
        ("product of whole numbers", got, wanted),
        ("sum of whole numbers", total, int((row % 7).sum())),
    ):
        context.check("local", f"{name} with two threads", found, right, tolerance=0.0, step=context.marks)
    context.check("local", "softmax with two threads", scaled, exact, tolerance=_SHORT, step=context.marks)


def _tf32(context: Context) -> None:
    """Products in fp32 as many jobs allow them on GPUs: inputs rounded to 10 bits of mantissa, sums in fp32."""
    torch = context.torch
    generator = torch.Generator().manual_seed(31)
    whole = [torch.randint(-2, 3, shape, generator=generator).double() for shape in ((129, 512), (512, 65))]
    any_two = [torch.randn(shape, generator=generator) for shape in ((257, 384), (384, 129))]
    context.mark("products in fp32, TF32 allowed")
    before = torch.backends.cuda.matmul.allow_tf32
    device_choice.allow_tf32(torch, True)
    try:
        exact, rounded = (
            one.float().to(context.device) @ two.float().to(context.device) for one, two in (whole, any_two)
        )
    finally:
        device_choice.allow_tf32(torch, before)
    name = "product of whole numbers, TF32 allowed"
    context.check("local", name, exact, whole[0] @ whole[1], tolerance=0.0, step=context.marks)
    wanted = any_two[0].double() @ any_two[1].double()
    context.check("local", "product, TF32 allowed", rounded, wanted, tolerance=_LIMITS["tf32"], step=context.marks)


def _pace(context: Context) -> None:
    """How long one product takes on this GPU, for a comparison with equal ones; kernels are there by now.

    What the host does must not count: a product takes far longer than its launch, and one is under way before the clock
    begins. The shortest of several counts: a busy host, or clocks that still rise, only make some of them longer.
    """
    torch, times = context.torch, []
    if int(os.environ.get("LOCAL_WORLD_SIZE", context.world)) > torch.cuda.device_count():
        return  # ranks that share a GPU wait for each other
    context.mark("pace")
    try:
        square = torch.ones(_PACE_SIZE, _PACE_SIZE, dtype=torch.bfloat16, device=context.device)
        for _ in range(_PACE_TIMES):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.mm(square, square)
            begin.record()
            for _ in range(_PACE_CALLS):
                torch.mm(square, square)
            end.record()
            torch.cuda.synchronize()
            times.append(begin.elapsed_time(end) / _PACE_CALLS)
    except RuntimeError as error:
        if "out of memory" not in str(error).lower():
            raise
        return
    context.facts["pace_ms"] = min(times)
    context.facts["gpu"] = str(torch.cuda.get_device_properties(context.device.index).name)


def _fp8(context: Context, skipped: list[str]) -> None:
    """A product of two 8-bit matrices, in the type that this GPU has (gfx942 has its own)."""
    torch = context.torch
    if context.device.type != "cuda" or not hasattr(torch, "_scaled_mm"):
        return
    own = "gfx94" in getattr(torch.cuda.get_device_properties(context.device), "gcnArchName", "")
    kind = getattr(torch, "float8_e4m3fnuz" if own else "float8_e4m3fn", None)
    if kind is None:
        return
    context.mark("matrix product in 8 bits")
    generator = torch.Generator().manual_seed(19)
    one, two = (torch.randn(shape, generator=generator).to(kind) for shape in ((64, 128), (48, 128)))
    unit = torch.ones((), device=context.device)
    try:
        got = torch._scaled_mm(
            one.to(context.device), two.to(context.device).t(), scale_a=unit, scale_b=unit, out_dtype=torch.bfloat16
        )
    except Exception as error:  # a private function: many GPUs and releases refuse
        skipped.append(f"matrix product in 8 bits ({type(error).__name__})")
        return
    got = got[0] if isinstance(got, tuple) else got
    wanted = one.double() @ two.double().T
    context.check("local", "matrix product in 8 bits", got, wanted, tolerance=_LIMITS["float8"], step=context.marks)


def _whole_numbers(context: Context) -> None:
    """Sorting, scatter-add and prefix sums of whole numbers: exact."""
    torch = context.torch
    numbers = torch.randint(-1000, 1000, (5003,), generator=torch.Generator().manual_seed(23))
    moved = numbers.to(context.device)
    places = numbers % 97
    context.mark("whole numbers")
    # Expected values are Python's own: on the CPU torch would be compared with itself.
    plain, bins = numbers.tolist(), [0] * 97
    for number in plain:
        bins[number % 97] += number
    for name, got, wanted in (
        ("sort", moved.sort().values, sorted(plain)),
        ("prefix sum", moved.cumsum(0), list(itertools.accumulate(plain))),
        (
            "scatter-add",
            torch.zeros(97, dtype=torch.int64, device=context.device).index_add(0, places.to(context.device), moved),
            bins,
        ),
        ("bit pattern", moved ^ (moved << 7), [one ^ (one << 7) for one in plain]),
    ):
        context.check("local", f"{name} of whole numbers", got, wanted, tolerance=0.0, step=context.marks)


def memory(context: Context) -> None:
    """Write patterns and a row of addresses into most of the free memory, read them back."""
    torch = context.torch
    room = _room(context)
    size = min(_PIECE_BYTES, room // 8) if context.device.type == "cuda" else _PIECE_BYTES
    # Addresses, and what is compared with, take up to three pieces more.
    pieces = max(1, room // size - 3)
    words = min(size, room) // 4
    held = []
    for number in range(pieces):
        context.mark(f"memory, piece {number + 1} of {pieces}")
        try:
            held.append(torch.empty(words, dtype=torch.int32, device=context.device))
        except RuntimeError:
            break  # somebody else has taken it meanwhile
    context.need(held, "no memory is free")
    address = torch.arange(words, dtype=torch.int32, device=context.device)
    for pattern in _PATTERNS:
        for one in held:
            one.fill_(pattern)
        for number, one in enumerate(held):
            context.mark(f"pattern {pattern & 0xFFFFFFFF:08x}, piece {number + 1}")
            _count(context, number, size, one != pattern, f"pattern {pattern & 0xFFFFFFFF:08x}")
    for number, one in enumerate(held):
        one.copy_(address).mul_(-1640531535).add_(number)
    for number, one in enumerate(held):
        context.mark(f"addresses, piece {number + 1}")
        _count(context, number, size, one != address * -1640531535 + number, "addresses")
    context.facts["memory_tested_bytes"] = len(held) * words * 4
    held.clear()
    if context.device.type == "cuda":
        torch.cuda.empty_cache()  # other ranks may share this GPU


def _room(context: Context) -> int:
    """Bytes to test: four fifths of a GPU's free memory, split among the ranks on it; 64 MiB of the host's."""
    torch = context.torch
    if context.device.type != "cuda":
        return 64 << 20
    free, _ = torch.cuda.mem_get_info(context.device)
    sharing = -(-context.world // torch.cuda.device_count())
    return int(free * 0.8 / sharing)


def _count(context: Context, piece: int, size: int, wrong: Any, what: str) -> None:
    bad = int(wrong.sum())
    first = int(wrong.to(context.torch.uint8).argmax()) if bad else 0
    place = piece * size + first * 4
    context.expect(
        "local",
        f"memory, {what}",
        not bad,
        f"{bad} words read back wrong, first {place} bytes into it",
        step=context.marks,
    )


def copies(context: Context) -> None:
    """Host to device and back, pageable and pinned, and from this rank's GPU to each other one and back."""
    torch = context.torch
    context.need(context.device.type == "cuda", "there is no device to copy to")
    for size in (1, 4097, 1 << 22):
        source = torch.randint(-(1 << 31), 1 << 31, (size,), generator=torch.Generator().manual_seed(size)).int()
        for pinned in (False, True):
            context.mark(f"copy of {size * 4} bytes to the device and back, {'pinned' if pinned else 'pageable'}")
            there = (source.pin_memory() if pinned else source).to(context.device, non_blocking=pinned)
            torch.cuda.synchronize()
            kind = "pinned" if pinned else "pageable"
            context.check(
                "local",
                f"{size * 4} bytes to the device and back, {kind}",
                there.cpu(),
                source,
                tolerance=0.0,
                step=context.marks,
            )
    _between(context)


def _between(context: Context) -> None:
    """From this rank's GPU to others of this test and back, each pair by one rank: a copy opens a context on both.

    All pairs are one step: which of them are wrong tells more than which was first.
    """
    torch, own = context.torch, context.device.index
    used = device_choice.used_numbers(torch, context.world)
    data = torch.arange(1 << 20, dtype=torch.int32, device=context.device) * -1640531535
    refused, step = [], context.marks
    first = context.rank - int(os.environ.get("LOCAL_RANK", context.rank))  # of this node
    for other in _partners(used, own):
        context.mark(f"copy from GPU {own} to GPU {other} and back")
        try:
            back = data.to(f"cuda:{other}").to(context.device)
            torch.cuda.synchronize()
        except RuntimeError as error:
            if "busy or unavailable" not in str(error):
                raise
            refused.append(other)  # exclusive compute mode: no process may open the GPU of another one
            continue
        words = f"copy from GPU {own} to GPU {other} and back"
        ends = [first + used.index(one) for one in (own, other)]
        context.check("value", words, back, data, tolerance=0.0, step=step, between=ends)
    if refused:
        context.facts["untested"] = f"copies to GPUs {', '.join(map(str, refused))}, which one process has alone"


def _partners(used: list[int], own: int) -> list[int]:
    """The GPUs that the rank of ``own`` copies to: the next half of the circle, so that each pair comes once."""
    count, place = len(used), used.index(own)
    chosen = [used[(place + step) % count] for step in range(1, count // 2 + 1)]
    if count and count % 2 == 0 and place >= count // 2:
        chosen.pop()  # the one across is tested from the other side
    return chosen


_ARITHMETIC = Proof(
    "each operation that training uses, forward and backward, by one device alone: in float32, bfloat16, float16 "
    "and float64, and with two threads on a CPU",
    "the same operation, from published formulas in double precision on the CPU; answers worked out by hand; "
    "Python's own sums, sorts, choices and bits of whole numbers, and its own rounding to 16 bits",
    (EXACT, *_LIMITS.values(), *_OF_GRADIENTS.values(), _SHORT),
)
_COPIED = Proof("every word that is read back from memory or from a copy", "what was written", (EXACT,))
MODES = (
    Mode("compute", "arithmetic of one device against the CPU, in each type", compute, _ARITHMETIC),
    Mode("memory", "memory patterns written and read back", memory, _COPIED, full=True, leaves=True),
    Mode("copies", "copies between host and device, and between devices", copies, _COPIED, leaves=True),
)
