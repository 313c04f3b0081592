"""Runs smoke programs in the interpreter under test: one process a rank, one deadline, nothing left behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rocdoctor.host.programs import find_interpreter

MODES = ("ddp",)
_PROGRAM = Path(__file__).with_name("program.py")


@dataclass(frozen=True, slots=True)
class ModeResult:
    """What one mode showed. ``layer`` is where the fault most likely lies, empty when there is none."""

    mode: str
    state: str
    wall_s: float
    message: str = ""
    max_error: dict[str, float] = field(default_factory=dict)
    tolerance: dict[str, float] = field(default_factory=dict)
    layer: str = ""
    ranks: tuple[dict[str, Any], ...] = ()
    torch: str = ""


def run_mode(mode: str, world: int, backend: str, python: str | None, deadline_s: float = 60.0) -> ModeResult:
    """Run one mode on ``world`` ranks; a rank that crashes or hangs is named."""
    interpreter = find_interpreter(python)
    if interpreter is None:
        return ModeResult(mode, "unknown", 0.0, "no Python interpreter found; name one with --python")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="rocdoctor-smoke-") as folder:
        results = [Path(folder) / f"rank{rank}.json" for rank in range(world)]
        store = f"{folder}/store"
        children = [
            subprocess.Popen(
                [interpreter, str(_PROGRAM), mode, str(rank), str(world), backend, store, str(results[rank])],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
            for rank in range(world)
        ]  # fmt: skip
        late = _wait(children, began + deadline_s)
        ranks = tuple(_rank(rank, path, rank in late, children[rank]) for rank, path in enumerate(results))
    return _judge(mode, ranks, time.monotonic() - began)


def _wait(children: list[subprocess.Popen[bytes]], deadline: float) -> set[int]:
    """Wait for all ranks; those that are late are ended with their whole group and returned."""
    late: set[int] = set()
    for rank, child in enumerate(children):
        try:
            child.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            late.add(rank)
    for child in children:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(2)
    return late


def _rank(rank: int, path: Path, late: bool, child: subprocess.Popen[bytes]) -> dict[str, Any]:
    words = ""
    if child.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            os.set_blocking(child.stderr.fileno(), False)
            words = (child.stderr.read() or b"")[-2000:].decode("utf-8", errors="replace")
        child.stderr.close()
    try:
        found: dict[str, Any] = json.loads(path.read_text())
        return found
    except (OSError, ValueError):
        last = next((line for line in reversed(words.splitlines()) if line.strip()), "")
        how = "gave no answer before the deadline" if late else f"ended with status {child.returncode}"
        words = f"rank {rank} {how}" + (f": {last[:200]}" if last and not late else "")
        return {"rank": rank, "state": "crashed", "message": words}


def _judge(mode: str, ranks: tuple[dict[str, Any], ...], wall_s: float) -> ModeResult:
    order = ("crashed", "fail", "unknown", "not-applicable", "pass")
    worst = min(ranks, key=lambda one: order.index(one.get("state", "crashed")))
    errors: dict[str, float] = {}
    for one in ranks:
        for name, value in one.get("max_error", {}).items():
            errors[name] = max(errors.get(name, 0.0), value)
    state = worst.get("state", "crashed")
    message = worst.get("message", "")
    layer = ""
    if state == "crashed" and "No module named 'torch'" in message:
        state, layer, message = "unknown", "configuration", "torch is not installed in this interpreter"
    elif state == "crashed":
        layer = "framework"
    elif state == "fail":
        layer = "collectives"
    shown = tuple(
        {"rank": one.get("rank"), "state": one.get("state"), "message": one.get("message", "")} for one in ranks
    )
    return ModeResult(
        mode, state, wall_s, message, errors, worst.get("tolerance", {}), layer, shown,
        next((one["torch"] for one in ranks if one.get("torch")), ""),
    )  # fmt: skip
