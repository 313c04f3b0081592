"""A plan as a playbook: what each step becomes, what a play refuses, and that words stay words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.model.evidence import Known, Source
from rocdoctor.repair.setup.command_lines import PYTHON, is_ready
from rocdoctor.repair.setup.forms.ansible import render
from rocdoctor.repair.setup.forms.ansible_tasks import tasks
from rocdoctor.repair.setup.forms.parts import origin
from rocdoctor.repair.setup.plan import Action, SetupPlan, Step, Verify
from rocdoctor.service.setup_forms import as_form
from tests.repair.setup.forms.kit import HOSTILE, MINE, filled, flat, one_step, planned, planner, playbook
from tests.repair.setup.plan_kit import (
    DRIVER,
    FULL,
    GROUPS,
    IMPOSSIBLE,
    KEY,
    OPTIONAL,
    REPOSITORY,
    RESTART,
    RISKY,
    TORCH,
)

pytest.importorskip("jinja2")
_KNOWN = {"train_user": "alice", "train_home": "/home/alice", "train_python": "/opt/my python"}
_COMMAND = "ansible.builtin.command"


def _all(plan: SetupPlan) -> list[dict[str, Any]]:
    (play,) = playbook(render([(plan, MINE)]))
    return list(flat(play["tasks"]))[3:]  # behind the look at system and user


def _module(task: dict[str, Any]) -> str:
    return next(key for key in task if key.startswith("ansible.builtin."))


@pytest.mark.parametrize(
    ("words", "module", "options"),
    [
        ("apt update", "apt", {"update_cache": True}),
        ("apt install a b", "apt", {"name": ["a", "b"], "state": "present"}),
        ("apt autoremove a", "apt", {"name": ["a"], "state": "absent", "autoremove": True}),
        ("apt purge a", "apt", {"name": ["a"], "state": "absent", "purge": True}),
        ("apt install a=1", "command", {"argv": ["apt-get", "-y", "install", "a=1"]}),
        ("dnf install a", "dnf", {"name": ["a"], "state": "present"}),
        (
            "dnf install https://x.example/a.rpm",
            "dnf",
            {"name": "https://x.example/a.rpm", "state": "present", "disable_gpg_check": True},
        ),
        ("dnf module enable a:b", "command", {"argv": ["dnf", "-y", "module", "enable", "a:b"]}),
        ("zypper install a", "command", {"argv": ["zypper", "--non-interactive", "install", "a"]}),
        ("pacman -S a", "command", {"argv": ["pacman", "--noconfirm", "-S", "a"]}),
        ("usermod -a -G render,video $USER", "user", {"name": "alice", "groups": ["render", "video"], "append": True}),
        (
            "install -d -m 0755 /etc/apt/keyrings",
            "file",
            {"path": "/etc/apt/keyrings", "state": "directory", "mode": "0755"},
        ),
        ("rm /etc/x", "file", {"path": "/etc/x", "state": "absent"}),
        (
            "curl -fsSL -o /k https://x.example/k",
            "get_url",
            {"url": "https://x.example/k", "dest": "/k", "mode": "0644"},
        ),
        (
            "curl -fsSL https://x.example/k -o /k",
            "command",
            {"argv": ["curl", "-fsSL", "https://x.example/k", "-o", "/k"]},
        ),
        ("systemctl enable --now munge", "systemd_service", {"name": "munge", "enabled": True, "state": "started"}),
        (
            "python3 -m venv ~/e",
            "command",
            {"argv": ["python3", "-m", "venv", "/home/alice/e"], "creates": "/home/alice/e/bin/pip"},
        ),
    ],
)
def test_a_command_becomes_the_module_that_knows_whether_it_is_done(
    words: str, module: str, options: dict[str, Any]
) -> None:
    (task,) = _all(one_step(Step("a", "A", "todo", "W", actions=(Action(tuple(words.split()), root=True),))))
    assert _module(task) == f"ansible.builtin.{module}"
    told = filled(task[f"ansible.builtin.{module}"], _KNOWN)
    assert told == options or told == {**options, "expand_argument_vars": False}
    assert task["become"] is True


def test_files_are_written_whole_and_lines_are_added() -> None:
    found = [one for one in _all(replace(FULL, steps=(REPOSITORY,))) if "ansible.builtin.copy" in one]
    assert found[0]["ansible.builtin.copy"] == {
        "dest": "/etc/apt/sources.list.d/rocm.list",
        "content": "deb [arch=amd64] x main\nit's $a `b`\n",
        "mode": "0644",
        "backup": True,
    }
    (line,) = tasks(Action(file="/f", lines=("a b",), append=True, root=True))
    assert line["ansible.builtin.lineinfile"] == {"path": "/f", "line": "a b", "create": True, "mode": "0644"}


def _argv(action: Action) -> list[str]:
    (task,) = _all(one_step(Step("a", "A", "todo", "W", actions=(action,))))
    told = task[_COMMAND]
    argv: list[str] = filled(told["argv"], _KNOWN)
    # the module expands variables and a leading ~ unless it is told not to
    assert told.get("expand_argument_vars") is False or not any("$" in one or one.startswith("~") for one in argv)
    return argv


@pytest.mark.parametrize("word", HOSTILE)
def test_a_hostile_word_is_the_same_word_for_ansible(word: str) -> None:
    meant = word.replace("$HOME", "/home/alice") if word.startswith("$HOME") else word
    meant = f"/home/alice{meant[1:]}" if meant.startswith("~/") else meant
    assert _argv(Action(("pip", word))) == ["pip", meant]
    step = Step("a", word, "todo", word, (), (Action(file="/f", lines=(word,)),))
    (play,) = playbook(render([(one_step(step), replace(MINE, os_id=word, os_words=word, gpus=word, name=word))]))
    (task,) = list(flat(play["tasks"]))[3:]
    assert filled(task["ansible.builtin.copy"]["content"], _KNOWN) == f"{meant}\n"
    assert filled(play["tasks"][3]["name"], _KNOWN) == f"Step 1: {' '.join(word.split())}"
    assert filled(play["tasks"][1]["vars"], _KNOWN) == {"made_for": f"{word} 12".strip()}


@given(st.text(alphabet=st.sampled_from("{}%#$~'\"\\ :-!&*[],\n|>abUSERHOM/"), max_size=12))
def test_any_word_is_the_same_word_for_ansible(word: str) -> None:
    action = Action(("pip", word))
    if not is_ready(action) or "$USER" in word or "$HOME" in word or word == "~" or word.startswith("~/"):
        return
    assert _argv(action) == ["pip", word]


def test_the_interpreter_of_the_reader_is_asked_for() -> None:
    action = Action((PYTHON, "-m", "pip", "install", "torch"))
    assert _argv(action)[0] == "/opt/my python"
    (play,) = playbook(
        render([(one_step(Step("a", "A", "todo", "W", actions=(action,))), replace(MINE, foreign="/x"))])
    )
    assert any("train_python is defined" in str(one) for one in play["tasks"])


def test_a_restart_is_marked_where_something_changed_and_done_once() -> None:
    found = _all(replace(FULL, steps=(DRIVER, RESTART)))
    marked = next(one for one in found if one.get("ansible.builtin.file", {}).get("state") == "touch")
    assert marked["ansible.builtin.file"]["path"] == "/run/rocdoctor-restart"
    registered = [one["register"] for one in found if str(one.get("register")).startswith("step_1_")]
    assert len(registered) == 3
    assert all(one in marked["when"] for one in registered)
    reboot = next(one for one in found if "ansible.builtin.reboot" in one)
    assert reboot["when"] == ["due.stat.exists", "ansible_connection != 'local'"]
    # one that is due already is not repeated without end
    ready = _all(replace(FULL, steps=(replace(RESTART, state="todo"),)))
    assert any("not restarted | bool" in str(one.get("when")) for one in ready)


def test_groups_are_followed_by_a_new_login() -> None:
    login, verified = _all(replace(FULL, steps=(GROUPS,)))[-2:]
    assert login["ansible.builtin.meta"] == "reset_connection"
    assert verified[_COMMAND]["argv"] == ["rocdoctor", "check", "device-node-denied", "--quiet"]
    assert (verified["changed_when"], verified["failed_when"]) == (False, "verified.rc == 1")
    # a host without rocdoctor proves nothing, so the play says how to verify
    assert verified["name"].endswith("verify it, where rocdoctor is installed")
    assert "To verify: rocdoctor check device-node-denied" in render([(one_step(GROUPS), MINE)])


def test_what_verifies_a_step_is_a_task_and_no_comment() -> None:
    """After the restart where the step asks for one; by its output where that tells, else by its exit status."""
    kernel = replace(DRIVER, verify=Verify(command="uname -r", expects="^7[.]0[.]"), proof=("uname", "-r"))
    plan = replace(FULL, steps=(kernel, RESTART))
    found = _all(plan)
    restart = next(at for at, one in enumerate(found) if "ansible.builtin.reboot" in one)
    verified = [at for at, one in enumerate(found) if one.get("register") == "verified"]
    assert verified == [restart + 1]
    task = found[verified[0]]
    assert task[_COMMAND]["argv"] == ["uname", "-r"] and task["vars"]["wanted"] == "^7[.]0[.]"
    assert task["failed_when"] == "verified.stdout is not search(wanted, multiline=true)"
    told = render([(plan, MINE)])
    assert "To verify: uname -r" not in told.split("Restart the machine", 1)[0]
    proven = replace(TORCH, state="todo", needs=(), proof=("python", "-c", "1"))
    (task,) = [one for one in _all(one_step(proven)) if one.get("register") == "verified"]
    assert task[_COMMAND]["argv"] == ["python", "-c", "1"] and "failed_when" not in task
    # nobody can tell what only a person reads, and what is not done is not verified
    shown = replace(GROUPS, verify=Verify(command="id", shows="render"))
    assert not [one for one in _all(one_step(shown)) if one.get("register") == "verified"]
    assert "To verify: id" in render([(one_step(shown), MINE)])
    assert not [one for one in _all(one_step(KEY)) if one.get("register") == "verified"]


def test_what_a_person_has_to_do_stops_the_play_until_they_say_that_it_is_done() -> None:
    text = render([(FULL, MINE)])
    (task,) = [one for one in _all(FULL) if "ansible.builtin.fail" in one and "key" in str(one.get("when"))]
    assert task["when"] == "'key' not in done_by_hand"
    assert "Secure Boot is on" in task["ansible.builtin.fail"]["msg"]
    assert "mokutil --import" in task["ansible.builtin.fail"]["msg"]
    assert """-e '{"done_by_hand": ["key"]}'""" in text
    assert not any("mokutil" in str(one.get(_COMMAND)) for one in _all(FULL))
    assert KEY in FULL.steps


def test_what_has_no_way_stops_the_play_for_good() -> None:
    (task,) = _all(IMPOSSIBLE)
    assert task["ansible.builtin.fail"]["msg"].startswith("No source describes a way")
    assert "when" not in task


def test_optional_and_risky_steps_wait_to_be_asked_for() -> None:
    (play,) = playbook(render([(OPTIONAL, MINE)]))
    assert play["tasks"][3]["tags"] == ["never", "optional"]
    (play,) = playbook(render([(RISKY, MINE)]))
    refused, block = play["tasks"][3:]
    assert (refused["when"], block["when"]) == ("not with_risky | bool", "with_risky | bool")
    assert "ansible.builtin.fail" in refused


def test_packages_of_a_new_repository_may_fail_in_a_dry_run_alone() -> None:
    plan = one_step(replace(REPOSITORY, actions=(*REPOSITORY.actions, Action(("apt", "install", "rocm"), root=True))))
    assert [one for one in _all(plan) if "ansible.builtin.apt" in one][-1][
        "ignore_errors"
    ] == "{{ ansible_check_mode }}"


def test_a_play_is_for_its_system_and_its_user() -> None:
    (play,) = playbook(render([(FULL, MINE)]))
    look, system, user = play["tasks"][:3]
    assert "os-release" in look["ansible.builtin.shell"]
    assert system["vars"]["made_for"] == "debian 12"
    assert user["ansible.builtin.assert"]["that"] == "train_user != 'root'"
    (play,) = playbook(render([(FULL, replace(MINE, root=True))]))
    assert play["tasks"][2]["ansible.builtin.assert"]["that"] == "train_user == 'root'"


def test_machines_with_the_same_steps_are_one_group() -> None:
    names = ("xtx-ubuntu2404-fresh", "mi300x-8-ubuntu2204-fresh", "xtx-ubuntu2404-fresh")
    text = as_form("ansible", [planned(one) for one in names], planner)
    plays = playbook(text)
    assert [one["hosts"] for one in plays] == ["rocdoctor_1", "rocdoctor_2"]
    head = text.partition("- name:")[0]
    assert head.count("xtx-ubuntu2404-fresh.txt") == 2
    assert head.index("[rocdoctor_1]") < head.index("[rocdoctor_2]") < head.index("mi300x-8-ubuntu2204-fresh.txt")


def test_every_step_is_told_of_and_what_runs_is_what_the_plan_says() -> None:
    one = planned("mi300x-8-rhel9-cluster-node")
    text = as_form("ansible", [one], planner)
    for place, step in enumerate(one.plan.steps, 1):
        assert f"# Step {place} of {len(one.plan.steps)}: {step.title[:40]}" in text
    (play,) = playbook(text)
    modules = [_module(task) for task in flat(play["tasks"])]
    assert modules.count("ansible.builtin.reboot") == 1
    assert modules.index("ansible.builtin.user") < modules.index("ansible.builtin.reboot")


def test_signs_that_reorder_a_line_are_not_in_the_play() -> None:
    machine = planned("cpu-laptop").diagnosis.machine
    gone = Source("read /etc/os-release", 1)
    named = replace(machine.os, id=Known("de\u202ebian", gone), version_id=Known("12\u2028", gone))
    text = render([(FULL, origin(replace(machine, os=named), "a test", root=False))])
    assert "made_for: de bian 12\n" in text
    assert "\u202e" not in text
