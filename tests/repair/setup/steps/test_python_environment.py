"""The environment that torch goes into, and variables that the GPU to train on needs."""

from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.model.facts import Machine, TorchBuild
from rocdoctor.repair.setup.plan import Action, Step
from tests.kit import environment, u
from tests.repair.setup.desk import VENV, desk, gpu, planned, torch
from tests.repair.setup.kit import commands, ids, step_of

_NEW = "~/torch-venv"


def _python(machine: Machine) -> Step:
    return step_of(planned(machine), "python-environment")


def _system(python: str = "3.12.3", **more: Any) -> TorchBuild:
    told: dict[str, Any] = {"environment": "system", "externally_managed": True}
    return torch(path="/usr/bin/python3", python=python, **told | more)


@pytest.mark.parametrize("kind", ["venv", "conda"])
def test_an_environment_of_its_own_is_kept(kind: str) -> None:
    found = _python(desk(gpu("xtx"), build=torch(environment=kind)))
    assert found.state == "done" and VENV in found.why and found.evidence


@pytest.mark.parametrize("kind", ["system", "pyenv", "uv", "nix", "other"])
def test_every_other_interpreter_gets_a_virtual_environment_beside_it(kind: str) -> None:
    found = planned(desk(gpu("xtx"), build=_system(environment=kind)))
    made = step_of(found, "python-environment")
    assert made.state == "todo" and made.risk == "safe"
    assert made.actions[-1].words == ("python3", "-m", "venv", _NEW)
    assert [one.words for one in made.undo] == [("rm", "-r", _NEW)]
    assert step_of(found, "torch").actions[-1].words[:3] == (f"{_NEW}/bin/python", "-m", "pip")


def test_what_the_system_has_stays_and_is_not_uninstalled() -> None:
    build = torch("2.9.1+cpu", path="/usr/bin/python3", environment="system", externally_managed=True)
    found = step_of(planned(desk(gpu("xtx"), build=build)), "torch")
    assert not any("uninstall" in command for command in commands(found))
    assert any("2.9.1+cpu" in note and "stays" in note for note in found.notes)
    assert [one.words[-2:] for one in found.undo] == [("torch", "torchvision")]


def test_the_mark_of_an_externally_managed_interpreter_is_named() -> None:
    assert "PEP 668" in _python(desk(gpu("xtx"), build=_system())).why
    assert "PEP 668" not in _python(desk(gpu("xtx"), build=_system(externally_managed=False))).why


@pytest.mark.parametrize(
    ("os", "python", "wanted"),
    [
        ("ubuntu 24.04", "3.12.3", ["apt update", "apt install python3-venv", f"python3 -m venv '{_NEW}'"]),
        ("debian 12", "3.11.2", ["apt update", "apt install python3-venv", f"python3 -m venv '{_NEW}'"]),
        ("rhel 9.6", "3.9.21", ["dnf install python3.11", f"python3.11 -m venv '{_NEW}'"]),
        ("rhel 10.0", "3.12.9", [f"python3 -m venv '{_NEW}'"]),
        ("fedora 42", "3.13.7", [f"python3 -m venv '{_NEW}'"]),
    ],
)
def test_the_commands_are_those_of_the_distribution(os: str, python: str, wanted: list[str]) -> None:
    found = _python(desk(gpu("xtx"), os=os, build=_system(python)))
    assert commands(found) == wanted
    assert [action.root for action in found.actions] == [True] * (len(wanted) - 1) + [False]


def test_a_python_without_wheels_is_said_and_nothing_is_guessed() -> None:
    found = planned(desk(gpu("xtx"), os="fedora 44", build=_system("3.15.0")))
    made = step_of(found, "python-environment")
    assert made.state == "unknown" and "3.15" in made.why and not made.actions
    assert step_of(found, "torch").state == "waiting"


def test_an_environment_whose_python_is_too_new_gets_one_beside_it() -> None:
    found = planned(desk(gpu("xtx"), build=torch(python="3.15.0")))
    made = step_of(found, "python-environment")
    assert made.state == "todo" and "3.15" in made.why
    assert step_of(found, "torch").actions[-1].words[0] == f"{_NEW}/bin/python"


def test_the_interpreter_of_an_image_is_that_of_the_image() -> None:
    inside = {"kind": "docker", "rootless": False}
    free = _python(desk(gpu("xtx"), container=inside, build=_system(environment="other", externally_managed=False)))
    assert free.state == "done"
    assert _python(desk(gpu("xtx"), container=inside, build=_system())).state == "todo"


def test_in_a_job_nothing_asks_for_root() -> None:
    found = _python(desk(gpu("xtx"), build=_system(), variables={"SLURM_JOB_ID": "7"}))
    assert commands(found) == [f"python3 -m venv '{_NEW}'"]
    assert any("administrator" in note and "apt install python3-venv" in note for note in found.notes)


