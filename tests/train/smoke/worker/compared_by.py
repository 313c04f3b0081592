"""Run on some ranks: each mode that fewer cannot run, and the numbers that it compares by but does not tell of."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any


def main(world: int, fewer: int) -> None:
    """Print which modes were run, and of each what is untold: ``{"run": [...], "untold": {mode: [...]}}``.

    Modes are those that ``fewer`` ranks cannot run. Each other rank is a fork of this process, which prints nothing.
    """
    with tempfile.TemporaryDirectory() as folder:
        children = []
        for rank in range(1, world):
            children.append(os.fork())
            if not children[-1]:
                status = 1
                try:
                    _rank(rank, world, fewer, folder)
                    status = 0
                finally:
                    os._exit(status)
        found = _rank(0, world, fewer, folder)
        ends = [os.waitpid(one, 0)[1] for one in children]
    assert not any(ends), ends
    print(json.dumps(found))
    sys.stdout.flush()


def _rank(rank: int, world: int, fewer: int, folder: str) -> dict[str, Any]:
    import torch
    import torch.distributed as dist

    from rocdoctor.train.smoke.worker.board import Board, create
    from rocdoctor.train.smoke.worker.context import Context
    from rocdoctor.train.smoke.worker.exact_values import mean_rounding
    from rocdoctor.train.smoke.worker.mode import ModeNotApplicable, all_modes

    torch.set_num_threads(1)
    run: list[str] = []
    untold: dict[str, list[str]] = {}
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=world)
    cache: dict[Any, Any] = {}
    place = str(Path(folder) / f"board{rank}")
    create(place, world)
    for mode in all_modes():
        there = fewer < mode.min_world <= world
        if not there or mode.launch is not None or mode.slow > 1 or mode.proof is None:
            continue
        context = Context(torch, rank, world, torch.device("cpu"), "gloo", folder, Board(place, rank), cache)
        told = {context.limit(one) for one in mode.proof.tolerances} | {0.0}
        if any("number of ranks" in one.unit for one in mode.proof.tolerances):
            told.add(mean_rounding(context))
        seen = _numbers(context)
        try:
            mode.run(context)
        except ModeNotApplicable:
            continue
        run.append(mode.name)
        odd = sorted(f"{name}: {number}" for number, name in seen.items() if number not in told)
        if odd:
            untold[mode.name] = odd
    dist.destroy_process_group()
    return {"run": run, "untold": untold}


def _numbers(context: Any) -> dict[float, str]:
    """Filled while the mode runs: the number of each comparison and the name of what was compared first by it."""
    seen: dict[float, str] = {}
    inner = context.comparison.check

    def check(stage: str, name: str, got: Any, wanted: Any, **more: Any) -> Any:
        tolerance = more.get("tolerance")
        number = context.limit(stage) if tolerance is None else float(tolerance)
        seen.setdefault(number, f"{stage}, {name}")
        return inner(stage, name, got, wanted, **more)

    context.comparison.check = context.check = check
    return seen
