"""Notes each collective on the board before it is entered: a rank that never comes back still tells where it was."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

from .board import Board

_COLLECTIVES = (
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_single",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "gather",
    "irecv",
    "isend",
    "monitored_barrier",
    "recv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "scatter",
    "send",
)


def install(board: Board) -> None:
    """Wrap the functions of torch.distributed in place. Collectives that C++ starts by itself are not seen."""
    import torch.distributed as dist
    from torch.distributed import distributed_c10d as inner

    for name in _COLLECTIVES:
        function = getattr(inner, name, None)
        if function is not None:
            noted = _noted(name, function, board)
            setattr(inner, name, noted)
            setattr(dist, name, noted)


def _noted(name: str, function: Callable[..., Any], board: Board) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        text = name + " " + _shape(args, keywords) + _members(keywords.get("group"))
        board.call(text, _peer(name, args, keywords))
        return function(*args, **keywords)

    return call


def _shape(args: Any, keywords: Any) -> str:
    """Type and sizes of the tensors of a call, for example ``float32[4,8] float32[8]``."""
    found = []
    for value in (*args[:2], *list(keywords.values())[:3]):
        many = value if isinstance(value, (list, tuple)) else [value]
        for one in many[:4]:
            if hasattr(one, "dtype") and hasattr(one, "shape"):
                sizes = ",".join(str(size) for size in one.shape)
                found.append(f"{str(one.dtype).replace('torch.', '')}[{sizes}]")
    return " ".join(found[:6])


def _peer(name: str, args: Any, keywords: Any) -> int | None:
    """The rank that a message goes to or comes from, by its number among all; None where that is not told."""
    if not name.endswith(("send", "recv")) or keywords.get("group") is not None or len(args) > 2:
        return None
    told = args[1] if len(args) > 1 else keywords.get("dst" if name.endswith("send") else "src")
    return told if isinstance(told, int) else None


def _members(group: Any) -> str:
    """The ranks of a group that is not all of them, for example `` among 0,2``."""
    if group is None:
        return ""
    import torch.distributed as dist

    try:
        ranks = dist.get_process_group_ranks(group)
        return "" if len(ranks) == dist.get_world_size() else " among " + ",".join(map(str, ranks[:64]))
    except Exception:  # a group that this rank is not in, or that was given in another form
        return ""


def last_calls(torch: Any, count: int = 3) -> list[str]:
    """The last collectives that the library itself recorded (flight recorder), newest last; empty where it has none."""
    inner = getattr(torch._C, "_distributed_c10d", None)
    found: list[str] = []
    for name in ("_dump_fr_trace_json", "_dump_nccl_trace_json"):
        dump = getattr(inner, name, None)
        if dump is None:
            continue
        try:
            entries = json.loads(dump()).get("entries", [])
        except Exception:  # a private interface: whatever it raises means that it tells nothing
            continue
        for one in entries[-count:]:
            kinds = zip(one.get("input_dtypes") or [], one.get("input_sizes") or [])
            sizes = " ".join(f"{kind}[{','.join(map(str, size))}]" for kind, size in kinds)
            number = one.get("collective_seq_id") or one.get("p2p_seq_id")
            found.append(f"#{number} {one.get('profiling_name')} {sizes} {one.get('state')}"[:200])
        if found:
            break
    return found
