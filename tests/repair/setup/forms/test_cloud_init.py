"""A plan as user data of cloud-init: the script whole, what starts it, and what cannot be said there."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from rocdoctor.repair.setup.forms.cloud_init import render
from rocdoctor.repair.setup.forms.parts import CannotExpress
from rocdoctor.repair.setup.plan import Action, Step
from rocdoctor.repair.setup.script import render as script_of
from rocdoctor.service.errors import UsageError
from rocdoctor.service.setup_forms import as_form
from tests.repair.setup.forms.kit import HOSTILE, MINE, one_step, planned, planner
from tests.repair.setup.plan_kit import DONE, FULL, UNKNOWN
from tests.repair.setup.test_script import needs_bash

_SCRIPT, _STARTER = "/var/lib/rocdoctor/set-up.sh", "/var/lib/cloud/scripts/per-boot/rocdoctor-set-up"


def _files(text: str) -> dict[str, dict[str, Any]]:
    assert text.startswith("#cloud-config\n")
    return {one["path"]: one for one in yaml.safe_load(text)["write_files"]}


def test_the_script_of_the_plan_is_in_it_byte_by_byte() -> None:
    text = render(FULL, MINE, "")
    files = _files(text)
    assert files[_SCRIPT]["content"] == script_of(FULL, "a test", False)
    assert all(files[one]["permissions"] == "0755" for one in (_SCRIPT, _STARTER))
    assert yaml.safe_load(text)["power_state"] == {
        "mode": "reboot",
        "condition": ["test", "-e", "/run/rocdoctor-restart"],
    }


def test_each_step_is_verified_where_it_is_logged() -> None:
    """What the script prints goes to cloud-init's log, and a step that fails its proof ends it."""
    for name, line in (
        ("rx9070xt-ubuntu2404-old-kernel", "shown '^7[.]0[.]' uname -r"),
        ("mi300x-8-ubuntu2204-fresh", "verified rocdoctor check gpu-without-driver --quiet"),
        ("cpu-laptop", r'shown "^Python 3[.]12([.]|\$)" "$HOME/torch-venv/bin/python" --version'),
    ):
        script = _files(as_form("cloud-init", [planned(name)], planner))[_SCRIPT]["content"]
        assert line in [one.strip() for one in script.splitlines()], line


@pytest.mark.parametrize("word", HOSTILE)
def test_words_of_the_machine_stay_in_their_place(word: str) -> None:
    step = Step(
        "a", word, "todo", word, actions=(Action(("pip", word)), Action(file="/f", lines=(word,))), support=word
    )
    plan = replace(one_step(step), notes=(word,))
    text = render(plan, replace(MINE, os_words=word, gpus=word), "")
    assert set(yaml.safe_load(text)) == {"write_files"}
    assert _files(text)[_SCRIPT]["content"] == script_of(plan, "a test", False)


def test_a_machine_without_a_restart_gets_none() -> None:
    assert "power_state" not in yaml.safe_load(render(UNKNOWN, MINE, ""))


def test_what_is_left_to_a_person_is_said_first() -> None:
    head = render(FULL, MINE, "").partition("write_files:")[0]
    assert "Left to you: step 3, Enrol the key that signs the module. Secure Boot is on." in head.replace("\n# ", " ")


@pytest.mark.parametrize(
    ("plan", "made", "enclosed", "words"),
    [
        (FULL, MINE, "a docker container", "this is a docker container"),
        (DONE, MINE, "", "nothing is left to do"),
        (FULL, replace(MINE, foreign="/x/python"), "", "/x/python"),
    ],
)
def test_what_it_cannot_say_is_refused(plan: Any, made: Any, enclosed: str, words: str) -> None:
    with pytest.raises(CannotExpress, match=words):
        render(plan, made, enclosed)


def test_machines_inside_others_are_refused() -> None:
    for name, words in (("wsl2-xtx-without-torch", "Linux inside Windows"), ("docker-8-mi300x", "docker container")):
        with pytest.raises(UsageError, match=words):
            as_form("cloud-init", [planned(name)], planner)


@needs_bash
def test_the_starter_goes_on_after_a_login_waits_for_a_restart_and_removes_itself(tmp_path: Path) -> None:
    text = _files(render(FULL, MINE, ""))[_STARTER]["content"]
    said = tmp_path / "statuses"
    fakes = {
        "getent": "#!/bin/sh\necho alice:x:1000:1000::/home/alice:/bin/sh\n",
        "runuser": f'#!/bin/sh\necho "$*" >> {tmp_path}/calls\nread -r code < {said}; sed -i 1d {said}; exit "$code"\n',
        "rm": f'#!/bin/sh\necho "rm $*" >> {tmp_path}/calls\n',
    }
    for name, body in fakes.items():
        (tmp_path / name).write_text(body)
        (tmp_path / name).chmod(0o755)
    for statuses, code, starts, removed in (
        ("10", 0, 1, False),
        ("11\n0", 0, 2, True),
        ("11\n1", 1, 2, False),
        ("1", 1, 1, False),
        ("0", 0, 1, True),
    ):
        said.write_text(f"{statuses}\n")
        (tmp_path / "calls").write_text("")
        done = subprocess.run(
            ["sh", "-c", text], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=False, capture_output=True
        )
        calls = (tmp_path / "calls").read_text()
        assert done.returncode == code, (statuses, done.stderr)
        assert calls.count("-l alice -c exec bash /var/lib/rocdoctor/set-up.sh") == starts
        assert (f"rm -f {_STARTER}" in calls) is removed
