"""One device by itself: arithmetic against the CPU in double precision, memory patterns, copies.

Nothing here communicates, so a difference is the device's own (or its driver's, or its kernel library's).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from ..context import Context
from ..mode import Mode

ORDER = 10
# Largest difference as a share of the largest expected value. Inputs are exact in the type; what remains is the
# rounding of the result (half the last place: fp16 2^-11, bf16 2^-8; a product of fp8 is bf16) and of partial sums.
_LIMITS = {"float64": 1e-12, "float32": 2e-5, "float16": 5e-3, "bfloat16": 1.6e-2, "float8": 1.6e-2}
_PATTERNS = (0, -1, 0x55555555, -0x55555556)
_PIECE_BYTES = 256 << 20


def _operations(torch: Any) -> Iterator[tuple[str, tuple[tuple[int, ...], ...], Callable[..., Any]]]:
    """(name, shapes of the inputs, function); every function is differentiable. Sizes are no multiples of a tile."""
    functional = torch.nn.functional
    yield "matrix product", ((129, 257), (257, 65)), torch.matmul
    yield "product with a transposed matrix", ((96, 128), (64, 128)), lambda one, two: one @ two.T
    yield "batched product", ((7, 33, 65), (7, 65, 31)), torch.bmm
    yield (
        "convolution",
        ((2, 5, 19, 19), (7, 5, 3, 3)),
        lambda image, kernel: functional.conv2d(image, kernel, padding=1),
    )
    yield (
        "attention",
        ((2, 3, 40, 16),) * 3,
        lambda *three: functional.scaled_dot_product_attention(*three, is_causal=True),
    )
    yield "layer norm", ((33, 65), (65,), (65,)), lambda one, *two: functional.layer_norm(one, (65,), *two)
    yield "softmax", ((33, 129),), lambda one: torch.softmax(one, -1)
    yield "sum over rows", ((257, 63),), lambda one: one.sum(0)
    yield "largest of each row", ((65, 129),), lambda one: one.amax(-1)
    yield "gelu", ((33, 65),), functional.gelu


def compute(context: Context) -> None:
    """Forward and backward of the operations that training is made of, in each floating-point type."""
    torch = context.torch
    skipped: list[str] = []
    for kind in ("float32", "bfloat16", "float16", "float64"):
        dtype = getattr(torch, kind)
        for turn, (name, shapes, function) in enumerate(_operations(torch)):
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
            wanted = function(*exact)
            wanted.sum().backward()
            limit = _LIMITS[kind]
            context.check("local", f"{name} in {kind}", got, wanted, tolerance=limit, step=context.marks)
            for number, (one, two) in enumerate(zip(moved, exact)):
                # The largest gradient of a normalised output may be nothing but rounding: the scale is the inputs' too.
                scale = max(float(two.grad.abs().max()), 1.0)
                context.check(
                    "local",
                    f"{name} in {kind}, gradient {number}",
                    one.grad,
                    two.grad,
                    tolerance=2 * limit,
                    scale=scale,
                    step=context.marks,
                )
    _fp8(context, skipped)
    _whole_numbers(context)
    if skipped:
        context.facts["not_implemented"] = skipped[:20]


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
    pieces = max(1, _room(context) // _PIECE_BYTES)
    words = min(_PIECE_BYTES, _room(context)) // 4
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
            _count(context, number, one != pattern, f"pattern {pattern & 0xFFFFFFFF:08x}")
    for number, one in enumerate(held):
        one.copy_(address).mul_(-1640531535).add_(number)
    for number, one in enumerate(held):
        context.mark(f"addresses, piece {number + 1}")
        _count(context, number, one != address * -1640531535 + number, "addresses")
    context.facts["memory_tested_bytes"] = len(held) * words * 4


def _room(context: Context) -> int:
    """Bytes to test: four fifths of a GPU's free memory, split among the ranks on it; 64 MiB of the host's."""
    torch = context.torch
    if context.device.type != "cuda":
        return 64 << 20
    free, _ = torch.cuda.mem_get_info(context.device)
    sharing = -(-context.world // torch.cuda.device_count())
    return int(free * 0.8 / sharing)


def _count(context: Context, piece: int, wrong: Any, what: str) -> None:
    bad = int(wrong.sum())
    first = int(wrong.to(context.torch.uint8).argmax()) if bad else 0
    place = piece * _PIECE_BYTES + first * 4
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
    own = context.device.index
    data = torch.arange(1 << 20, dtype=torch.int32, device=context.device) * -1640531535
    for other in range(torch.cuda.device_count()):
        if other == own:
            continue
        context.mark(f"copy from GPU {own} to GPU {other} and back")
        back = data.to(f"cuda:{other}").to(context.device)
        torch.cuda.synchronize()
        context.check(
            "value", f"copy from GPU {own} to GPU {other} and back", back, data, tolerance=0.0, step=context.marks
        )


MODES = (
    Mode("compute", "arithmetic of one device against the CPU, in each type", compute),
    Mode("memory", "memory patterns written and read back", memory, full=True),
    Mode("copies", "copies between host and device, and between devices", copies),
)
