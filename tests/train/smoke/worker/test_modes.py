"""The list of modes is whole, and its names are unique."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from rocdoctor.train.smoke.worker import mode as modes
from rocdoctor.train.smoke.worker.mode import all_modes
from rocdoctor.train.smoke.worker.tolerance import Proof
from tests.kit import ROOT

WORKER = Path(modes.__file__).parent


def test_names_are_unique_and_the_quick_set_has_at_least_thirty_modes() -> None:
    names = [one.name for one in all_modes()]
    assert len(names) == len(set(names))
    assert sum(not one.full for one in all_modes()) >= 30


def test_every_mode_tells_what_it_computes_against_what_and_why_it_may_differ() -> None:
    silent = []
    for one in all_modes():
        told = one.proof or Proof("", "", ())
        words = [told.computed, told.against]
        words += [text for each in told.tolerances for text in (each.of, each.unit, each.why)]
        if not told.tolerances or not all(text.strip() for text in words):
            silent.append(one.name)
    assert not silent


def test_no_mode_compares_by_a_number_that_has_no_reason() -> None:
    """A tolerance in the code is a constant that ``smoke --explain`` reads, or zero."""
    found = []
    for path in sorted(WORKER.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            for keyword in node.keywords if isinstance(node, ast.Call) else ():
                if keyword.arg in ("tolerance", "parameter_tolerance", "rounding"):
                    numbers = [one.value for one in ast.walk(keyword.value) if isinstance(one, ast.Constant)]
                    found += [
                        f"{path.name}:{keyword.value.lineno}" for one in numbers if isinstance(one, float) and one
                    ]
    assert not found


@pytest.mark.parametrize(
    ("world", "fewer", "least"),
    [
        (1, 0, 20),
        pytest.param(2, 1, 7, marks=pytest.mark.heavy),
        pytest.param(4, 3, 3, marks=pytest.mark.heavy),
    ],
)
def test_what_a_mode_compares_by_is_what_it_tells(world: int, fewer: int, least: int) -> None:
    """Each mode is run by the fewest ranks that can, and every number that it compares by is looked for."""
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-c", f"from tests.train.smoke.worker.compared_by import main; main({world}, {fewer})"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found["run"]) > least
    assert not found["untold"]
