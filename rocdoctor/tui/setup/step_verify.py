"""Verifying a step of the set-up where it stands: its command, and the plan anew from a fresh look. No screen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rocdoctor.host.base import Answer, Host, run
from rocdoctor.repair.setup.plan import Goal, SetupPlan, Step
from rocdoctor.tui.look import plan_of_today
from rocdoctor.tui.verify import VerifyProgress, WatchedHost, close, plain_argv


@dataclass(frozen=True, slots=True)
class Verified:
    """What came of it: the plan of now, the step in it (None: it is not needed any more), what its command said."""

    plan: SetupPlan | None = None
    step: Step | None = None
    output: Answer | None = None
    problem: str = ""


def program_of(step: Step) -> tuple[str, ...]:
    """The command of a step's verification, where it may run here; empty for a check of ours, and for a shell."""
    return plain_argv(step.verify.command) if step.verify is not None and step.verify.command else ()


def verify_step(step: Step, goal: Goal, fresh: Callable[[], Host | None], progress: VerifyProgress) -> Verified:
    """Look at the machine anew, in a thread. Never raises for what a machine may answer."""
    from rocdoctor.collect import collect
    from rocdoctor.judging.diagnose import diagnose
    from rocdoctor.service.session import chosen_checks

    host = fresh()
    if host is None:
        return Verified(problem="this evidence is not of a live machine: run rocdoctor setup there")
    progress.host = host
    try:
        watched = WatchedHost(host, progress)
        argv = program_of(step)
        output = watched.ask(run(*argv)) if argv else None
        checks, _ = chosen_checks((), ())
        made = plan_of_today(diagnose(collect(watched), checks), goal)
        return Verified(made, next((one for one in made.steps if one.id == step.id), None), output)
    finally:
        close(host)
