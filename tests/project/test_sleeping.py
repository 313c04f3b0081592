"""No test sleeps until something ought to have happened: it waits for it (``tests/waiting.py``)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.kit import ROOT

# Sleeping is what these are for.
REASONS = {
    "tests/waiting.py": "looks again",
    "tests/sick/test_stops.py": "a signal at some moment",
    "tests/tools/test_bench_handlers.py": "a callback that holds the loop",
    "tests/train/emit/readers/test_slurm.py": "Slurm's own daemons, asked over and over",
    "tests/train/recommend/counted/wire.py": "a counter that has to stand still",
    "tests/train/smoke/judge/test_late_rank.py": "two looks at a process, some time apart",
    "tests/train/smoke/nodes/test_network.py": "a node that comes late",
    "tests/train/smoke/nodes/test_signed_lines.py": "a head start, without which nodes try again",
    "tests/train/smoke/nodes/test_strangers.py": "a stranger who is slow, and one who tries again",
    "tests/train/smoke/planted/faults.py": "a rank that hangs",
    "tests/train/smoke/planted/faults_device.py": "a rank that hangs",
    "tests/train/smoke/planted/faults_figures.py": "a rank that is slow",
    "tests/train/smoke/planted/faults_layers.py": "a disk that is slow",
    "tests/train/smoke/planted/faults_others.py": "a rank that is slow",
    "tests/train/smoke/planted/faults_reported_machine.py": "a rank that writes to a file last",
    "tests/train/smoke/planted/faults_pipeline.py": "a rank that hangs",
    "tests/train/smoke/planted_launch/launch_faults.py": "a rank that hangs",
    "tests/train/smoke/stand_in/layer.py": "a kernel that is searched for without end",
    "tests/tui/terminals.py": "a screen that draws no more",
    "tests/tui/test_terminal.py": "a signal at some moment",
}


def _sleepers(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "sleep(" in text and any(
            isinstance(node, ast.Call) and ast.unparse(node.func) in ("time.sleep", "sleep")
            for node in ast.walk(ast.parse(text))
        ):
            yield str(path.relative_to(ROOT))


def test_no_test_sleeps_without_a_reason() -> None:
    assert set(_sleepers(ROOT / "tests")) == set(REASONS)
