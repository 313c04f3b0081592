"""What a report of the checks names first is what a plan names first: the step that repairs it, or one made of it."""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.knowledge.lookup import told_title
from rocdoctor.model.finding import Cause
from rocdoctor.repair.setup.gpus_without_rocm import OF_COMPUTE, trains_without_gpu
from rocdoctor.repair.setup.plan import Step, Verify
from rocdoctor.repair.setup.situation import Situation
from rocdoctor.repair.setup.step_parts import sentence

# What says that a GPU has no driver that computes on it: whichever check sees it first, the same steps repair it.
_DRIVER = ("gpu-without-driver", "driver-module-not-loaded", "kernel-too-old-for-gpu", "kfd-missing")


def main_cause(situation: Situation) -> Cause | None:
    """The cause that a report begins with; None without error and warning, and for GPUs on which nothing computes."""
    causes = situation.diagnosis.causes
    main = causes[0] if causes and causes[0].severity != "info" else None
    if main is not None and main.cause in OF_COMPUTE and trains_without_gpu(situation):
        return None
    return main


def _how_near(situation: Situation, step: Step, main: Cause) -> int:
    """How surely a step is about that cause: 3 by the check that then passes, 2 by the cause, 1 by what it cites."""
    if step.state == "done" or step.layer == "prove":
        return 0
    check = step.verify.check if step.verify is not None else ""
    if check == main.check:
        return 3
    if step.layer in ("kernel", "driver") and main.check in _DRIVER and check in _DRIVER:
        return 2
    if check and main.cause in {found.cause for _, found in situation.findings([check])}:
        return 2
    cited = set(main.finding.evidence) if main.finding is not None else set()
    return 1 if cited & set(step.evidence) and not step.optional else 0


def step_of(main: Cause) -> Step:
    """A step made of what no other step of the plan repairs; the goal needs it where it is an error."""
    fix = main.finding.fix if main.finding is not None else None
    finer = main.finding.finer if main.finding is not None else ""
    told = [sentence(fix.text)] if fix is not None else [sentence(main.remedy)] if main.remedy else []
    if fix is not None and fix.beside_text:
        told.append(f"To begin with: {fix.beside_text}")
    return Step(
        f"found-{main.check}",
        f"Fix what check finds: {told_title(main.cause, finer)}",
        "todo",
        sentence(main.message),
        main.finding.evidence if main.finding is not None else (),
        risk="manual",
        effective=fix.effective if fix is not None else "now",
        verify=Verify(main.check),
        notes=tuple(told) or ("rocdoctor check shows it.",),
        layer="clean",
        optional=main.severity != "error",
    )


def with_first(situation: Situation, found: Sequence[Step]) -> tuple[list[Step], str]:
    """The steps, with one for the main cause where none of them repairs it, and the id of the one that does."""
    main = main_cause(situation)
    if main is None:
        return list(found), ""
    near = [(_how_near(situation, step, main), step.state != "waiting", step) for step in found]
    best = max(near, key=lambda one: one[:2], default=None)
    if best is not None and best[0]:
        return list(found), best[2].id
    made = step_of(main)
    return [made, *found], made.id
