"""Run on one rank: each mode that one rank can run, and the numbers that it compares by but does not tell of."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any


def main() -> None:
    """Print which modes were run, and of each what is untold: ``{"run": [...], "untold": {mode: [...]}}``."""
    import torch
    import torch.distributed as dist

    from rocdoctor.train.smoke.worker.board import Board, create
    from rocdoctor.train.smoke.worker.context import Context
    from rocdoctor.train.smoke.worker.exact_values import mean_rounding
    from rocdoctor.train.smoke.worker.mode import ModeNotApplicable, all_modes

    torch.set_num_threads(1)
    run: list[str] = []
    untold: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=0, world_size=1)
        cache: dict[Any, Any] = {}
        create(str(Path(folder) / "board"), 1)
        for mode in all_modes():
            if mode.min_world > 1 or mode.launch is not None or mode.slow > 1 or mode.proof is None:
                continue
            board = Board(str(Path(folder) / "board"), 0)
            context = Context(torch, 0, 1, torch.device("cpu"), "gloo", folder, board, cache)
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
    print(json.dumps({"run": run, "untold": untold}))
    sys.stdout.flush()


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
