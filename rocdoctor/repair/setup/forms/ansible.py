"""A plan as a playbook of Ansible: machines with the same steps are one group, and each group has one play.

A play asks nobody: what a person has to do stops it with the reason, unless ``-e`` says that it is done. Optional steps
run with ``--tags all,optional``, risky ones with ``-e with_risky=true``. It restarts the machine where a step asks for
that, and goes on afterwards. It can be run again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from rocdoctor.repair.setup.forms.ansible_tasks import VARIABLES, Task, Unsafe, command_task, tasks
from rocdoctor.repair.setup.forms.parts import PlanOrigin, comments, fate, what_is_left
from rocdoctor.repair.setup.plan import Action, SetupPlan, Step
from rocdoctor.repair.setup.script_guards import ends_session, replaced
from rocdoctor.repair.setup.words import GOAL_WORDS, number, proof_words
from rocdoctor.train.emit.files import comment, plain

GROUP = "rocdoctor"
_MARK = "/run/rocdoctor-restart"  # the script's own: a restart removes it
_PACKAGES = ("ansible.builtin.apt", "ansible.builtin.dnf")
Made = tuple[SetupPlan, PlanOrigin]
_NOT_HERE = {
    "look": "it is checked after the steps before it",
    "person": "it has to be done by hand, and the goal does not need it",
    "no-way": "no source describes a way, and the goal does not need it",
}


class _Dumper(yaml.SafeDumper):
    """YAML as people write playbooks: lines below each other, ``!unsafe`` where Ansible must fill nothing in."""


def _unsafe(dumper: yaml.SafeDumper, value: Unsafe) -> yaml.Node:
    return dumper.represent_scalar("!unsafe", str(value), style='"')


def _lines(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(Unsafe, _unsafe)
_Dumper.add_representer(str, _lines)


def render(machines: Sequence[Made]) -> str:
    """The playbook of one machine or of several; those whose tasks are the same share a play."""
    groups: list[list[Made]] = []
    for one in machines:
        same = next((group for group in groups if _tasks(*group[0]) == _tasks(*one)), None)
        if same is None:
            groups.append([one])
        else:
            same.append(one)
    names = [GROUP] if len(groups) == 1 else [f"{GROUP}_{place}" for place in range(1, len(groups) + 1)]
    lines = [*_head(groups, names)]
    for name, group in zip(names, groups, strict=True):
        lines += ["", *_play(name, *group[0])]
    return "\n".join(lines) + "\n"


def _head(groups: Sequence[Sequence[Made]], names: Sequence[str]) -> Iterator[str]:
    plan, made = groups[0][0]
    yield "---"
    yield from comment(f"Setup for {GOAL_WORDS[plan.goal]}, from {made.subject}; written by rocdoctor.")
    yield "# Read it before you run it:  ansible-playbook -i hosts.ini --ask-become-pass FILE"
    yield "#"
    yield "# hosts.ini says which machine is in which group:"
    for name, group in zip(names, groups, strict=True):
        yield f"#   [{name}]"
        for _, one in group:
            told = ", ".join(part for part in (one.os_words, one.gpus) if part)
            yield from comment(f"the host of {plain(one.name) or 'this plan'}{f' ({told})' if told else ''}", "#     ")
    yield "#"
    yield from comment(
        "Log in as the user who will train and can use sudo."
        if not made.root
        else "The plan was made for the user root: log in as root."
    )
    steps = [(one, step) for group in groups for one, _ in group for step in one.steps]
    if any(step.optional and fate(one, step) == "run" for one, step in steps):
        yield "# Optional steps:  --tags all,optional"
    if any(step.risk == "risky" and fate(one, step) == "run" for one, step in steps):
        yield "# Risky steps:  -e with_risky=true"
    if any(fate(one, step) == "restart" and step.state == "todo" for one, step in steps):
        yield "# After the restart that is already due:  -e restarted=true"
    persons = [step for one, step in steps if fate(one, step) == "person" and not step.optional]
    if persons:
        yield f"""# When you have done what is left to you:  -e '{{"done_by_hand": ["{persons[0].id}"]}}'"""
    if made.foreign:
        yield from comment(f"The evidence names the interpreter {plain(made.foreign)}, which is not started; yours:")
        yield "#   -e train_python=PATH"
    yield "# --check does not register repositories, so packages from new ones may fail there."


