"""A plan that was tried, as text, markdown and JSON: what it says first, and that all forms agree."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from jsonschema import Draft202012Validator

from rocdoctor.parsers.own.smoke_results import ModeResult
from rocdoctor.report import markdown, text
from rocdoctor.report.plan.trial_document import as_json, document, headline
from rocdoctor.train.recommend.estimate import solve
from rocdoctor.train.smoke.plan.depths import guess
from rocdoctor.train.smoke.plan.order import cut
from rocdoctor.train.smoke.plan.outcome import Outcome
from tests.kit import ROOT
from tests.report.trial_kit import GIB, RANKS, SPEC, depth, lost, tried

_RIGHT = tried(depth(2, 1.0, 1.0), depth(5, 1.0, 1.0))
_TWICE = tried(depth(2, 2.0, 2.0), depth(5, 2.0, 2.0))
_ODD = tried(depth(32, 1.0, 1.0, more=40 * GIB))
_SHORT = tried(
    lost("crashed", "rank 1: OutOfMemoryError", out_of_memory={"rank": 1, "at": "backward pass of layer 2 of 4"})
)
_HUNG = tried(lost("crashed", "rank 1 gave no answer at 'optimizer step'"))
_REFUSED = tried(ModeResult("plan", "not-applicable", 0.0, "4-bit weights need bitsandbytes", ranks=RANKS))
_BESIDE = tried(depth(32, 1.0, 2.0, others=60 * GIB))
_BUSY_BEFORE = tried(depth(32, 1.0, 2.0, busy=True))
_SHORT_BESIDE = tried(
    lost("crashed", "rank 1: OutOfMemoryError", out_of_memory={"rank": 1, "at": "optimizer step"}, busy=True)
)
_CPU = tried(depth(32, 1.4, 1.0), device="cpu")
_UNREADABLE = tried(replace(depth(32, 1.0, 1.0), facts={"layers": 32}))
_ALL = (_RIGHT, _TWICE, _ODD, _SHORT, _HUNG, _REFUSED, _CPU, _UNREADABLE, _BESIDE, _BUSY_BEFORE, _SHORT_BESIDE)


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (_RIGHT, ["The plan ran with fewer layers as estimated: memory is 1.0", "; it fits."]),
        (_TWICE, ["the estimate was off in memory and speed: memory is 2.0", "speed 0.5"]),
        (_ODD, ["Rank 1 itself allocated 40.0 GiB more than the other ranks", "other programs are not counted"]),
        (
            _BESIDE,
            [
                "The plan ran whole, and something else used GPU memory at the same time",
                "it fits; try again on idle GPUs",
            ],
        ),
        (_BUSY_BEFORE, ["something else used GPU memory at the same time", "it fits; try again on idle GPUs"]),
        (_SHORT_BESIDE, ["Something else already used memory on a GPU", "try again on idle GPUs first."]),
        (_SHORT, ["Out of memory at 4 layers: rank 1 in 'backward pass of layer 2 of 4'; the plan predicted at most "]),
        (_HUNG, ["The plan did not run: rank 1 gave no answer at 'optimizer step'"]),
        (_REFUSED, ["This plan cannot be tried here: 4-bit weights need bitsandbytes."]),
        (_CPU, ["on the CPU: memory is 1.40 times the estimate. This says nothing about the GPUs."]),
        (_UNREADABLE, ["cannot be read"]),
    ],
)
def test_the_first_line_says_what_it_means(one: Outcome, words: Sequence[str]) -> None:
    said = headline(one)
    assert all(part in said for part in words), said


@pytest.mark.parametrize("one", [_BESIDE, _BUSY_BEFORE])
def test_beside_others_neither_plan_nor_estimate_is_blamed(one: Outcome) -> None:
    shown = text.render(document(one), 300, False)
    assert "off in" not in shown
    assert "not recorded: something else used GPU memory at the same time" in shown
    assert as_json(one)["whole"]["fits"] == "yes"


def test_an_out_of_memory_says_what_these_layers_were_predicted() -> None:
    predicted = guess(cut(solve(SPEC).work, 4)).memory.high / GIB
    assert f"predicted at most {predicted:.1f} GiB for 4 layers" in headline(_SHORT)


def test_text_and_markdown_say_the_same() -> None:
    for one in _ALL:
        shown = text.render(document(one), 300, False), markdown.render(document(one))
        first, second = (" ".join(each.split()) for each in shown)
        assert headline(one).split("'")[0][:40] in first
        assert headline(one).split("'")[0][:40] in second.replace("\\", "")
        assert f"torch {one.run.torch}" in first


def test_the_table_has_each_depth_and_the_whole() -> None:
    shown = text.render(document(_TWICE), 100, False)
    rows = [
        line.split()[0] for line in shown.splitlines() if line.startswith("  ") and " GiB" in line and " s " in line
    ]
    assert rows == ["2", "5", "all"]
    assert "a straight line through 2 and 5 layers" in " ".join(shown.split())


def test_json_keeps_its_schema() -> None:
    schema = json.loads((ROOT / "docs" / "schemas" / "trial.schema.json").read_text())
    for one in _ALL:
        problems = [
            f"{each.json_path}: {each.message}" for each in Draft202012Validator(schema).iter_errors(as_json(one))
        ]
        assert problems == []
        assert as_json(one)["headline"] == headline(one)


def test_json_has_the_ratio_of_the_whole_plan() -> None:
    whole = as_json(_TWICE)["whole"]
    assert whole["memory_ratio"] == pytest.approx(2.0, rel=0.1)
    assert whole["speed_ratio"] == pytest.approx(0.5, rel=0.05)
    assert as_json(_SHORT)["out_of_memory"]["rank"] == 1
    assert as_json(_SHORT)["whole"] is None
