"""Damaged inputs go through the commands: status 0, 1 or 2, no traceback, bounded time and memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples import examples
from tests.fuzz.mutate import Case, broken, case

FOUND = sorted(path for path in (Path(__file__).parent / "found").iterdir() if path.suffix in (".yaml", ".txt"))


def _broken(folder: Path, seeds: range) -> list[str]:
    problems: list[str] = []
    for seed in seeds:
        one = case(folder, seed)
        problem = broken(one)
        if problem:
            problems.append(f"seed {seed}: {' '.join(one.arguments)}: {problem}")
    return problems


@pytest.mark.parametrize("seed", range(examples(0.1).max_examples))
def test_damaged_machines_break_no_command(seed: int, tmp_path: Path) -> None:
    assert _broken(tmp_path, range(seed, seed + 1)) == []


@pytest.mark.heavy
def test_many_more_damaged_machines_break_no_command(tmp_path: Path) -> None:
    assert _broken(tmp_path, range(1000, 1200)) == []


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_what_once_broke_a_command_breaks_none(path: Path) -> None:
    arguments = ("estimate", str(path)) if path.suffix == ".yaml" else ("check", "--from", str(path))
    assert broken(Case(path, arguments)) == ""
