"""Faults that reports of libraries tell of: each acts at the rank and in the mode of its row, and nowhere else.

No verdict is read here. What a fault has changed it says itself (``planted/evidence.py``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

import pytest

from tests.train.smoke import kit
from tests.train.smoke.kinds import Planted, kinds

pytest.importorskip("torch")
_FILES = sorted(kit.PLANTED.glob("faults_reported_*.py"))
_REPORT = re.compile(r"[\w.-]+/[\w.-]+#\d+")
# What has no figure: it decides, ends or hangs.
_NO_FIGURE = {
    "average-one-ahead",
    "block-skipped",
    "connections-reset",
    "dead-way",
    "default-type",
    "few-descriptors",
    "first-of-group",
    "hole-of-zeros",
    "keys-dropped",
    "later-expert-lost",
    "name-of-rank-0",
    "no-gradients-any-more",
    "no-shared-memory",
    "order-of-parameters",
    "recomputes-otherwise",
    "replicas-over-shards",
    "row-of-nan",
    "socket-gone",
    "storage-hangs",
    "ties-broken",
}
_QUICK = ("rows-past-grid", "order-of-parameters")


def _reported() -> list[Planted]:
    texts = "\n".join(one.read_text(encoding="utf-8") for one in _FILES)
    names = set(re.findall(r'^    "([a-z0-9-]+)": ', texts, re.MULTILINE))
    return [one for one in kinds() if one.name in names]


def _idle(rows: Sequence[Planted], run: Callable[[Sequence[Planted]], object]) -> list[str]:
    """What is not as its row says, of faults that ``run`` plants."""
    acted = kit.evidence_file()
    acted.write_text("")
    try:
        run(rows)
        lines = [json.loads(line) for line in acted.read_text(encoding="utf-8").splitlines()]
    finally:
        acted.unlink()
    wrong = []
    for row in rows:
        mine = [one for one in lines if one["fault"] == row.name]
        ranks = {one["rank"] for one in mine}
        if ranks != (set(range(row.world)) if row.rank == "all" else {row.rank}):
            wrong.append(f"{row.name} acts at {sorted(ranks)} of {row.world}, not at {row.rank}")
        if row.name not in _NO_FIGURE and not any(one.get("off_by", 0.0) > 1e-4 * one["of"] for one in mine):
            wrong.append(f"{row.name} changes nothing: {mine[:2]}")
    return wrong


def _in_turn(rows: Sequence[Planted]) -> None:
    kit.planted_in_turn([(one.fault, one.rank, one.mode) for one in rows], rows[0].world, 12.0)


def _alone(rows: Sequence[Planted]) -> None:
    for one in rows:
        kit.planted_in_turn([(one.fault, one.rank, one.mode)], one.world, 8.0)


def test_each_file_names_the_report_of_every_fault() -> None:
    rows = _reported()
    assert len(_FILES) == 4 and len({one.name for one in rows}) >= 48
    for path in _FILES:
        text = path.read_text(encoding="utf-8")
        faults = re.findall(r'^    "[a-z0-9-]+": ', text, re.MULTILINE)
        assert len(_REPORT.findall(text)) >= len(faults), path.name


def test_a_fault_acts_at_its_rank_alone() -> None:
    rows = [one for one in _reported() if one.name in _QUICK]
    assert len(rows) == len(_QUICK)
    assert not _idle(rows, _in_turn)


@pytest.mark.heavy
@pytest.mark.parametrize("world", [2, 4])
def test_all_others_that_share_ranks_act_too(world: int) -> None:
    rows = [one for one in _reported() if one.world == world and not one.alone and one.name not in _QUICK]
    assert rows and not _idle(rows, _in_turn)


@pytest.mark.heavy
def test_those_that_need_ranks_of_their_own_act_too() -> None:
    rows = [one for one in _reported() if one.alone]
    assert rows and not _idle(rows, _alone)


def test_no_two_faults_have_one_name() -> None:
    """The later file would take the place of the earlier one, and its row would plant something else."""
    found: dict[str, str] = {}
    for path in sorted(kit.PLANTED.glob("faults*.py")):
        for name in re.findall(r'^    "([a-z0-9-]+)": ', path.read_text(encoding="utf-8"), re.MULTILINE):
            assert found.setdefault(name, path.name) == path.name, name
