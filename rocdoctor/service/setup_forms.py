"""The plans of one machine or of several in the forms of other tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rocdoctor.insight.gpus.access import container_words
from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import Diagnosis
from rocdoctor.repair.setup.evidence_script import for_reader
from rocdoctor.repair.setup.forms.parts import CannotExpress, PlanOrigin, origin
from rocdoctor.repair.setup.plan import Goal, SetupPlan
from rocdoctor.repair.setup.situation import Situation
from rocdoctor.service.errors import UsageError

Form = Literal["ansible", "cloud-init", "dockerfile"]
FORMS: tuple[Form, ...] = ("ansible", "cloud-init", "dockerfile")


@dataclass(frozen=True, slots=True)
class Planned:
    """A machine with its plan: ``subject`` in words, ``name`` the file that it was read from ("" for this machine).

    ``python`` is the interpreter that the reader named, by a path that does not depend on the current folder. ``said``
    masks what is told of evidence that was not masked; the words of ``plan`` have been through it.
    """

    plan: SetupPlan
    diagnosis: Diagnosis
    subject: str
    root: bool
    name: str = ""
    python: str | None = None
    said: Callable[[str], str] = str


def as_form(form: Form, machines: Sequence[Planned], planner: Callable[[Machine, Goal], SetupPlan]) -> str:
    """The text of the file; UsageError where the form cannot say what the plan says.

    ``planner`` judges and plans an image, whose machine is this one without what was done on it.
    """
    try:
        if form == "ansible":
            from rocdoctor.repair.setup.forms import ansible

            return ansible.render([_for_reader(one) for one in machines])
        (one,) = machines
        situation = Situation(one.diagnosis, one.plan.goal)
        if form == "cloud-init":
            from rocdoctor.repair.setup.forms import cloud_init

            kind = situation.enclosed
            enclosed = f"a {container_words(kind)}" if kind else "Linux inside Windows" if situation.wsl else ""
            return cloud_init.render(*_for_reader(one), enclosed)
        from rocdoctor.repair.setup.forms import dockerfile
        from rocdoctor.repair.setup.forms.image_plan import image_plan

        vendor = next((found.vendor for found in situation.targets if found.vendor in ("amd", "nvidia")), "cpu")
        image = image_plan(one.diagnosis.machine, one.plan.goal, planner).discreetly(one.said)
        return dockerfile.render(image, one.plan, _for_reader(one)[1], vendor, situation.gfx)
    except CannotExpress as why:
        raise UsageError(f"--format {form}: {why}") from None


def _for_reader(one: Planned) -> tuple[SetupPlan, PlanOrigin]:
    """The plan for whoever uses the file: nothing that evidence of others names is started by it."""
    plan, foreign = for_reader(one.plan, one.python) if one.name else (one.plan, "")
    made = origin(one.diagnosis.machine, one.subject, one.root, one.name, one.said(foreign))
    return plan, replace(made, os_words=one.said(made.os_words), gpus=one.said(made.gpus))
