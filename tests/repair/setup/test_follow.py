"""Following a plan step by step ends: each step that was done is done, and at last nothing is left.

What a step changes is raw evidence, made by the builders of the fixtures: a plan that does not see its own effect, or
that sends a person in a circle, fails here.
"""

from __future__ import annotations

import pytest

from rocdoctor.repair.setup.plan import SetupPlan, Step
from rocdoctor.repair.setup.planner import plan
from tests.examples import some
from tests.repair.setup.world.box import evidence
from tests.repair.setup.world.catalogue import CASES, FRESH, Case
from tests.repair.setup.world.follow import Person
from tests.repair.setup.world.judge import judged
from tests.repair.setup.world.routes import ROUTES

FOLLOWED = [*FRESH, *some([case for case in (*CASES, *ROUTES) if case.box is not None], 2)]
_MOST_ROUNDS = 20
# Steps that are never over: they are run again whenever one likes.
_AGAIN = ("checks", "smoke", "container-run", "same-software", "slurm-gres-amd", "kubernetes-gpus-amd")


def _plan(case: Case, person: Person) -> SetupPlan:
    return plan(judged(evidence(person.box, person.state)), case.goal)


def _next(found: SetupPlan) -> Step | None:
    """The step that a person does who leaves nothing out."""
    return next((step for step in found.steps if step.state == "todo" and step.id not in _AGAIN), None)


@pytest.mark.parametrize("case", FOLLOWED, ids=lambda case: case.name)
def test_following_the_plan_ends_with_nothing_to_do(case: Case) -> None:
    assert case.box is not None and case.state is not None
    person = Person(case.box, case.state)
    found = _plan(case, person)
    did: list[str] = []
    while (step := _next(found)) is not None or _patient(person, found):
        if step is None:
            found = _plan(case, person)
            continue
        assert len(did) < _MOST_ROUNDS, f"it goes on forever: {did}"
        done = _done(step)
        assert done not in did, f"{step.id} is asked for again: {did}"
        person.do(step)
        did.append(done)
        found = _plan(case, person)
        if step.effective == "reboot" and _state(found, step) == "todo":  # as the plan says: restart, then look again
            person.restart()
            found = _plan(case, person)
        assert _state(found, step) != "todo", f"{step.id} was done and is still to do"
    left = {step.id: step.state for step in found.steps if step.state == "waiting" and step.id not in _AGAIN}
    assert not left, f"nothing can be done, yet these wait: {left}; done: {did}"


@pytest.mark.parametrize("case", FRESH, ids=[case.name for case in FRESH])
def test_driver_rocm_and_torch_are_known_for_the_usual_distributions(case: Case) -> None:
    assert case.box is not None and case.state is not None
    unknown = {step.id: step.why for step in _plan(case, Person(case.box, case.state)).steps if step.state == "unknown"}
    assert not unknown


def _done(step: Step) -> str:
    """What was done: a restart is another one where something else needs it, as an optional step after the others."""
    return f"{step.id}: {step.why}" if step.id == "restart" else step.id


def _state(found: SetupPlan, step: Step) -> str:
    return {one.id: one.state for one in found.steps}.get(step.id, "gone")


def _patient(person: Person, found: SetupPlan) -> bool:
    """Log in anew or restart, once, where that is all that a step waits for."""
    for step in found.steps:
        if step.state == "waiting" and step.effective == "new-login" and person.state.session != person.state.member:
            person.login()
            return True
        if step.state == "waiting" and step.effective == "reboot" and not person.restarted:
            person.restart()
            return True
    return False
