"""Libraries beside torch: what is installed has to fit it; what could be installed is a note, never a task."""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.insight.software.torch_stack import rocm_label
from rocdoctor.judging.check import quote
from rocdoctor.knowledge import install
from rocdoctor.model.evidence import Known, Unknown, value_or
from rocdoctor.repair.setup.installed_torch import judged
from rocdoctor.repair.setup.pip_actions import TRITONS, bring_back_alone, family, index_of, pinned, uninstall
from rocdoctor.repair.setup.plan import Action, Layer, Step, Verify
from rocdoctor.repair.setup.required_torch import RequiredTorch, wanted
from rocdoctor.repair.setup.situation import Situation
from rocdoctor.repair.setup.step_parts import at_least, evidence_of
from rocdoctor.repair.setup.steps.python_environment import concerns_torch
from rocdoctor.repair.setup.torch_environment import Interpreter, under_test

LAYER: Layer = "companions"

_MISMATCH, _TWICE, _NUMPY = "torch-companion-mismatch", "torch-duplicates", "numpy-2-with-old-torch"
_BESIDE = ("torchvision", "torchaudio", *TRITONS, "flash-attn", "bitsandbytes", "deepspeed", "xformers", "apex")


def steps(situation: Situation) -> Sequence[Step]:
    """Companions of a torch that stays; a new torch brings its own."""
    if not concerns_torch(situation):
        return ()
    want, here = wanted(situation), under_test(situation)
    if isinstance(want, Unknown) or isinstance(here, Unknown) or judged(situation, want).state != "good":
        return ()
    found = [one for one in (_triton(situation, here), _mismatch(situation, here), _numpy(situation, here)) if one]
    return tuple(found) or (_fine(situation, want),)


def _triton(situation: Situation, here: Interpreter) -> Step | None:
    """Two packages that bring the module triton, or a copy of something that hides another one."""
    torch = situation.machine.torch
    found = at_least(situation.findings([_TWICE]), "warning")
    if not found:
        return None
    both = [name for name in TRITONS if name in value_or(torch.packages, {})]
    about = [(verdict, one) for verdict, one in found if len(one.about.packages) > 1]
    version = value_or(torch.version, None)
    index = index_of(version or "")
    evidence = evidence_of([verdict for verdict, _ in found])
    if not about or version is None or index is None:
        first = (about or found)[0][1]
        notes = (first.fix.text + ".",) if first.fix is not None else ()
        return Step(
            "duplicates",
            "Keep only one copy of each package",
            "todo",
            first.message,
            evidence,
            risk="manual",
            verify=Verify(_TWICE),
            notes=notes,
        )
    old = {name: value_or(torch.packages, {})[name] for name in both}
    actions = (uninstall(here, both), Action(words=(*here.pip, "install", f"torch=={version}", *index)))
    plain = [pinned(name, old[name]) for name in both if name == "triton"]
    undo = (Action(words=(*here.pip, "install", "--no-deps", *plain)),) if plain else ()
    return Step(
        "triton",
        "Keep only the triton that belongs to torch",
        "todo",
        about[0][1].message,
        evidence,
        actions,
        tuple(f"{name} in {here.folder}" for name in both),
        "safe",
        "now",
        Verify(_TWICE),
        undo,
        notes=("The second command installs only the triton that this torch requires.",),
        sources=("triton-dep",),
        table="install_torch",
        kind=install.weakest("install_torch", ("triton-dep",)),
    )


def _mismatch(situation: Situation, here: Interpreter) -> Step | None:
    """torchvision and its like are of another build than torch: they come again from the index of torch."""
    found = at_least(situation.findings([_MISMATCH]), "warning")
    if not found:
        return None
    torch = situation.machine.torch
    version = value_or(torch.version, None) or ""
    index, own = index_of(version), family(torch)
    wrong = [
        name
        for name in ("torchvision", "torchaudio")
        if name in own and any(name in one.about.packages for _, one in found)
    ]
    messages = " ".join(dict.fromkeys(one.message for _, one in found))
    evidence = evidence_of([verdict for verdict, _ in found])
    title = "Install the companion packages that belong to this torch"
    if not wrong or index is None:
        notes = ("Rebuild or reinstall these packages for the installed torch: each works with only one release.",)
        return Step(
            "companions", title, "todo", messages, evidence, risk="manual", verify=Verify(_MISMATCH), notes=notes
        )
    actions = (
        uninstall(here, wrong),
        Action(words=(*here.pip, "install", f"torch=={version}", *wrong, *index)),
    )
    return Step(
        "companions",
        title,
        "todo",
        messages,
        evidence,
        actions,
        tuple(f"{name} in {here.folder}" for name in wrong),
        "safe",
        "now",
        Verify(_MISMATCH),
        bring_back_alone(here, {name: own[name] for name in wrong}),
        notes=(f"torch=={version} is in the command so that pip takes the packages built for this torch.",),
    )


def _numpy(situation: Situation, here: Interpreter) -> Step | None:
    found = situation.finding(_NUMPY)
    if found is None:
        return None
    have = value_or(situation.machine.torch.packages, {}).get("numpy", "")
    return Step(
        "numpy",
        "Install NumPy 1 alongside this old torch",
        "todo",
        found.message,
        found.evidence,
        (Action(words=(*here.pip, "install", "numpy<2")),),
        (f"numpy in {here.folder}",),
        "safe",
        "now",
        Verify(_NUMPY),
        (Action(words=(*here.pip, "install", pinned("numpy", have))),) if have else (),
        optional=found.severity == "info",
    )


def _fine(situation: Situation, want: RequiredTorch) -> Step:
    """What is there fits; what else exists for this target stands in the notes."""
    torch = situation.machine.torch
    packages = value_or(torch.packages, {})
    there = [f"{name} {packages[name]}" for name in _BESIDE if name in packages]
    question = torch.packages.source.question if isinstance(torch.packages, Known) else ""
    evidence = tuple(quote(question, one) for one in there or ["none of torchvision, triton and their like"])
    why = (
        f"{', '.join(there)} match the installed torch."
        if there
        else "No other installed package conflicts with torch."
    )
    return Step("companions", "Companion packages of torch", "done", why, evidence, notes=_others(situation, want))


def _others(situation: Situation, want: RequiredTorch) -> tuple[str, ...]:
    """What the tables know of further libraries for this target."""
    if want.backend != "rocm" or len(want.gfx) != 1:
        return ()
    torch = situation.machine.torch
    release = rocm_label(torch) or value_or(torch.hip, None)
    words = {
        "yes": "there are builds",
        "no": "no build has code for it",
        "risky": "it may fail",
        "unknown": "it is not known whether a build has code for it",
    }
    found: list[str] = []
    for one in install.companions(want.gfx[0], release):
        if one.name == "triton":
            continue
        risk = f" {one.risk}" if one.risk else ""
        found.append(f"{one.name} on {want.gfx[0]}: {words[one.state]}.{risk} {one.text}")
    return tuple(found)
