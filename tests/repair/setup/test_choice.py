"""Releases that somebody chooses, pins or goes back to, and environments made by uv or conda."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from rocdoctor.cli.main import run
from rocdoctor.judging.diagnose import diagnose
from rocdoctor.repair.setup.plan import ReleaseChoice, SetupPlan, Step
from rocdoctor.repair.setup.planner import plan
from rocdoctor.repair.setup.script_guards import done_test
from tests.golden.replay import our_checks
from tests.kit import ROOT
from tests.repair.setup.desk import desk, gpu, torch
from tests.repair.setup.kit import commands, plan_in, step_of
from tests.repair.setup.world.judge import NAMED, files_of, judged

_FIXTURE = str(ROOT / "fixtures" / "rx7900xtx-2gpu.capture")


def chosen(case: str, state: Mapping[str, Any] | None = None, **wanted: Any) -> SetupPlan:
    one = NAMED[case]
    if state and one.state is not None:
        one = replace(one, state=replace(one.state, **state))
    return plan(judged(files_of(one)), one.goal, ReleaseChoice(**wanted))


def desk_with(version: str | None, *cards: str, **wanted: Any) -> SetupPlan:
    machine = desk(*(gpu(card, at) for at, card in enumerate(cards)), build=torch(version))
    return plan(diagnose(machine, our_checks()), "pytorch", ReleaseChoice(**wanted))


def _installs(found: SetupPlan) -> str:
    return next((one for one in commands(step_of(found, "torch")) if " install " in one), "")


def test_the_chosen_torch_is_pinned_and_the_other_one_goes_and_can_come_back() -> None:
    step = step_of(desk_with("2.11.0+rocm7.2", "xtx", torch="2.9.1", rocm="6.4"), "torch")
    assert step.state == "todo"
    assert "uninstall -y torch" in commands(step)[0]
    assert commands(step)[1].endswith(
        "install torch==2.9.1 torchvision==0.24.1 --index-url https://download.pytorch.org/whl/rocm6.4"
    )
    assert "torch==2.11.0+rocm7.2" in step.undo[1].command


def test_what_is_chosen_and_there_is_done() -> None:
    for wanted in ({"torch": "2.11"}, {"rocm": "7.2"}, {"torch": "2.11.0", "rocm": "7.2.1"}):
        assert step_of(desk_with("2.11.0+rocm7.2", "xtx", **wanted), "torch").state == "done", wanted
    assert step_of(desk_with("2.10.0+rocm7.1", "xtx", torch="2.11"), "torch").state == "todo"


def test_what_the_tables_lack_is_unknown_with_what_they_have() -> None:
    step = step_of(desk_with(None, "xtx", torch="2.9.1", rocm="7.2"), "torch")
    assert step.state == "unknown"
    assert "no wheel of ROCm 7.2 and torch 2.9.1" in step.why
    assert "2.9.1 (rocm6.4" in step.why


def test_cuda_and_cpu_builds_are_pinned_too() -> None:
    assert "torch==2.10.0 " in _installs(desk_with(None, "ada", torch="2.10.0"))
    assert "/whl/cu" in _installs(desk_with(None, "ada", torch="2.10.0"))
    assert _installs(desk_with(None, torch="2.10.0")).endswith("/whl/cpu")


def test_the_chosen_rocm_replaces_what_cannot_stand_beside_it() -> None:
    found = chosen("xtx-ubuntu2404-done", rocm="7.14")
    step = step_of(found, "rocm")
    assert (step.state, step.optional) == ("todo", False)
    assert "ROCm 7.2.0 is installed, but ROCm 7.14 was chosen" in step.why
    # no list of packages is in this evidence, so no command takes the old ones away
    assert any("Uninstall ROCm 7.2.0 first" in note for note in step.notes)
    assert found.notes[0] == "Chosen: ROCm 7.14."
    assert step_of(chosen("xtx-ubuntu2404-done", rocm="7.2"), "rocm").state == "done"
    lacking = step_of(chosen("xtx-ubuntu2404-done", rocm="5.0"), "rocm")
    assert (lacking.state, lacking.optional) == ("unknown", True)
    assert "7.2.4" in lacking.why


@pytest.mark.parametrize(
    ("maker", "command"),
    [
        ("uv", "uv venv --seed --python 3.12 '~/torch-venv'"),
        ("conda", "conda create -y -p '~/torch-venv' python=3.12 pip"),
    ],
)
def test_an_environment_by_another_program(maker: str, command: str) -> None:
    step = step_of(chosen("xtx-ubuntu2404-fresh", maker=maker), "python-environment")
    assert commands(step) == [command]
    assert f"It needs {maker} on your PATH." in step.notes
    assert "torch-venv/bin/python" in done_test(step.actions[0])


def test_uv_brings_a_python_that_the_distribution_lacks() -> None:
    without = step_of(chosen("mi210-8-sles15"), "python-environment")
    made = step_of(chosen("mi210-8-sles15", maker="uv"), "python-environment")
    assert made.state == "todo"
    assert "--python 3." in commands(made)[0]
    assert without.state == "todo" or "--with uv" in without.notes[0]


def test_wheels_alone_bring_rocm_into_the_environment_of_torch() -> None:
    found = chosen("xtx-ubuntu2404-fresh", wheels=True)
    names = [step.id for step in found.steps]
    assert "rocm" not in names
    assert names.index("python-environment") < names.index("rocm-wheels") < names.index("torch")
    step = step_of(found, "rocm-wheels")
    (command,) = commands(step)
    assert "'rocm[libraries,devel,device-gfx1100]==" in command
    assert command.split("--index-url ")[1] == _installs(found).split("--index-url ")[1], "one index for both"
    assert not any(action.root for action in step.actions)
    assert step.proof == ("~/torch-venv/bin/rocm-sdk", "targets")
    assert "rocm-wheels" not in [one.id for one in chosen("rtx4090-rhel9-no-torch", wheels=True).steps]


def test_a_release_has_the_form_of_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["setup", "--from", _FIXTURE, "--rocm", "7.2; rm"]) == 2
    assert run(["setup", "--from", _FIXTURE, "--rocm", "\N{FULLWIDTH DIGIT SEVEN}.2"]) == 2
    assert run(["setup", "--from", _FIXTURE, "--torch", "newest"]) == 2
    assert "a release looks like" in capsys.readouterr().err
    assert run(["setup", "--from", _FIXTURE, "--with", "poetry"]) == 2
    assert run(["setup", "--from", _FIXTURE, "--torch", "2.9.1"]) == 1
    assert "torch 2.9.1" in capsys.readouterr().out


def test_releases_that_can_stand_beside_each_other_stay_and_keep_their_keys() -> None:
    newer = plan_in("xtx-ubuntu2404-rocm-goal", rocm="10.1.0")
    assert step_of(newer, "rocm").state == "done"
    older = step_of(chosen("xtx-ubuntu2404-rocm-goal", state={"rocm": "10.1.0"}, rocm="7.14"), "rocm")
    assert older.risk == "safe"
    assert any(note.startswith("ROCm 10.1.0 stays installed in /opt/rocm") for note in older.notes)
    first = step_of(plan_in("xtx-ubuntu2404-rocm-goal"), "rocm")

    def written(step: Step) -> set[str]:
        files = {one.file for one in step.actions if one.file}
        return files | {word for one in step.actions for word in one.words if word.startswith("/etc/apt/keyrings/")}

    assert not written(older) & written(first), "one would write over what the other needs"


def test_a_chosen_torch_whose_builds_nobody_read_is_proposed_as_that() -> None:
    step = step_of(chosen("cpu-laptop", torch="2.15"), "torch")
    assert "torch==2.15.0" in commands(step)[-1]
    assert "nobody has checked whether this index has a build of it for cpu" in step.support
    assert not step_of(chosen("cpu-laptop", torch="2.14"), "torch").support
