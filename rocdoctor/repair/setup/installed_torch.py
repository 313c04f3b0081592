"""Whether the installed torch is the one that this machine needs: by the checks that judge it, so that a plan and a
report never disagree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rocdoctor.insight.gpus.gfx_override import NAME
from rocdoctor.insight.software.torch_stack import WORDS, backend, local_part, works
from rocdoctor.judging.check import cite
from rocdoctor.knowledge.gpus.gfx import arch_list_covers, override_gfx_name
from rocdoctor.knowledge.load import numbers
from rocdoctor.knowledge.software.compat import rocblas_lacks
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.finding import Evidence, Finding, Verdict
from rocdoctor.model.lazy_re import regex
from rocdoctor.repair.setup.required_torch import RequiredTorch, wheel_for
from rocdoctor.repair.setup.situation import Situation
from rocdoctor.repair.setup.step_parts import sentence

# good: it serves. wrong: another one is needed. absent: none is there. unknown: nobody can say.
Judged = Literal["good", "wrong", "absent", "unknown"]
_LACKS_GFX, _LACKS_SM = "torch-wheel-lacks-gfx", "torch-wheel-lacks-sm"
# What makes a torch the wrong one for a GPU, in the order in which it is asked; and for the CPU.
_FOR_GPU = (
    "torch-import-fails",
    "torch-wrong-vendor-build",
    "torch-cpu-only-build",
    "cuda-driver-too-old-for-wheel",
    _LACKS_GFX,
    _LACKS_SM,
)
# Which check speaks of a build of the wrong kind.
_BUILD_CHECK = {"cpu": "torch-cpu-only-build"} | dict.fromkeys(("rocm", "cuda", "xpu"), "torch-wrong-vendor-build")
# How pytorch.org labels its ROCm wheels; AMD's own have a third number.
_OF_PYTORCH = regex(r"rocm\d{1,3}\.\d{1,3}")
_FOR_CPU = ("torch-import-fails", "torch-wrong-vendor-build")


@dataclass(frozen=True, slots=True)
class Judgement:
    """``check`` is the one that judges, or that passes once another torch is in."""

    state: Judged
    why: str
    evidence: tuple[Evidence, ...] = ()
    check: str = "torch-not-installed"
    finding: Finding | None = None


def judged(situation: Situation, want: RequiredTorch) -> Judgement:
    """What is to be said of the installed torch: one that serves is the wrong one where another release was chosen."""
    told = _judged(situation, want)
    version, chosen = value_or(situation.machine.torch.version, None) or "", situation.choice
    if told.state != "good" or not chosen.words:
        return told
    label = local_part(version).removeprefix("rocm")
    same = numbers(version)[: len(numbers(chosen.torch))] == numbers(chosen.torch)
    series_of = numbers(chosen.rocm)[:2]
    if same and (not series_of or want.backend != "rocm" or numbers(label)[:2] == series_of):
        return told
    return Judgement("wrong", f"torch {version} is installed, but {chosen.words} was chosen.", told.evidence)


def _judged(situation: Situation, want: RequiredTorch) -> Judgement:
    machine, torch = situation.machine, situation.machine.torch
    if not isinstance(torch.version, Known):
        return Judgement("unknown", f"It is not known whether torch is installed: {torch.version.why}.")
    if torch.version.value is None:
        return Judgement("absent", f"torch is not installed. {want.why}", (cite(torch.version, "no torch"),))
    found = _harm(situation, want)
    if found is not None:
        return found
    if want.backend == "cpu":
        why = f"torch {torch.version.value} is installed. {want.why}"
        return Judgement("good", why, (cite(torch.version, f"torch {torch.version.value}"), *want.evidence))
    kind = backend(torch)
    if not isinstance(kind, Known):
        return Judgement("unknown", sentence(kind.why), (cite(torch.version),))
    if kind.value != want.backend:
        why = f"{_other_build(situation, want)} {want.why}"
        return Judgement("wrong", why, (cite(torch.version), cite(kind), *want.evidence), _BUILD_CHECK[kind.value])
    state, gap = _covered(situation, want)
    if state == "good" and (bare := _without_rocblas(situation, want)):
        return Judgement("unknown", bare, (cite(torch.version), *want.evidence), _LACKS_GFX)
    if state == "good" or (state == "unknown" and works(machine, want.backend)):
        return Judgement("good", _good_words(situation, want), _proof(situation, want))
    if state == "unknown":
        check = _LACKS_GFX if want.backend == "rocm" else _LACKS_SM
        return Judgement("unknown", sentence(gap), (cite(torch.version), *want.evidence), check)
    return Judgement("wrong", gap, (cite(torch.version), *want.evidence), _LACKS_GFX)


def _harm(situation: Situation, want: RequiredTorch) -> Judgement | None:
    """The first finding against the installed torch that is about the GPUs to train on."""
    for name in _FOR_CPU if want.backend == "cpu" else _FOR_GPU:
        for verdict, found in situation.findings([name]):
            if verdict.subject not in want.subjects or not _counts(situation, want, name, found):
                continue
            why = found.message if found.severity != "info" else _other_build(situation, want)
            return Judgement("wrong", f"{why} {want.why}", found.evidence, name, found)
    return None


def _other_build(situation: Situation, want: RequiredTorch) -> str:
    torch = situation.machine.torch
    kind = WORDS[value_or(backend(torch), "cpu")]
    return f"torch {value_or(torch.version, '')} is a {kind} build, and this machine needs {want.words}."


def _counts(situation: Situation, want: RequiredTorch, name: str, found: Finding) -> bool:
    if name == _LACKS_GFX and runs_as_other(situation, want):
        return False  # the wheel is right, and the setting that it runs with is a step of its own
    if want.backend == "cpu" or (name == _LACKS_GFX and found.confidence != "certain"):
        # A table of another project says so, or nobody wants the GPU anyway.
        return found.severity != "info"
    return True


def runs_as_other(situation: Situation, want: RequiredTorch) -> str | None:
    """The value of HSA_OVERRIDE_GFX_VERSION with which the installed torch has code for this GPU, if it needs one."""
    torch = situation.machine.torch
    if want.backend != "rocm" or not isinstance(torch.arch_list, Known) or not isinstance(torch.python, Known):
        return None
    if any(arch_list_covers(torch.arch_list.value, gfx) for gfx in want.gfx):
        return None
    wheel = wheel_for(situation, want, torch.python.value)
    value = (wheel.environment or {}).get("HSA_OVERRIDE_GFX_VERSION") if wheel is not None else None
    stand_in = override_gfx_name(value) if value is not None else None
    covered = stand_in is not None and arch_list_covers(torch.arch_list.value, stand_in)
    return value if covered else None


def _covered(situation: Situation, want: RequiredTorch) -> tuple[Judged, str]:
    """Whether the build has code for every GPU: as the check says, else by the list of the build."""
    torch = situation.machine.torch
    name = _LACKS_GFX if want.backend == "rocm" else _LACKS_SM
    mine = [one for one in situation.verdicts(name) if one.subject in want.subjects]
    if mine and all(one.state == "pass" for one in mine):
        return "good", ""
    if want.backend == "rocm" and isinstance(torch.arch_list, Known) and want.gfx:
        built = torch.arch_list.value
        missing = [gfx for gfx in want.gfx if not arch_list_covers(built, gfx)]
        if not missing or runs_as_other(situation, want):
            return "good", ""
        if torch.arch_list_complete:
            return "wrong", f"torch {value_or(torch.version, '')} has no code for {', '.join(missing)}."
    return "unknown", _gap(mine)


def _without_rocblas(situation: Situation, want: RequiredTorch) -> str:
    """That the wheels of this flavour were seen without files of rocBLAS for a GPU here; "" where they were not.

    Nobody looked into this very wheel, and files may have been added to it.
    """
    version = value_or(situation.machine.torch.version, None) or ""
    label = local_part(version)
    if want.backend != "rocm" or not _OF_PYTORCH.fullmatch(label) or NAME in situation.machine.environment.variables:
        return ""
    lacking = ", ".join(gfx for gfx in want.gfx if rocblas_lacks(label, gfx))
    return lacking and (
        f"torch {version} has its own code for {lacking}, but rocBLAS in wheels of {label} had no files "
        "for it. It is not known whether this one multiplies matrices: rocdoctor smoke shows it."
    )


def _gap(mine: list[Verdict]) -> str:
    told = next((one.why for one in mine if one.state == "unknown" and one.why), "")
    return f"It is not known whether the installed torch has code for this GPU{f': {told}' if told else ''}"


def _good_words(situation: Situation, want: RequiredTorch) -> str:
    torch = situation.machine.torch
    built = value_or(torch.hip, None) if want.backend == "rocm" else value_or(torch.cuda, None)
    version = value_or(torch.version, "")
    named = f"torch {version}, built for {want.words} {built or ''}".rstrip()
    if (value := runs_as_other(situation, want)) is not None:
        return f"{named}, runs code of {override_gfx_name(value)} on this {', '.join(want.gfx)}."
    if isinstance(torch.arch_list, Known) and want.gfx:
        return f"{named}, has code for {', '.join(want.gfx)}."
    count = value_or(torch.device_count, 0)
    return f"{named}, counts {count} GPU{'' if count == 1 else 's'}." if count else f"{named}."


def _proof(situation: Situation, want: RequiredTorch) -> tuple[Evidence, ...]:
    torch = situation.machine.torch
    built = torch.hip if want.backend == "rocm" else torch.cuda
    found = [cite(torch.version, f"torch {value_or(torch.version, '')}"), cite(built)]
    if isinstance(torch.arch_list, Known):
        found.append(cite(torch.arch_list, " ".join(torch.arch_list.value)))
    if isinstance(torch.device_count, Known):
        found.append(cite(torch.device_count, f"{torch.device_count.value} devices"))
    return tuple(found)
