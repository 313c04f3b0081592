"""Faults of any mode, and what all of them are made with.

A fault is a function of ``active`` (whether the mode runs) that changes the process of one rank. One of a single mode
stands in the test of that mode; what several tests plant stands in a file ``faults_<family>.py`` beside this one, with
its own FAULTS; names are unique.
"""

from __future__ import annotations

import ast
import functools
import importlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist


def put(name: str, mode: str, number: int | None = None) -> None:
    """Put the fault in place; it acts only while ``mode`` runs (``*``: always), and in its turn where it has a number.

    A name of the form ``FILE:FUNCTION`` is a function of a test.
    """
    path, _, function = name.rpartition(":")
    if path:
        fault = _of_test(Path(path), function)
    else:
        known = dict(FAULTS)
        for one in sorted(Path(__file__).parent.glob("faults_*.py")):
            known.update(importlib.import_module(one.stem).FAULTS)
        fault = known[name]
    fault(lambda: mode in ("*", os.environ.get("ROCDOCTOR_SMOKE_MODE")) and _in_turn(number))


def _in_turn(number: int | None) -> bool:
    if number is None:
        return True
    with open(Path(os.environ["ROCDOCTOR_PLANT"]).with_suffix(".turn")) as stream:
        return stream.read() == str(number)


Active = Callable[[], bool]


def _of_test(path: Path, name: str) -> Callable[[Active], None]:
    """One function of a test's file, among the names of this file: the rest of the test is of no use in a rank."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tree.body = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    found = dict(globals())
    exec(compile(tree, str(path), "exec"), found)  # with the annotations of this file, which nobody evaluates
    fault: Callable[[Active], None] = found[name]
    return fault


def wrap(owner: Any, name: str, around: Callable[..., Any]) -> None:
    """Replace ``owner.name`` by ``around(original, *args, **keywords)``; it tells the same signature."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def instead(*args: Any, **keywords: Any) -> Any:
        return around(original, *args, **keywords)

    setattr(owner, name, instead)


def at_backward(act: Callable[[], None], active: Active, turn: int = 1, after: bool = False) -> None:
    """Act once, at the given backward pass of the process group's own work (the second one by default)."""
    seen = {"count": 0}

    def around(original: Any, *args: Any, **keywords: Any) -> Any:
        if not active() or _reference():
            return original(*args, **keywords)
        seen["count"] += 1
        due = seen["count"] == turn
        if due and not after:
            act()
        result = original(*args, **keywords)
        if due and after:
            act()
        return result

    wrap(torch.Tensor, "backward", around)


def _reference() -> bool:
    """Whether the program computes by itself what it compares with, in the types under test.

    Faults of the exchange, which only the process group's own work can meet, look at it; faults of arithmetic never.
    """
    import sys

    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "local_gradients":
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def at_collective(
    act: Callable[..., Any], active: Active, turn: int = 2, names: tuple[str, ...] = ("all_reduce",)
) -> None:
    """Call ``act(original, *args, **keywords)`` instead of the given collective at its nth call."""
    seen = {"count": 0}

    def around(original: Any, *args: Any, **keywords: Any) -> Any:
        if active():
            seen["count"] += 1
            if seen["count"] == turn:
                return act(original, *args, **keywords)
        return original(*args, **keywords)

    for name in names:
        for owner in (dist, dist.distributed_c10d):
            wrap(owner, name, around)


def flip_bit(tensor: torch.Tensor, bit: int = 20) -> None:
    """Flip one bit of the largest element of a float32 tensor, in place."""
    held = getattr(tensor, "_local_tensor", tensor).detach()
    flat = held.view(-1) if held.is_contiguous() else held.T.view(-1)
    at = int(flat.abs().argmax())
    flat[at : at + 1].view(torch.int32).bitwise_xor_(1 << bit)


def die(number: int) -> Callable[[Active], None]:
    return lambda active: at_backward(lambda: os.kill(os.getpid(), number), active)


def leave(status: int) -> Callable[[Active], None]:
    return lambda active: at_backward(lambda: os._exit(status), active)


def sleep(active: Active) -> None:
    at_backward(lambda: time.sleep(3600), active)


def late(active: Active) -> None:
    at_backward(lambda: time.sleep(6), active)


def raise_error(active: Active) -> None:
    def act() -> None:
        raise ValueError("planted: expected a tensor of 3 dimensions")

    at_backward(act, active)


def out_of_memory(active: Active) -> None:
    at_backward(lambda: torch.empty(1 << 50), active)  # type: ignore[arg-type]


def wrong_size(active: Active) -> None:
    at_collective(lambda original, tensor, *rest, **more: original(torch.zeros(1000), *rest, **more), active)


def wrong_order(active: Active) -> None:
    at_collective(lambda original, tensor, *rest, **more: dist.broadcast(tensor, 0), active)


def skipped(active: Active) -> None:
    at_collective(lambda original, *rest, **more: None, active)


def gradient_bit(active: Active) -> None:
    """One bit of one gradient element, after the exchange."""

    def around(original: Any, *args: Any, **keywords: Any) -> Any:
        result = original(*args, **keywords)
        if active() and not _reference():
            first = next(one.grad for one in _parameters() if one.grad is not None)
            flip_bit(first)
        return result

    wrap(torch.Tensor, "backward", around)


def _parameters() -> list[torch.Tensor]:
    import gc

    return [one for one in gc.get_objects() if isinstance(one, torch.nn.Parameter) and one.grad is not None]


FAULTS: dict[str, Callable[[Active], None]] = {
    "sigkill": die(signal.SIGKILL),
    "sigsegv": die(signal.SIGSEGV),
    "sigstop": die(signal.SIGSTOP),
    "sigterm": die(signal.SIGTERM),
    "exit-0": leave(0),
    "sleep": sleep,
    "late": late,
    "error": raise_error,
    "out-of-memory": out_of_memory,
    "wrong-size": wrong_size,
    "wrong-order": wrong_order,
    "skipped-collective": skipped,
    "gradient-bit": gradient_bit,
}
