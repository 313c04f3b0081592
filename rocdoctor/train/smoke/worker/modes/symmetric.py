"""Symmetric memory: memory of each GPU that the kernels of the others read and write, and what is built on it."""

from __future__ import annotations

import importlib
import os
import warnings
from typing import Any

from ..context import Context
from ..device_choice import used_numbers
from ..mode import Mode, OtherRankFailed
from ..tolerance import EXACT, Proof

ORDER = 95
_VALUES = 1 << 16  # for each rank: more than one block of threads
_INNER, _ROWS, _COLUMNS = 64, 32, 48
_MOST_FOLDER = 107 - len("/symm_mem-") - 10  # unix(7): the name of a socket has 107 bytes; a process id has up to 10
# What torch says where its build or the driver has none (CUDASymmetricMemory.cu, SymmetricMemory.cpp).
_LACKING = ("requires pytorch_c10_driver_api_supported", "does not support device type", "not supported")


def needs(context: Context) -> Any:
    """torch's module of symmetric memory, or the end of the mode: on every rank alike, since all must meet."""
    torch, world = context.torch, context.world
    context.need(context.device.type == "cuda", "needs GPUs: it is memory of a GPU that other GPUs map")
    context.need(context.backend == "nccl", "needs a GPU for each rank")
    local = int(os.environ.get("LOCAL_WORLD_SIZE", world))
    context.need(local == world, "needs all ranks on one node: GPUs of another one cannot be mapped")
    try:
        found = importlib.import_module("torch.distributed._symmetric_memory")
    except ImportError:
        found = None
    words = "needs torch 2.6 or later: torch.distributed._symmetric_memory.empty and rendezvous"
    context.need(hasattr(found, "empty") and hasattr(found, "rendezvous"), words)
    numbers = used_numbers(torch, world)
    for one in numbers:
        for two in numbers:
            reached = one == two or torch.cuda.can_device_access_peer(one, two)
            context.need(reached, f"needs peer access: GPU {one} does not reach the memory of GPU {two}")
    keep_sockets_in(context.folder)
    return found


def keep_sockets_in(folder: str) -> None:
    """From now on torch's sockets for handles are in a folder that is this user's alone.

    They are TMPDIR/symm_mem-PID (CUDASymmetricMemoryUtils.cpp of torch, read 2026-11-28): in /tmp anybody may have made
    one of that name. Too long a name is not cut there: what the user has stays then.
    """
    if len(os.fsencode(folder)) <= _MOST_FOLDER:
        os.environ["TMPDIR"] = folder


def allocate(context: Context, library: Any, count: int) -> tuple[Any, Any]:
    """``count`` numbers in fp32 on each rank: (this rank's tensor, the handle that knows those of the others)."""
    torch, dist = context.torch, context.torch.distributed
    group, held, words = dist.group.WORLD.group_name, None, ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if hasattr(library, "enable_symm_mem_for_group"):  # until torch 2.7 it had to be asked for
                library.enable_symm_mem_for_group(group)
        held = library.empty(count, dtype=torch.float32, device=context.device)
    except (RuntimeError, NotImplementedError) as error:
        words = " ".join(str(error).split())[:200]
    lacking = any(one in words.lower() for one in _LACKING)
    # A rank that goes on alone would wait for ever.
    worst = torch.tensor(0.0 if not words else 1.0 if lacking else 2.0, device=context.device)
    dist.all_reduce(worst, dist.ReduceOp.MAX)
    context.need(float(worst) != 1.0, f"this build of torch, or the driver, has none: {words or 'says another rank'}")
    if words:
        raise RuntimeError(f"symmetric memory: {words}")
    if float(worst):
        raise OtherRankFailed("another rank could not allocate symmetric memory")
    context.mark("meeting over the allocated memory")
    return held, library.rendezvous(held, group)


def _numbers(torch: Any, rank: int, count: int) -> Any:
    """Whole numbers that tell their place and their rank, and whose sums over 1,000 ranks are exact in fp32."""
    return (torch.arange(count, dtype=torch.float64) * 7 + rank * 1013) % 8191


def memory(context: Context) -> None:
    """Each rank reads what all others wrote, writes into its neighbour's memory, and sums over all by one kernel."""
    torch, world, rank = context.torch, context.world, context.rank
    library = needs(context)
    count = _VALUES * world
    own, handle = allocate(context, library, 2 * count)
    first, second = own[:count], own[count:]
    first.copy_(_numbers(torch, rank, count))
    second.zero_()
    context.check("local", "what this rank wrote", first, _numbers(torch, rank, count), tolerance=0.0)
    context.mark("barrier before others read")
    handle.barrier(channel=0)
    for peer in range(world):
        got = handle.get_buffer(peer, (count,), torch.float32).clone()
        wanted, sender = _numbers(torch, peer, count), torch.tensor(peer)
        title = f"memory of rank {peer}, read from here"
        context.check("value", title, got, wanted, tolerance=0.0, turn=1, owners=sender)
    context.mark("writing into the next rank's memory")
    after, before = (rank + 1) % world, (rank - 1) % world
    handle.get_buffer(after, (count,), torch.float32, count).copy_(first + 1)
    handle.barrier(channel=0)
    wanted = _numbers(torch, before, count) + 1
    title = f"what rank {before} wrote into this rank's memory"
    context.check("value", title, second, wanted, tolerance=0.0, turn=2, owners=torch.tensor(before))
    _sums(context, own, first, handle, count)