def test_older_evidence_is_read_by_path_and_active_environment() -> None:
    old: dict[str, Any] = {"environment": u(), "externally_managed": u()}
    active = desk(gpu("xtx"), build=torch(**old), variables={"VIRTUAL_ENV": VENV.removesuffix("/bin/python")})
    assert _python(active).state == "done"
    assert _python(desk(gpu("xtx"), build=torch(path="/usr/bin/python3", **old))).state == "todo"


def test_without_an_interpreter_the_step_asks_for_one() -> None:
    found = _python(desk(gpu("xtx"), build=TorchBuild()))
    assert found.state == "unknown" and "--python" in found.why


# -- variables


def test_the_override_that_a_wheel_needs_is_a_step_with_its_risk() -> None:
    found = step_of(planned(desk(gpu("navi24"), build=torch())), "gfx-override")
    file = VENV.replace("/python", "/activate")
    line = "export HSA_OVERRIDE_GFX_VERSION=10.3.0"
    assert found.state == "todo" and found.risk == "risky" and found.effective == "new-login"
    assert found.actions == (Action(file=file, lines=(line,), append=True),)
    assert found.undo[0].words == ("sed", "-i", r"/^export HSA_OVERRIDE_GFX_VERSION=10\.3\.0$/d", file)
    assert "Nobody supports this" in found.support and found.needs == ("torch",)
    wheel = step_of(planned(desk(gpu("navi24"), build=torch())), "torch")
    assert "gfx1030, which gfx1034 can be run as" in wheel.why


def test_a_torch_that_only_lacks_the_override_is_not_installed_again() -> None:
    found = planned(desk(gpu("navi24"), build=torch("2.11.0+rocm7.2")))
    assert step_of(found, "torch").state == "done" and "gfx1030" in step_of(found, "torch").why
    assert step_of(found, "gfx-override").state == "todo"


def test_the_override_is_done_where_it_is_set_to_the_right_group() -> None:
    def state(value: str) -> str:
        machine = desk(gpu("navi24"), build=torch("2.11.0+rocm7.2"), variables={"HSA_OVERRIDE_GFX_VERSION": value})
        return step_of(planned(machine), "gfx-override").state

    assert state("10.3.0") == "done"
    assert state("11.0.0") == "todo"


def test_what_runs_by_an_override_is_kept_and_nothing_new_is_made_to() -> None:
    build = torch("2.11.0+rocm7.2")
    set_up = planned(desk(gpu("navi22"), build=build, variables={"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}))
    assert step_of(set_up, "torch").state == "done" and step_of(set_up, "gfx-override").state == "done"
    fresh = planned(desk(gpu("navi22"), build=build))
    assert "gfx-override" not in ids(fresh)
    assert "'torch[device-gfx1031]==2.14.0+rocm10.1.0'" in " ".join(commands(step_of(fresh, "torch")))


def test_an_excerpt_of_the_environment_leaves_the_override_unknown() -> None:
    machine = desk(gpu("navi24"), build=torch("2.11.0+rocm7.2"), environment=environment({}, complete=False))
    assert step_of(planned(machine), "gfx-override").state == "unknown"


def test_no_override_where_it_would_reach_another_card_or_nobody_needs_it() -> None:
    assert "gfx-override" not in ids(planned(desk(gpu("navi22"), gpu("xtx", 1))))
    assert "gfx-override" not in ids(planned(desk(gpu("xtx"))))


def test_the_integrated_gpu_in_front_is_hidden_and_shown_when_done() -> None:
    cards = (gpu("xtx", kfd_node=2), gpu("raphael", 1, kfd_node=1))
    build = torch("2.11.0+rocm7.2")
    found = step_of(planned(desk(*cards, build=build)), "hide-igpu")
    assert found.state == "todo" and found.risk == "safe"
    assert found.actions[0].lines == ("export HIP_VISIBLE_DEVICES=1",)
    done = step_of(planned(desk(*cards, build=build, variables={"HIP_VISIBLE_DEVICES": "1"})), "hide-igpu")
    assert done.state == "done" and done.evidence[0].value == "HIP_VISIBLE_DEVICES=1"
    assert "hide-igpu" not in ids(planned(desk(cards[0], build=build)))


def test_in_a_container_a_variable_is_given_at_its_start() -> None:
    inside = {"kind": "docker", "rootless": False}
    found = step_of(planned(desk(gpu("navi24"), build=torch("2.11.0+rocm7.2"), container=inside)), "gfx-override")
    assert found.risk == "manual" and not found.actions
    assert any("-e HSA_OVERRIDE_GFX_VERSION=10.3.0" in note for note in found.notes)
