"""Plans and machines for tests of the forms, and readers of what the forms are written in."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import yaml

from rocdoctor.judging.diagnose import diagnose
from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import Diagnosis
from rocdoctor.repair.setup.forms.parts import PlanOrigin
from rocdoctor.repair.setup.plan import Goal, SetupPlan
from rocdoctor.repair.setup.planner import plan
from rocdoctor.service.setup_forms import Planned
from tests.golden.replay import judged, our_checks
from tests.machines.files import MachineHost
from tests.repair.setup.world.box import evidence
from tests.repair.setup.world.catalogue import CASES, Case

MINE = PlanOrigin("a test", root=False, name="a.txt", os_id="debian", os_version="12", os_words="Debian 12")
# What quoting, templates, comments and documents may trip over. Words of a plan are printable (``is_ready``).
HOSTILE = (
    "{{ lookup('pipe', 'touch owned') }}",
    "{% if true %}x{% endif %}",
    "{# gone #}",
    "$HOME{{ train_user }}",
    "~/{X y}",
    "}} {{",
    "$(touch owned)",
    "`touch owned`",
    'it\'s "a" \\ b',
    "$X ${X:-y} $$",
    "~root",
    "- a: b",
    "key: value # no comment",
    "!unsafe x",
    "&a *a",
    "%YAML",
    "---",
    "true",
    "0755",
    "null",
    " x ",
    "<<EOF",
    "#x",
    "x \\",
    "[1, 2]",
    "{'a': 1}",
    "@file",
    "|",
    "été \N{SNOWMAN}",
)


class _Text(str):
    """Text that Ansible fills nothing into."""


class Loader(yaml.SafeLoader):
    """Reads ``!unsafe`` as Ansible does."""


def _text(loader: Loader, node: yaml.ScalarNode) -> _Text:
    return _Text(loader.construct_scalar(node))


Loader.add_constructor("!unsafe", _text)


def filled(value: Any, variables: dict[str, str]) -> Any:
    """What Ansible makes of a value: templates filled in by Jinja, but for what is ``!unsafe``."""
    import jinja2

    if isinstance(value, dict):
        return {key: filled(one, variables) for key, one in value.items()}
    if isinstance(value, list):
        return [filled(one, variables) for one in value]
    if not isinstance(value, str) or isinstance(value, _Text):
        return str(value) if isinstance(value, _Text) else value
    return jinja2.Environment(keep_trailing_newline=True).from_string(value).render(**variables)


def playbook(text: str) -> list[dict[str, Any]]:
    """The plays of a playbook."""
    found = yaml.load(text, Loader)  # noqa: S506  (a safe loader)
    assert isinstance(found, list)
    return found


def flat(tasks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The tasks with those of blocks in their place."""
    for one in tasks:
        yield from flat(one["block"]) if "block" in one else (one,)


def _case(name: str) -> Case:
    return next(one for one in CASES if one.name == name)


@cache
def _diagnosis(name: str) -> Diagnosis:
    case = _case(name)
    if case.whole is not None:
        return judged(MachineHost(case.whole()))
    assert case.box is not None and case.state is not None
    return judged(MachineHost(evidence(case.box, case.state)))


def planned(name: str, root: bool = False) -> Planned:
    """A machine of the catalogue with its plan, as read from a file of its name."""
    made = _diagnosis(name)
    return Planned(plan(made, _case(name).goal), made, "a bundle", root, f"{name}.txt")


def planner(machine: Machine, goal: Goal) -> SetupPlan:
    """The plan of facts."""
    return plan(diagnose(machine, our_checks()), goal)


def one_step(step: Any) -> SetupPlan:
    """A plan of one step."""
    return SetupPlan("pytorch", (step,))