def _sums(context: Context, own: Any, first: Any, handle: Any, count: int) -> None:
    """One kernel that reads all parts (one shot), and one that reads a share and writes it everywhere (two shots)."""
    torch, dist, rank = context.torch, context.torch.distributed, context.rank
    group = dist.group.WORLD.group_name
    summed: Any = sum(_numbers(torch, one, count) for one in range(context.world))
    for turn, name in ((3, "one_shot_all_reduce"), (4, "two_shot_all_reduce_")):
        kernel = getattr(torch.ops.symm_mem, name, None)
        if kernel is None:
            context.facts.setdefault("untested", f"{name}, which this torch does not have")
            continue
        own.zero_()
        first.copy_(_numbers(torch, rank, count))
        handle.barrier(channel=0)
        context.mark(name)
        got = kernel(own, "sum", group)
        handle.barrier(channel=0)  # before anybody writes again
        context.check("value", f"sum by {name.rstrip('_')}", got[:count], summed, tolerance=0.0, turn=turn)


def asynchronous(context: Context) -> None:
    """The two products that async tensor parallel puts in place of a collective and a product: one over gathered rows,
    one whose sums are scattered. What a rank computes by itself is compared before."""
    torch, world, rank = context.torch, context.world, context.rank
    needs(context)
    allocate(context, importlib.import_module("torch.distributed._symmetric_memory"), 1)
    group = torch.distributed.group.WORLD.group_name
    gather: Any = getattr(torch.ops.symm_mem, "fused_all_gather_matmul", None)
    scatter: Any = getattr(torch.ops.symm_mem, "fused_matmul_reduce_scatter", None)
    context.need(gather and scatter, "needs torch 2.5 or later: symm_mem::fused_all_gather_matmul")
    for step, (dtype, largest) in enumerate(((torch.float32, 3), (torch.bfloat16, 1))):
        # Whole numbers, so small that each sum is exact in this type in any order.
        generator = torch.Generator().manual_seed(23)

        def made(*shape: int, most: int = largest, source: Any = generator) -> Any:
            return torch.randint(-most, most + 1, shape, generator=source).double()

        rows = made(2, _ROWS * world, _INNER)  # (batch, sequence, inner), split by sequence
        weights = [made(_INNER, _COLUMNS) for _ in range(2)]
        mine = rows.chunk(world, 1)[rank].to(context.device, dtype)
        held = [one.to(context.device, dtype) for one in weights]
        own = rows.chunk(world, 1)[rank] @ weights[0]
        context.check("local", f"own product in {dtype}", mine @ held[0], own, tolerance=0.0, step=step)
        context.mark(f"all-gather and products in {dtype}")
        whole, products = gather(mine, held, 1, group)
        context.check("value", f"gathered rows in {dtype}", whole, rows, tolerance=0.0, step=step, turn=1)
        for number, (got, weight) in enumerate(zip(products, weights)):
            title = f"product {number} of gathered rows in {dtype}"
            context.check("value", title, got, rows @ weight, tolerance=0.0, step=step, turn=2)
        deep, wide = made(2, _ROWS * world, _INNER * world), made(_INNER * world, _COLUMNS)
        left = deep.chunk(world, 2)[rank].to(context.device, dtype)
        right = wide.chunk(world, 0)[rank].to(context.device, dtype)
        own = deep.chunk(world, 2)[rank] @ wide.chunk(world, 0)[rank]
        context.check("local", f"own summand in {dtype}", left @ right, own, tolerance=0.0, step=step, turn=3)
        context.mark(f"product and reduce-scatter in {dtype}")
        got = scatter(left, right, "sum", 1, group)
        title = f"this rank's rows of the sum of products in {dtype}"
        wanted = (deep @ wide).chunk(world, 1)[rank]
        context.check("value", title, got, wanted, tolerance=0.0, step=step, turn=4)


_READ = Proof(
    "numbers that encode their place and rank: read from every other GPU, written into the next one, summed by kernels",
    "the same whole numbers, worked out on the CPU",
    (EXACT,),
)
_FUSED = Proof(
    "products of whole numbers in fp32 and bf16: fused with an all-gather, and with a reduce-scatter",
    "the products of whole matrices in double precision on the CPU",
    (EXACT,),
)
MODES = (
    Mode(
        "symmetric-memory",
        "GPU memory that other GPUs read and write (symmetric memory), and sums by one kernel",
        memory,
        _READ,
        full=True,
        min_world=2,
        leaves=True,
    ),
    Mode(
        "async-tensor-parallel",
        "products fused with their collectives (async tensor parallel)",
        asynchronous,
        _FUSED,
        full=True,
        min_world=2,
        leaves=True,
    ),
)
