"""The proof: what the checks say of the whole machine, and training in small with compared numbers."""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.insight.gpus.presence import count_words
from rocdoctor.insight.software.torch_stack import works
from rocdoctor.judging.subjects import is_whole, subjects_text
from rocdoctor.model.evidence import Known
from rocdoctor.model.finding import Evidence
from rocdoctor.model.shell_command import shell
from rocdoctor.repair.setup.gpus_without_rocm import OF_COMPUTE, trains_without_gpu
from rocdoctor.repair.setup.plan import Action, Layer, Step, Verify
from rocdoctor.repair.setup.required_torch import RequiredTorch, pythons_for, wanted
from rocdoctor.repair.setup.situation import Situation
from rocdoctor.repair.setup.step_parts import sentence
from rocdoctor.repair.setup.steps.python_environment import concerns_torch, place
from rocdoctor.repair.setup.torch_environment import NEW, option

LAYER: Layer = "prove"

_CHECK = shell("rocdoctor check --python {python:path}", python=f"{NEW}/bin/python")
_SMOKE = shell("rocdoctor smoke --python {python:path}", python=f"{NEW}/bin/python")


def steps(situation: Situation) -> Sequence[Step]:
    """The checks; and the smoke tests where torch is part of the goal."""
    found = [_checks(situation)]
    if situation.goal in ("pytorch", "cluster-node"):
        found.append(_smoke(situation))
    return found


def _option(situation: Situation) -> tuple[str, ...]:
    """The environment that the plan makes, as an option; () where torch goes elsewhere or nowhere."""
    if situation.nixos:
        return ()  # its torch is in a shell of nixpkgs, where the commands are typed
    want = wanted(situation)
    fits = pythons_for(situation, want) if isinstance(want, RequiredTorch) else ()
    return option(place(situation, fits)) if concerns_torch(situation) else ()


def _checks(situation: Situation) -> Step:
    diagnosis = situation.diagnosis
    beside = OF_COMPUTE if trains_without_gpu(situation) else ()
    causes = [cause for cause in diagnosis.causes if cause.severity == "error" and cause.cause not in beside]
    named = _option(situation)
    verify = Verify(command=_CHECK if named else "rocdoctor check", shows="no error")
    if not causes:
        notes = tuple(f"Worth a look: {sentence(cause.message)}" for cause in diagnosis.causes[:3])
        evidence = (Evidence("no finding of severity error", "rocdoctor check"),)
        why = "No check finds an error in this evidence."
        if diagnosis.worst == "error":
            evidence = (Evidence("only errors of a GPU that is not used for training", "rocdoctor check"),)
            why = "No check finds an error that touches training: the rest concerns a GPU without ROCm."
        return Step("checks", "Check the whole machine", "done", why, evidence, verify=verify, notes=notes)
    first = causes[0]
    left = "remains" if len(causes) == 1 else "remain, the first"
    why = f"{count_words(len(causes), 'error')} {left}: {sentence(first.message)}"
    shown = first.finding.evidence if first.finding is not None else ()
    remedies = tuple(
        ("" if is_whole(cause.subjects) else f"{subjects_text(cause.subjects)}: ") + sentence(cause.finding.fix.text)
        for cause in causes
        if cause.finding is not None and cause.finding.fix is not None
    )
    return Step(
        "checks",
        "Check the whole machine",
        "todo",
        why[0].upper() + why[1:],
        shown,
        (Action(words=("rocdoctor", "check", *named)),),
        risk="manual",
        verify=verify,
        notes=remedies[:5],
        needs=("clean", "firmware", "kernel", "driver", "access", "limits", "torch"),
    )


def _smoke(situation: Situation) -> Step:
    runs = situation.machine.smoke
    title, named = "Prove that training computes correctly", _option(situation)
    verify = Verify(command=_SMOKE if named else "rocdoctor smoke", shows="no mode fails")
    modes = [mode for run in runs for mode in run.modes]
    failed = [mode for mode in modes if mode.state in ("fail", "crashed")]
    if modes and not failed:
        passed = [mode for mode in modes if mode.state == "pass"]
        evidence = (Evidence(count_words(len(passed), "mode") + " passed", situation.machine.smoke_question),)
        return Step("smoke", title, "done", "The smoke tests ran here and no mode failed.", evidence, verify=verify)
    torch = situation.machine.torch.version
    why = "Each kind of parallelism runs at small scale, and its results are compared with those of one process."
    if failed:
        why = f"{count_words(len(failed), 'mode')} of the smoke tests failed: {failed[0].mode}."
    elif isinstance(torch, Known) and torch.value is not None and works(situation.machine):
        why = f"torch {torch.value} sees a GPU. {why}"
    return Step(
        "smoke",
        title,
        "todo",
        why,
        actions=(Action(words=("rocdoctor", "smoke", *named)),),
        verify=verify,
        needs=("driver", "access", "torch"),
        optional=True,
    )
