"""Playing the playbook of a plan, again where it says so, ends with nothing to do, as following the plan does."""

from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.repair.setup.plan import Action, SetupPlan, Step
from rocdoctor.repair.setup.planner import plan
from rocdoctor.service.setup_forms import Planned, as_form
from tests.repair.setup.forms.kit import filled, flat, planner, playbook
from tests.repair.setup.world.box import evidence
from tests.repair.setup.world.catalogue import CASES, FRESH, Case
from tests.repair.setup.world.follow import Person
from tests.repair.setup.world.judge import judged

pytest.importorskip("jinja2")
_FOLLOWED = [case for case in (*CASES, *FRESH) if case.box is not None]
_MOST_ROUNDS = 5
_AGAIN = ("checks", "smoke", "container-run", "same-software")  # run again whenever one likes
_KNOWN = {"train_user": "user", "train_home": "/home/user"}
_LOOKS = ("assert", "shell", "stat", "get_url")


class _Play:
    """One run of a playbook by somebody who does by hand what it stops for."""

    def __init__(self, person: Person, found: SetupPlan) -> None:
        self.person, self.found = person, found
        self.due = False
        self.stopped = ""

    def run(self, task: dict[str, Any]) -> None:
        """What a module changes on the machine."""
        if task.get("register") == "verified":
            return  # it looks
        module = next(key for key in task if key.startswith("ansible.builtin."))
        name = module.removeprefix("ansible.builtin.")
        told = task[module] if name in (*_LOOKS, "meta") else filled(task[module], _KNOWN)
        if name == "fail":
            self._fail(task, told["msg"])
        elif name == "reboot":
            if self.due or "not restarted" in str(task["when"]):
                self.person.restart()
                self.due = False
        elif name == "meta":
            self.person.login()
        elif name == "file" and told["state"] == "touch":
            self.due = True
        elif name not in _LOOKS:
            for action in _actions(name, told):
                self.person.act(action)

    def _fail(self, task: dict[str, Any], said: str) -> None:
        if "done_by_hand" in str(task.get("when", "")):
            step = next(one for one in self.found.steps if repr(one.id) in task["when"])
            if step.state == "todo":
                self.person.do(step)
                self.due = self.due or step.effective == "reboot"
            else:
                self.stopped = said  # unknown, or somebody else's job
        elif "when" not in task:
            self.stopped = said


def _actions(name: str, told: dict[str, Any]) -> list[Action]:
    names = told.get("name", [])
    names = [names] if isinstance(names, str) else names
    if name in ("apt", "dnf"):
        verb = {"present": "install", "absent": "remove"}.get(told.get("state", ""), "update")
        return [] if verb == "update" else [Action((name, verb, *names))]
    if name == "user":
        return [Action(("usermod", "-a", "-G", ",".join(told["groups"]), *names))]
    if name == "copy":
        return [Action(file=told["dest"], lines=tuple(told["content"].splitlines()))]
    if name == "lineinfile":
        return [Action(file=told["path"], lines=(told["line"],), append=True)]
    if name == "systemd_service":
        return [Action(("systemctl", "enable", *names))]
    if name == "file":
        return [] if told["state"] == "directory" else [Action(("rm", told["path"]))]
    assert name == "command", name
    return [Action(tuple(told["argv"]))]


def _ends(case: Case) -> str:
    """Why playing does not end; "" where it does."""
    assert case.box is not None and case.state is not None
    person, left = Person(case.box, case.state), list[Step]()
    for _ in range(_MOST_ROUNDS):
        person.login()  # each run is a new connection
        diagnosis = judged(evidence(person.box, person.state))
        found = plan(diagnosis, case.goal)
        left = [step for step in found.steps if not step.optional and step.id not in _AGAIN]
        left = [step for step in left if step.state in ("todo", "waiting")]
        if not left:
            return ""
        (play,) = playbook(as_form("ansible", [Planned(found, diagnosis, "a test", False)], planner))
        run = _Play(person, found)
        for task in flat([one for one in play["tasks"] if "never" not in one.get("tags", ())]):
            run.run(task)
            if run.stopped:
                return "" if any(step.state in ("unknown", "impossible") for step in found.steps) else run.stopped
    return f"{case.name}: left after {_MOST_ROUNDS} runs: {[(step.id, step.state) for step in left]}"


def test_playing_the_playbook_ends() -> None:
    assert [said for case in _FOLLOWED[::5] if (said := _ends(case))] == []


@pytest.mark.heavy
def test_playing_the_playbook_of_every_machine_ends() -> None:
    assert [said for case in _FOLLOWED if (said := _ends(case))] == []