def _play(name: str, plan: SetupPlan, made: PlanOrigin) -> Iterator[str]:
    told: dict[str, Any] = {
        "name": f"Setup for {GOAL_WORDS[plan.goal]}",
        "hosts": name,
        "gather_facts": True,
        "vars": {
            VARIABLES["USER"]: "{{ ansible_facts['user_id'] }}",
            VARIABLES["HOME"]: "{{ ansible_facts['user_dir'] }}",
            "with_risky": False,
            "done_by_hand": [],
            "restarted": False,
        },
        "tasks": None,
    }
    yield from _dumped([told])[:-1]
    yield "  tasks:"
    yield from _set_in(_dumped(_before(made)))
    for step in plan.steps:
        yield ""
        told_tasks = _step(plan, step)
        yield from comments(plan, step, indent="    ", verified=_is_proven(plan, step))
        if told_tasks:
            yield from _set_in(_dumped(told_tasks))
        elif step.state != "done":
            yield from comment(f"Not in this play: {_NOT_HERE[fate(plan, step)]}.", indent="    ")
    yield ""
    yield from comment(
        f"Then, on each machine: rocdoctor setup --goal {plan.goal}   (what is left, if anything)", "#", "    "
    )


def _literal(told: str) -> str:
    """Words that Ansible prints and compares as they are."""
    return Unsafe(told) if "{" in told else told


def _shortened(told: str, most: int = 100) -> str:
    told = plain(told)
    return told if len(told) <= most else f"{told[: most - 3]}..."


def _set_in(lines: Sequence[str]) -> Iterator[str]:
    yield from (f"    {line}" if line else line for line in lines)


def _dumped(value: list[Task]) -> list[str]:
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110).splitlines()


def _tasks(plan: SetupPlan, made: PlanOrigin) -> list[Task]:
    """All tasks of a play, by which machines are one group: their reasons may differ."""
    return [*_before(made), *(task for step in plan.steps for task in _step(plan, step))]


def _before(made: PlanOrigin) -> list[Task]:
    """What stops a play on a machine that it was not made for, or as somebody else."""
    system = f"{made.os_id} {made.os_version}".strip()
    found: list[Task] = []
    if made.os_id:
        found += [
            {
                "name": "Check which system this is",
                # The shell reads the file: quoted or not, both are usual in it.
                "ansible.builtin.shell": '. /etc/os-release && printf "%s" "$ID${VERSION_ID:+ }${VERSION_ID:-}"',
                "register": "system",
                "changed_when": False,
                "check_mode": False,
            },
            {
                "name": "Stop on any system other than the one in the plan",
                "ansible.builtin.assert": {
                    "that": "system.stdout == made_for",
                    "fail_msg": "This play was made for {{ made_for }}, and this is {{ system.stdout }}.",
                },
                "vars": {"made_for": _literal(system)},
            },
        ]
    who = "the user root" if made.root else "the user who will train, not for root"
    found.append(
        {
            "name": "Stop as any user other than the one in the plan",
            "ansible.builtin.assert": {
                "that": f"{VARIABLES['USER']} {'==' if made.root else '!='} 'root'",
                "fail_msg": f"This play was made for {who}: log in as that user (remote_user, -u).",
            },
        }
    )
    if made.foreign:
        found.append(
            {
                "name": "Stop without an interpreter",
                "ansible.builtin.assert": {
                    "that": f"{VARIABLES['PYTHON']} is defined",
                    "fail_msg": f"Name your interpreter: -e {VARIABLES['PYTHON']}=PATH",
                },
            }
        )
    return found


def _step(plan: SetupPlan, step: Step) -> list[Task]:
    place, what = number(plan, step), fate(plan, step)
    title = f"Step {place}: {plain(step.title)}"
    if what == "restart":
        before = plan.steps[: place - 1]
        mine = [one for one in before if one.effective == "reboot" and not one.optional and fate(plan, one) == "run"]
        return [*_restart(title, step), *(task for one in mine for task in _proven(plan, one))]
    if what in ("person", "no-way") and not step.optional:
        return [_left(title, step, what == "person")]
    if what != "run":
        return []
    inside = [
        {"name": _literal(_shortened(f"Step {place}: {action.command or f'write {action.file}'}")), **one}
        for at, action in enumerate(step.actions)
        for one in _tasks_of(place, action, step.actions[at + 1 :])
    ]
    inside = [_checkable(one, inside[:at]) for at, one in enumerate(inside)]
    restarts = step.effective == "reboot" or any(ends_session(one) for one in step.actions)
    if restarts:
        inside = [{"register": f"step_{place}_{at}", **one} for at, one in enumerate(inside, 1)]
        names = ", ".join(one["register"] for one in inside)
        inside.append(
            {
                "name": f"Step {place}: a restart is due",
                "ansible.builtin.file": {"path": _MARK, "state": "touch", "mode": "0644"},
                "become": True,
                "when": f"[{names}] | select('changed') | list | length > 0",
            }
        )
    elif step.effective == "new-login":
        # A new connection is a new login; it takes no condition.
        inside.append({"name": f"Step {place}: log in again", "ansible.builtin.meta": "reset_connection"})
    if step.effective != "reboot":
        inside += _proven(plan, step)
    block: Task = {"name": _literal(title), "block": inside}
    if step.risk == "risky":
        block["when"] = "with_risky | bool"
    found = [block]
    if step.optional:
        block["tags"] = ["never", "optional"]
    elif step.risk == "risky":
        stop = f"Step {place} is risky and was left alone: read it, then add -e with_risky=true."
        told = {"name": f"Step {place} is risky", "ansible.builtin.fail": {"msg": stop}}
        found.insert(0, {**told, "when": "not with_risky | bool"})
    return found


