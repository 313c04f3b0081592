"""Trials are kept in one file of the user's, and found by the GPU that they were made on alone."""

from __future__ import annotations

import pwd
import stat
from pathlib import Path
from typing import Any

import pytest

from rocdoctor.host.live.only_one import only_one
from rocdoctor.service import plan_trials
from rocdoctor.train.recommend.estimate import solve
from rocdoctor.train.recommend.fleet.described_fleet import described
from rocdoctor.train.recommend.fleet.trials import Trial, canonical
from rocdoctor.train.recommend.model.tried import kind_of, plan_of

SPEC: dict[str, Any] = {"model": "llama-3-8b", "gpu": "MI300X", "gpus": 8, "seq": 4096, "parallel": {"fsdp": 8}}


_PLACE = plan_trials.place


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_trials, "place", lambda: tmp_path / "state" / "trials.json")


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


def test_root_keeps_its_own_whatever_the_environment_of_its_caller_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/home/alice/state")
    monkeypatch.setenv("HOME", "/home/alice")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert _PLACE() == Path(pwd.getpwuid(0).pw_dir) / ".local/state/rocdoctor/trials.json"
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert _PLACE() == Path("/home/alice/state/rocdoctor/trials.json")
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert _PLACE() == Path("/home/alice/.local/state/rocdoctor/trials.json")


def _spoilt(path: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if how == "of another user":
        monkeypatch.setattr(plan_trials, "owner_of", lambda status, place: 4711)
    elif how == "others may write":
        path.chmod(0o620)
    elif how == "too large":
        monkeypatch.setattr(plan_trials, "_MOST_BYTES", 10)
    else:
        path.unlink()
        path.mkdir()


@pytest.mark.parametrize("how", ["of another user", "others may write", "too large", "a folder"])
def test_what_cannot_be_trusted_or_read_is_neither_used_nor_overwritten(
    how: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gpu = solve(SPEC).work.gpu
    path = plan_trials.keep(gpu, _trial())
    before = path.read_bytes()
    _spoilt(path, how, monkeypatch)
    assert plan_trials.trials_of(gpu) == ()
    assert f"plans that were tried here are not used: {path}: " in capsys.readouterr().err
    with pytest.raises(OSError):
        plan_trials.keep(gpu, _trial(speed=0.5))
    assert path.is_dir() or path.read_bytes() == before


def test_no_file_is_nothing_to_say(capsys: pytest.CaptureFixture[str]) -> None:
    assert plan_trials.trials_of(solve(SPEC).work.gpu) == ()
    assert capsys.readouterr().err == ""


def test_two_runs_that_end_at_once_both_keep_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = solve(SPEC).work.gpu
    lock = plan_trials.keep(gpu, _trial()).with_name("trials.lock")
    monkeypatch.setattr(plan_trials, "_BETWEEN_S", 0.0)
    monkeypatch.setattr(plan_trials, "_TRIES", 3)
    with only_one(lock), pytest.raises(OSError, match="another run keeps a trial there"):
        plan_trials.keep(gpu, _trial(speed=0.5))
    read = plan_trials._kept

    def watched(path: Path) -> list[dict[str, Any]]:
        with pytest.raises(BlockingIOError), only_one(lock):
            pass
        return read(path)

    monkeypatch.setattr(plan_trials, "_kept", watched)  # from reading to writing nobody else has the lock
    plan_trials.keep(gpu, _trial(speed=0.6))


def test_the_gpus_that_were_tried_last_stay() -> None:
    gpus = [solve({**SPEC, "gpu": {"name": "MI300X", "mem_gib": 100 + number}}).work.gpu for number in range(20)]
    for gpu in gpus:
        plan_trials.keep(gpu, _trial())
    assert [bool(plan_trials.trials_of(gpu)) for gpu in gpus] == [False] * 4 + [True] * 16
