"""Traced configurations that no card of their kind can hold: the closed form may call none of them "yes"."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from rocdoctor.train.recommend.estimate import solve
from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from rocdoctor.train.recommend.memory.trace import refusal

FILE = Path(__file__).parent / "does_not_fit.yaml"


@cache
def _traced() -> list[dict[str, Any]]:
    cases = yaml.safe_load(FILE.read_text(encoding="utf-8"))["cases"]
    return [one for one in cases if one.get("by") == "trace"]


def test_there_are_enough_kinds_of_traced_cases() -> None:
    traced = _traced()
    assert len(traced) >= 70
    assert len({one["gpu"]["name"] for one in traced}) >= 10
    assert len({str(one["model"]) for one in traced}) >= 10
    assert {one["framework"] for one in traced} == {"ddp", "fsdp2"}
    assert {one["recompute"] for one in traced} == {"none", "full", "selective-op"}
    sizes = [one["gpu"]["mem_gib"] for one in traced]
    assert min(sizes) == 8 and max(sizes) == 192


def test_each_was_traceable_and_needs_more_than_its_card_has() -> None:
    for case in _traced():
        work = solve(case).work
        assert refusal(work) is None, case
        assert case["live_gib"] > work.gpu.usable_bytes / GIB, case


def test_the_closed_form_calls_none_of_them_yes_and_stays_near_the_trace() -> None:
    for case in _traced():
        told = solve(case)
        assert told.fits != "yes", case
        # Low is the side that does harm; Transformers' loss is counted with all copies that its versions ever made.
        assert 0.97 < told.memory.live_peak / GIB / case["live_gib"] < 1.12, case