def _tasks_of(place: int, action: Action, later: Sequence[Action]) -> list[Task]:
    """The tasks of an action; packages that a later one brings anew are removed where their new repository is not
    there yet, else each play would remove them and ask for the restart again."""
    new = next((one for one in later if one.file and not one.append), None)
    if new is None or not replaced(action, later):
        return tasks(action)
    known = f"step_{place}_new"
    look = [{**one, "check_mode": True, "register": known} for one in tasks(new)]
    return [*look, *({**one, "when": f"{known} is changed"} for one in tasks(action))]


def _is_proven(plan: SetupPlan, step: Step) -> bool:
    """Whether a task verifies a step on every host; what needs the restart is verified after it, but for optional
    steps. A check of ours verifies where rocdoctor is, so how to verify is said too."""
    if not _proven(plan, step) or proof_words(step)[0][0] == "rocdoctor":
        return False
    return step.effective != "reboot" or not step.optional


def _proven(plan: SetupPlan, step: Step) -> list[Task]:
    """The task that looks whether a step has worked; a check of ours only where rocdoctor is there."""
    words, expects = proof_words(step)
    if not words or fate(plan, step) != "run":
        return []
    where = ", where rocdoctor is installed" if words[0] == "rocdoctor" else ""
    name = f"Step {number(plan, step)}: verify it{where}"
    task: Task = {"name": name, **command_task(words), "register": "verified", "changed_when": False}
    if expects:
        task |= {
            "failed_when": "verified.stdout is not search(wanted, multiline=true)",
            "vars": {"wanted": _literal(expects)},
        }
    elif words[0] == "rocdoctor":
        # 1 is a finding; a host without rocdoctor answers 2, and proves nothing.
        task["failed_when"] = "verified.rc == 1"
    if step.risk == "risky":
        task["when"] = "with_risky | bool"
    return [task]


def _checkable(task: Task, before: Sequence[Task]) -> Task:
    """A package behind a file that registers its repository: a dry run has not registered it."""
    registers = any({"ansible.builtin.copy", "ansible.builtin.get_url"} & set(one) for one in before)
    if registers and any("name" in task.get(module, {}) for module in _PACKAGES):
        return {**task, "ignore_errors": "{{ ansible_check_mode }}"}
    return task


def _left(title: str, step: Step, person: bool) -> Task:
    """What nobody but a person can do, or nobody at all: the play stops there, and says what."""
    told = what_is_left(step) if person else f"No source describes a way: {plain(step.why)}"
    task: Task = {"name": _literal(title), "ansible.builtin.fail": {"msg": _literal(told)}}
    if person:
        task["when"] = f"{step.id!r} not in done_by_hand"
    return task


def _restart(title: str, step: Step) -> list[Task]:
    look: Task = {"name": "Check whether a restart is due", "ansible.builtin.stat": {"path": _MARK}, "register": "due"}
    due = "due.stat.exists"
    if step.state == "todo" and not step.optional:  # what asks for it was done before this play
        due = "due.stat.exists or not restarted | bool"
    asked = {
        "name": title,
        "ansible.builtin.reboot": {"msg": "rocdoctor: what was installed takes effect after a restart"},
        "become": True,
        "when": [due, "ansible_connection != 'local'"],
    }
    here = {
        "name": "This machine is not restarted under the play that runs on it",
        "ansible.builtin.fail": {"msg": "Restart the machine now, then run this play again."},
        "when": [due, "ansible_connection == 'local'"],
    }
    return [look, here, asked]
