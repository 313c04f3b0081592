"""A plan as a Dockerfile: its base, what runs in it, what stays with the host, and that words stay words."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from rocdoctor.knowledge.install.images import distribution_image, vendor_images
from rocdoctor.repair.setup.forms.dockerfile import render
from rocdoctor.repair.setup.forms.image_plan import image_plan
from rocdoctor.repair.setup.forms.parts import CannotExpress
from rocdoctor.repair.setup.plan import Action, SetupPlan, Step
from rocdoctor.service.errors import UsageError
from rocdoctor.service.setup_forms import as_form
from tests.repair.setup.forms.kit import HOSTILE, MINE, one_step, planned, planner
from tests.repair.setup.plan_kit import FULL
from tests.shell_box import ShellBox, needs_bash

_NONE = SetupPlan("pytorch", ())


def _torch(*words: str) -> SetupPlan:
    step = Step("torch", "T", "todo", "W", actions=(Action(("/opt/venv/bin/python", "-m", "pip", "install", *words)),))
    return one_step(replace(step, layer="torch"))


def _instructions(text: str) -> list[str]:
    """The instructions with their lines joined, as Docker reads them: comments and blank lines are left out."""
    kept = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return re.sub(r"\\\n", "", "\n".join(kept)).splitlines()


def _text(name: str) -> str:
    return as_form("dockerfile", [planned(name)], planner)


def test_a_machine_that_is_done_gets_an_image_from_nothing() -> None:
    said = _instructions(_text("xtx-ubuntu2404-done"))
    assert said[0] == "FROM docker.io/library/ubuntu:24.04"
    assert any("python3 -m venv /opt/venv" in one for one in said)
    assert any("/opt/venv/bin/python -m pip install --no-cache-dir torch==" in one for one in said)
    assert not any("sudo" in one or "torch-venv" in one for one in said)
    assert said[-2].startswith("RUN /opt/venv/bin/python -c ")
    assert said[-1] == "WORKDIR /work"


def test_the_image_holds_nothing_of_the_host_and_says_what_stays_there() -> None:
    text = _text("mi300x-8-ubuntu2204-fresh")
    assert not any("dkms" in one or "usermod" in one or "reboot" in one for one in _instructions(text))
    assert re.search(r"# On the host first: step \d+ of rocdoctor setup, Install AMD's kernel driver", text)
    assert '--device=/dev/kfd --device=/dev/dri --group-add "$(stat -c %g /dev/kfd)"' in text


def test_a_build_proves_what_it_can_without_a_gpu() -> None:
    said = _instructions(_text("xtx-ubuntu2404-fresh"))
    assert r'RUN /opt/venv/bin/python --version | grep -E "^Python 3[.]12([.]|\$)"' in said
    assert "On the host first" not in _text("xtx-ubuntu2404-fresh"), "a kernel that the goal does not need"
    text = _text("xtx-ubuntu2404-rocm-goal")
    assert "RUN test -x /opt/rocm/core-10.1/bin/rocminfo" in _instructions(text)
    assert "what it shows with a GPU is seen in the container: gfx1100 among the agents" in text.replace("\n# ", " ")


def test_devices_are_those_of_the_vendor() -> None:
    assert "--gpus all" in _text("rtx4090-ubuntu2404-no-driver")
    cpu = _text("cpu-laptop")
    assert "--device" not in cpu and "--gpus" not in cpu
    assert "/whl/cpu" in cpu


def test_amds_image_is_the_base_where_it_has_the_torch_that_the_plan_chose() -> None:
    made = replace(MINE, os_id="ubuntu", os_version="24.04")
    said = _instructions(render(_torch("torch[device-gfx942]==2.14.0+rocm10.1.0"), _NONE, made, "amd"))
    assert said[0] == "FROM docker.io/rocm/pytorch:rocm10.1.0_ubuntu24.04_py3.12_pytorch_release_2.14.0"
    assert not any("pip install" in one for one in said)
    # whether it has code for a target that AMD's lists lack is not known
    unlisted = _torch("torch[device-gfx1031]==2.14.0+rocm10.1.0")
    assert _instructions(render(unlisted, _NONE, made, "amd", ("gfx1031",)))[0] == "FROM docker.io/library/ubuntu:24.04"
    text = render(_torch("torch==2.14.0", "--index-url", "https://x/rocm7.2"), _NONE, made, "amd", ("gfx942",))
    assert "if you prefer it: docker.io/rocm/pytorch:rocm10.1.0_ubuntu24.04" in text.replace("\n# ", " ")
    other = _instructions(text)
    assert other[0] == "FROM docker.io/library/ubuntu:24.04"
    assert any("pip install" in one for one in other)


def test_variables_of_the_environment_become_those_of_the_image() -> None:
    line = "export HSA_OVERRIDE_GFX_VERSION=10.3.0"
    actions = (Action(file="~/torch-venv/bin/activate", lines=(line,), append=True),)
    step = Step("gfx-override", "T", "todo", "W", actions=actions, risk="risky", layer="torch")
    plan = replace(_torch("torch==2.11.0"), steps=(*_torch("torch==2.11.0").steps, step))
    assert 'ENV HSA_OVERRIDE_GFX_VERSION="10.3.0"' in _instructions(render(plan, _NONE, MINE, "amd"))


def test_images_are_named_by_what_their_makers_pages_name() -> None:
    assert distribution_image("debian", "13") is not None
    assert distribution_image("debian", "13; x") is None
    assert distribution_image("plan9", "4") is None
    first, *rest = vendor_images("2.14.0", "ubuntu 22.04", "10.1")
    assert first.name == "docker.io/rocm/pytorch:rocm10.1.0_ubuntu22.04_py3.10_pytorch_release_2.14.0"
    assert len(rest) == 2
    assert vendor_images("2.14.0", "ubuntu 22.04", "7.2") == ()
    assert "ubuntu24.04" in vendor_images("2.14.0", "debian 13")[0].name


def test_what_has_no_image_is_refused() -> None:
    for name, words in (
        ("mi210-8-sles15", "no base image for SUSE"),
        ("rx9070xt-fedora42-old-rocm", "no base image for Fedora"),
    ):
        with pytest.raises(UsageError, match=words):
            as_form("dockerfile", [planned(name)], planner)
    with pytest.raises(CannotExpress, match=r"from this plan\. T: W"):
        render(one_step(Step("torch", "T", "unknown", "W")), FULL, MINE, "cpu")
    with pytest.raises(CannotExpress, match="No part of this goal"):
        render(_NONE, FULL, MINE, "cpu")


def test_an_image_of_aarch64_gets_the_build_for_the_cpu() -> None:
    made = as_form("dockerfile", [planned("arm-server")], planner)
    assert "FROM docker.io/library/ubuntu:24.04" in made and "torch==2.14.1" in made and "/whl/cpu" in made


def test_the_plan_of_an_image_does_not_depend_on_what_was_done_on_the_machine() -> None:
    names = ("xtx-ubuntu2404-fresh", "xtx-ubuntu2404-done", "xtx-ubuntu2404-old-guide", "xtx-ubuntu2404-cuda-torch")
    plans = [image_plan(planned(one).diagnosis.machine, "pytorch", planner) for one in names]
    assert len({tuple(action for step in one.steps for action in step.actions) for one in plans}) == 1


@needs_bash
@pytest.mark.parametrize("word", HOSTILE)
def test_words_of_the_machine_stay_words(word: str, tmp_path: Path) -> None:
    if word.startswith(("$HOME", "~/")):
        return  # a home folder, which the shell fills in
    step = Step("torch", word, "todo", word, actions=(Action(("pip", word)),), support=word)
    made = replace(MINE, os_words=word, gpus=word)
    said = _instructions(render(one_step(replace(step, layer="torch")), replace(FULL, steps=(step,)), made, "amd"))
    assert [one.split()[0] for one in said] == ["FROM", "RUN", "RUN", "WORKDIR"]
    command = said[1].removeprefix("RUN ")
    assert ("pip", word) in ShellBox(tmp_path).script(command)
