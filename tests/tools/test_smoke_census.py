"""The census counts what is right by what was planted, not by what was said."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from rocdoctor.parsers.own.smoke_results import Layer, ModeResult, RankResult, State
from tests.train.smoke import kit
from tests.train.smoke.kinds import Planted, kinds
from tools import smoke_census
from tools.smoke_census import Counted, shares


def _counted(
    rank: int | str = 1,
    state: State = "fail",
    named: Sequence[int] = (1,),
    layer: Layer = "device",
    beside: tuple[int, ...] = (),
    world: int = 4,
) -> Counted:
    planted = Planted("planted", rank, "ddp", world, ("device", "framework"), beside)
    ranks = tuple(RankResult(one, state, "", None, one in named) for one in range(world))
    return Counted(planted, ModeResult("ddp", state, 1.0, "words", layer=layer, ranks=ranks))


@pytest.mark.parametrize(
    ("named", "beside", "right", "accused"),
    [
        ((1,), (), True, False),
        ((), (), False, False),
        ((0, 1, 2, 3), (), False, False),  # all of them: it could not be told
        ((2,), (), False, True),
        ((1, 2), (), False, True),
        ((1, 2), (2,), True, False),  # the other end of the way
        ((2,), (2,), False, False),
    ],
)
def test_a_rank_is_right_alone_or_with_the_other_end_of_a_way(
    named: tuple[int, ...], beside: tuple[int, ...], right: bool, accused: bool
) -> None:
    found = _counted(named=named, beside=beside)
    assert (found.rank_right, found.accuses_healthy) == (right, accused)


def test_of_two_ranks_to_name_both_names_nobody() -> None:
    assert not _counted(named=(0, 1), beside=(0,), world=2).rank_right


def test_four_shares_and_every_exception_are_told() -> None:
    rows = [
        _counted(),
        _counted(state="pass", named=(), layer=""),
        _counted(named=(2,), layer="collectives"),
        _counted(rank="all", named=(0, 1, 2, 3), layer="framework"),
        _counted(state="not-applicable", named=(), layer=""),
    ]
    rows[0] = replace(rows[0], found=replace(rows[0].found, wall_s=14.1), left=3)
    told = shares(rows)
    assert told[:7] == [
        "4 planted faults of 1 kinds",
        "caught: 3 of 4 (75 %)",
        "guilty rank named: 1 of 2 (50 %)",
        "layer right: 1 of 3 (33 %)",
        "layer right or not to be told from it: 2 of 3 (67 %)",
        "healthy ranks accused: 1 of 2",
        "more than 2 s beyond the deadline: 1 of 5; processes left: 3",
    ]
    titles = [line for line in told[7:] if line.endswith(":") and not line.startswith(" ")]
    assert titles == [
        "not caught:",
        "healthy rank accused:",
        "wrong layer:",
        "layer that could be right:",
        "late, or processes left:",
        "does not apply:",
    ]


def test_every_kind_is_planted_somewhere_and_says_what_is_right() -> None:
    rows = kinds()
    assert len({one.name for one in rows}) >= 200
    layers = {"device", "link", "collectives", "framework", "configuration", ""}
    assert not [one for one in rows if not set(one.layers) <= layers or (one.rank != "all" and one.rank >= one.world)]  # type: ignore[operator]


def test_every_fault_that_is_planted_has_a_row() -> None:
    elsewhere = {"faults_figures.py", "faults_plan.py"}  # of figures and plans, which are no modes
    files = [one for one in kit.PLANTED.glob("faults*.py") if one.name not in elsewhere]
    known = {name for one in files for name in re.findall(r'^    "([a-z0-9-]{3,40})": ', one.read_text(), re.MULTILINE)}
    assert len(known) > 150
    assert not known - {one.name for one in kinds()}


# Sound machines that round otherwise; what only nccl has.
_NO_FAULTS = {"rounds_elsewhere", "rounds_differently_each_time", "rounded_as_elsewhere", "wrong_by_protocol"}


def test_every_fault_that_a_test_plants_has_a_row() -> None:
    trees = (ast.parse(one.read_text()) for one in kit.PLANTED.parent.rglob("test_*.py"))
    many = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    found = {one.name for one in many if [each.arg for each in one.args.args] == ["active"]}
    assert found >= _NO_FAULTS and len(found) > 30
    assert found - {one.name for one in kinds()} == _NO_FAULTS


@pytest.mark.parametrize(
    ("layer", "named", "mode", "asked"),
    [
        ("collectives", (0, 1), "ddp", True),
        ("collectives", (0, 1), "all-reduce", False),  # which is one of them
        ("collectives", (1,), "ddp", False),
        ("framework", (0, 1), "ddp", False),
    ],
)
def test_what_is_wrong_alike_everywhere_is_judged_beside_the_exchanges(
    monkeypatch: pytest.MonkeyPatch, layer: Layer, named: tuple[int, ...], mode: str, asked: bool
) -> None:
    def again(fault: str, rank: object, modes: Sequence[str], *_: object) -> list[ModeResult]:
        assert {"all-reduce", "reduce-scatter", mode} <= {*modes}
        return [ModeResult(one, "fail", 1.0, "words", layer="framework") for one in modes]

    monkeypatch.setattr(kit, "planted_beside", again)
    monkeypatch.setattr(kit, "processes", list)
    planted = Planted("planted", "all", mode, 2, ("framework",))
    ranks = tuple(RankResult(one, "fail", "", None, one in named) for one in range(2))
    found = smoke_census._weighed(Counted(planted, ModeResult(mode, "fail", 1.0, "", layer=layer, ranks=ranks)))
    assert (found.found.layer == "framework") == (asked or layer == "framework")
    assert bool(found.found.ranks) is not asked


def test_rows_are_chosen_by_words_and_ranks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Planted] = []

    def none_planted(rows: Sequence[Planted], _told: object) -> Iterator[Counted]:
        asked.extend(rows)
        return iter(())

    monkeypatch.setattr(smoke_census, "planted_all", none_planted)
    monkeypatch.setattr("sys.argv", ["smoke_census", "--world", "4", "--only", "sigkill,tp-sum-bit"])
    assert smoke_census.main() == 0
    assert {(one.name, one.world) for one in asked} == {("sigkill", 4), ("tp-sum-bit", 4)}
    assert "0 planted faults" in capsys.readouterr().out
