"""Trials are kept in one file of the user's, and found by the GPU that they were made on alone."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from rocdoctor.service import plan_trials
from rocdoctor.train.recommend.estimate import solve
from rocdoctor.train.recommend.fleet.described_fleet import described
from rocdoctor.train.recommend.fleet.trials import Trial, canonical
from rocdoctor.train.recommend.model.tried import kind_of, plan_of

SPEC: dict[str, Any] = {"model": "llama-3-8b", "gpu": "MI300X", "gpus": 8, "seq": 4096, "parallel": {"fsdp": 8}}


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def _trial(spec: dict[str, Any] = SPEC, **changes: Any) -> Trial:
    work = solve(spec).work
    made: dict[str, Any] = {
        "day": "2026-11-28",
        "kind": canonical(kind_of(work)),
        "plan": canonical(plan_of(work)),
        "layers": (2, 4),
        "whole": False,
        "live": 1.0,
        "reserved": 1.05,
        "speed": 0.9,
        "outside_gib": 1.5,
    }
    return Trial(**{**made, **changes})


def test_what_was_kept_is_found_for_the_same_gpu_alone() -> None:
    gpu = solve(SPEC).work.gpu
    path = plan_trials.keep(gpu, _trial())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert plan_trials.trials_of(gpu) == (_trial(),)
    assert plan_trials.trials_of(solve({**SPEC, "gpu": "MI325X"}).work.gpu) == ()
    assert plan_trials.trials_of(solve({**SPEC, "gpu": {"name": "MI300X", "mem_gib": 96}}).work.gpu) == ()


def test_a_later_trial_takes_the_place_of_one_of_the_same_plan() -> None:
    gpu = solve(SPEC).work.gpu
    other = _trial({**SPEC, "micro_batch": 4})
    for one in (_trial(), other, _trial(speed=0.7)):
        plan_trials.keep(gpu, one)
    assert plan_trials.trials_of(gpu) == (other, _trial(speed=0.7))


def test_another_gpu_keeps_its_own() -> None:
    other = {**SPEC, "gpu": "H100"}
    plan_trials.keep(solve(SPEC).work.gpu, _trial())
    plan_trials.keep(solve(other).work.gpu, _trial(other))
    assert plan_trials.trials_of(solve(SPEC).work.gpu) == (_trial(),)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"schema": "rocdoctor.trials/1", "gpus": {}}', '{"gpus": [3]}'])
def test_a_file_that_is_none_is_as_if_there_were_none(text: str) -> None:
    plan_trials.place().parent.mkdir(parents=True)
    plan_trials.place().write_text(text)
    assert plan_trials.trials_of(solve(SPEC).work.gpu) == ()
    plan_trials.keep(solve(SPEC).work.gpu, _trial())
    assert plan_trials.trials_of(solve(SPEC).work.gpu) == (_trial(),)


def test_a_specification_gets_them_unless_it_has_its_own() -> None:
    plan_trials.keep(solve(SPEC).work.gpu, _trial())
    found = solve(plan_trials.spec_with_trials(SPEC))
    assert found.work.gpu.trials == (_trial(),)
    own = {**SPEC, "gpu": {"name": "MI300X", "trials": []}}
    assert plan_trials.spec_with_trials(own) is own
    assert plan_trials.spec_with_trials("no specification") == "no specification"
    assert plan_trials.spec_with_trials({"gpu": "MI300X"}) == {"gpu": "MI300X"}


def test_a_described_fleet_is_another_machine() -> None:
    fleet = described("8xMI300X", 1, None)
    plan_trials.keep(fleet.gpu, _trial())
    assert plan_trials.fleet_with_trials(fleet) is fleet


def test_a_machines_fleet_gets_them_and_says_so() -> None:
    from dataclasses import replace

    fleet = replace(described("8xMI300X", 1, None), origin="machine")
    plan_trials.keep(fleet.gpu, _trial())
    found = plan_trials.fleet_with_trials(fleet)
    assert found.gpu.trials == (_trial(),)
    assert found.sources["trials"] == "measured here on 2026-11-28: 1 plan tried with rocdoctor smoke --plan"
    assert found.spec_gpu["trials"] == [_trial().as_json()]
