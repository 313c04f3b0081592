"""What the registration of a system means for the steps that install packages of RHEL and SLES."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rocdoctor.knowledge import install
from rocdoctor.model.evidence import Known
from rocdoctor.repair.setup.plan import Action, Step
from rocdoctor.repair.setup.situation import Situation
from rocdoctor.repair.setup.step_parts import changes_of

REGISTRATION = "registration"
CLOUDS = ("cloud", "other-cloud")
_PROGRAMS = ("dnf", "zypper", "subscription-manager", "SUSEConnect")


def with_registration(situation: Situation, found: Sequence[Step]) -> list[Step]:
    """The steps, those that fetch packages behind the registration; it is left out where none of them does."""
    asked, fact = install.registration(situation.distribution), situation.machine.os.registration
    if asked is None or situation.caretaker:
        return list(found)
    fetching = [step for step in found if _fetches(step)]
    if isinstance(fact, Known) and fact.value in CLOUDS:
        if fact.value != "cloud":  # the name of CodeReady Builder differs from cloud to cloud
            asked = replace(asked, cloud_command=())
        return [_in_cloud(step, asked) for step in found if fetching or step.id != REGISTRATION]
    needed = any(not step.optional for step in fetching)
    return [
        replace(step, optional=not needed)
        if step.id == REGISTRATION
        else replace(step, needs=(*step.needs, REGISTRATION))
        if _fetches(step)
        else step
        for step in found
        if fetching or step.id != REGISTRATION
    ]


def registration_said(situation: Situation, found: Sequence[Step]) -> tuple[str, ...]:
    """That packages need a registration, where nobody knows whether the system has it."""
    asked = install.registration(situation.distribution)
    known = isinstance(situation.machine.os.registration, Known)
    if asked is None or known or situation.caretaker or not any(_fetches(step) and not step.optional for step in found):
        return ()
    tell = " ".join(asked.tell)
    return (
        f"Packages of {situation.os_words} need a registered system: sudo {tell} shows whether it is; where it is "
        f"not, as root: {asked.by}. {asked.cloud_text}".strip(),
    )


def _fetches(step: Step) -> bool:
    """Whether a step that is left takes packages of the distribution."""
    return step.state in ("todo", "waiting") and any(
        one.words[:1] and one.words[0] in _PROGRAMS for one in step.actions
    )


def _in_cloud(step: Step, asked: install.Registration) -> Step:
    """A step with the cloud's own name of CodeReady Builder; with the note alone where that name is not known."""
    if not any(_enables(one) for one in step.actions):
        return step
    own = [Action(words=asked.cloud_command, root=True)] if asked.cloud_command else []
    actions = tuple(new for one in step.actions for new in (own if _enables(one) else [one]))
    named = {name for one in step.actions if _enables(one) for name in changes_of([one])}
    changes = (*(one for one in step.changes if one not in named), *changes_of(own))
    return replace(step, actions=actions, changes=changes, notes=(*step.notes, asked.cloud_text))


def _enables(action: Action) -> bool:
    return action.words[:3] == ("subscription-manager", "repos", "--enable")
