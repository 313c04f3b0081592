"""torch itself: the wheel with code for the GPUs of this machine, in an environment where nothing else breaks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rocdoctor.insight.gpus.gfx_override import NAME
from rocdoctor.insight.gpus.presence import is_driven
from rocdoctor.insight.software.torch_command import driver_version
from rocdoctor.insight.software.torch_stack import SELECTOR_PAGE
from rocdoctor.knowledge import install
from rocdoctor.knowledge.gpus.gfx import override_gfx_name
from rocdoctor.knowledge.install.sizes import wheel_download_gb
from rocdoctor.knowledge.software.compat import known_issues
from rocdoctor.model.evidence import Known, Unknown, value_or
from rocdoctor.repair.setup.installed_torch import Judgement, judged
from rocdoctor.repair.setup.listed_support import driver_said, lists_judgement, support_said
from rocdoctor.repair.setup.pip_actions import bring_back, family, uninstall, with_pip
from rocdoctor.repair.setup.plan import Action, Layer, Step, Verify
from rocdoctor.repair.setup.required_torch import RequiredTorch, pythons_for, wanted, wheel_for
from rocdoctor.repair.setup.situation import Situation
from rocdoctor.repair.setup.step_parts import sentence
from rocdoctor.repair.setup.steps.python_environment import concerns_torch, place
from rocdoctor.repair.setup.torch_environment import Interpreter, fresh, proof, under_test

LAYER: Layer = "torch"

_ID = "torch"
_INDEX = {"pytorch.org": "The stable index of pytorch.org", "amd": "AMD's index of wheels per GPU target"}


def steps(situation: Situation) -> Sequence[Step]:
    """torch in the chosen interpreter; nothing where the goal needs none here."""
    if not concerns_torch(situation):
        return ()
    want = wanted(situation)
    if isinstance(want, Unknown):
        why = f"{sentence(want.why)} Which torch this machine needs depends on it."
        return (Step(_ID, "torch", "unknown", why, verify=Verify("torch-not-installed")),)
    told = judged(situation, want)
    if told.state == "good":
        return (_good(situation, want, told),)
    if told.state == "unknown":
        return (Step(_ID, "torch", "unknown", told.why, told.evidence, verify=Verify(told.check), notes=want.notes),)
    if situation.nixos:
        return ()  # nixpkgs.py
    return (_install(situation, want, told),)


def _good(situation: Situation, want: RequiredTorch, told: Judgement) -> Step:
    here = under_test(situation)
    python = here.series if isinstance(here, Interpreter) else ""
    wheel = wheel_for(situation, want, python) if python and want.backend == "rocm" else None
    # What an override risks is said by the step that sets it.
    support = wheel.risk or "" if wheel is not None and not wheel.environment else ""
    if want.backend == "cpu" and situation.machine.gpus and any(gpu.vendor in ("amd", "nvidia") for gpu in want.gpus):
        support = "Training runs on the CPU: no vendor's torch uses this GPU."
    return Step(_ID, "torch", "done", told.why, told.evidence, support=support, notes=want.notes)


# -- what is to be installed


def _install(situation: Situation, want: RequiredTorch, told: Judgement) -> Step:
    fits = pythons_for(situation, want)
    into, here = place(situation, fits), under_test(situation)
    if _not_of_the_wheel(told):
        return _by_hand(told)
    if want.backend == "cuda" and want.capability is None:
        return _capability(want, told)
    if situation.arch not in install.wheel_processors():
        have = " and ".join(install.wheel_processors())
        return _unknown(told, f"The tables have wheels for {have} only, not for {situation.arch}.", SELECTOR_PAGE)
    own = install.own_wheels(want.capability or "", situation.arch) if want.backend == "cuda" else ""
    if own and not fits:
        return _unknown(told, own)
    wheel = wheel_for(situation, want, into.series) if into is not None else None
    if into is None or wheel is None:
        return _no_wheel(situation, want, told, fits)
    if wheel.missing:
        why = f"{_INDEX[wheel.kind]} has a build for {', '.join(want.gfx)}; its address was not read."
        return _unknown(told, sentence(why), *wheel.pages)
    same = isinstance(here, Interpreter) and here.path == into.path
    return _todo(situation, want, told, wheel, into, family(situation.machine.torch) if same else {})


def _not_of_the_wheel(told: Judgement) -> bool:
    """What keeps torch from being imported is the system or a variable: the same wheel again would fail again."""
    if told.finding is None:
        return False
    unsets = told.finding.fix is not None and bool(told.finding.fix.unsets)
    return told.finding.cause in ("libc-or-abi-mismatch", "missing-shared-library") or unsets


def _by_hand(told: Judgement) -> Step:
    fix = told.finding.fix if told.finding is not None else None
    notes = (sentence(fix.text),) if fix is not None else ()
    return Step(
        _ID,
        "Make torch importable",
        "todo",
        told.why,
        told.evidence,
        risk="manual",
        verify=Verify(told.check),
        notes=notes,
    )


def _capability(want: RequiredTorch, told: Judgement) -> Step:
    """Which wheel fits is decided by the compute capability, and the driver tells that once it runs."""
    why = f"{told.why} Its compute capability decides which wheel is needed"
    asks = "nvidia-smi --query-gpu=compute_cap --format=csv"
    if any(is_driven(gpu) for gpu in want.gpus):
        return Step(
            _ID,
            "Install torch",
            "unknown",
            f"{why}; {asks} shows it.",
            told.evidence,
            verify=Verify(command=asks, shows="7.5 or more: CUDA 12.8 and later builds have code for it"),
        )
    why = f"{why}, and the driver reports it once it runs."
    return Step(_ID, "Install torch", "waiting", why, told.evidence, verify=Verify(told.check), needs=("driver",))


def _unknown(told: Judgement, why: str, *pages: str) -> Step:
    notes = tuple(f"The page that shows it: {page}" for page in pages)
    return Step(
        _ID, "Install torch", "unknown", f"{told.why} {why}", told.evidence, verify=Verify(told.check), notes=notes
    )


def _no_wheel(situation: Situation, want: RequiredTorch, told: Judgement, fits: Sequence[str]) -> Step:
    driver = situation.machine.drivers.get("nvidia", {}).get("version")
    if want.backend == "cuda" and not fits and isinstance(driver, Known):
        why = f"{told.why} The tables have no wheel for driver {driver.value}: a newer driver comes first."
        return Step(_ID, "Install torch", "waiting", why, told.evidence, verify=Verify(told.check), needs=("driver",))
    python = f"Python {fits[0]} to {fits[-1]}" if fits else "this machine"
    return Step(
        _ID,
        "Install torch",
        "waiting" if fits else "unknown",
        f"{told.why} The tables have wheels for {python}, so the environment comes first."
        if fits
        else f"{told.why} {_gap(situation, want)}",
        told.evidence,
        verify=Verify(told.check),
        needs=("python-environment",),
        notes=(f"See {SELECTOR_PAGE}",),
    )


def _gap(situation: Situation, want: RequiredTorch) -> str:
    """That the tables have no wheel; of releases that somebody chose also what they have."""
    chosen = situation.choice.words
    if not chosen:
        return "The tables have no wheel for it."
    here = fresh(situation) or under_test(situation)
    python = here.series if isinstance(here, Interpreter) else ""
    have = install.rocm_choices(want.gfx, python) if want.backend == "rocm" and python else ()
    return f"The tables have no wheel of {chosen} for it." + (
        f" They have torch {'; '.join(have[:6])}." if have else ""
    )


def _todo(
    situation: Situation,
    want: RequiredTorch,
    told: Judgement,
    wheel: install.WheelIndex,
    into: Interpreter,
    old: dict[str, str],
) -> Step:
    args = wheel.args if "torchaudio" not in old else (wheel.args[0], "torchaudio", *wheel.args[1:])
    packages = tuple(one for one in args if not one.startswith("-") and one != wheel.url)
    names = tuple(re.split(r"[\[=]", one)[0] for one in packages)
    torch = situation.machine.torch
    actions = list(with_pip(into, torch, bool(old) or into.evidence != ()))
    if old:
        actions.append(uninstall(into, tuple(old)))
    actions.append(Action(words=(*into.pip, "install", *args)))
    undo = bring_back(into, old, names) if "torch" in old else (uninstall(into, names),)
    verb = f"Replace torch {old['torch']} with" if "torch" in old else "Install"
    version, back_end = (wheel.torch or "").partition("+")[0], "the CPU" if want.backend == "cpu" else want.words
    title = f"{verb} torch{f' {version}' if version else ''} for {back_end} ({wheel.flavour})"
    build = f"a build for {_code_of(want, wheel)}, Python {into.series}: {wheel.flavour}"
    why = f"{told.why} {_INDEX[wheel.kind]} has {build}."
    command, words = proof(into, want.backend != "cpu", wheel.environment or {})
    return Step(
        _ID,
        title,
        "todo",
        why,
        told.evidence,
        tuple(actions),
        tuple(f"{one} in {into.folder}" for one in packages),
        "safe",
        "now",
        Verify(told.check, command, _shows(situation, want)),
        undo,
        wheel.risk or "",
        _notes(situation, want, wheel, into, old, bool(undo)),
        wheel.sources,
        "install_torch",
        install.weakest("install_torch", wheel.sources),
        needs=("python-environment",),
        proof=words,
        download_gb=wheel_download_gb(wheel.flavour) if wheel.kind == "pytorch.org" else None,
    )


def _shows(situation: Situation, want: RequiredTorch) -> str:
    """What the proof prints where all is well."""
    if want.backend == "cpu":
        return "the release, and no error"
    names = [gpu.name.value for gpu in want.gpus if isinstance(gpu.name, Known)]
    return f"{names[0] if names else 'the name of the GPU'}, and no error"


def _for(want: RequiredTorch) -> str:
    if want.backend == "rocm":
        return ", ".join(want.gfx)
    return "the CPU" if want.backend == "cpu" else f"compute capability {want.capability}"


def _code_of(want: RequiredTorch, wheel: install.WheelIndex) -> str:
    """What the build has code for: the target itself, or the one that the GPU is run as."""
    value = (wheel.environment or {}).get(NAME)
    return _for(want) if value is None else f"{override_gfx_name(value)}, which {_for(want)} can be run as"


def _notes(
    situation: Situation,
    want: RequiredTorch,
    wheel: install.WheelIndex,
    into: Interpreter,
    old: dict[str, str],
    undo: bool,
) -> tuple[str, ...]:
    found: list[str] = []
    if old:
        gone = ", ".join(f"{name} {version}" for name, version in old.items())
        found.append(f"Removed: {gone}.")
        if not undo:
            found.append("The index it came from is not known, so no command here can restore it.")
    elif isinstance(situation.machine.torch.version, Known) and situation.machine.torch.version.value:
        found.append(f"torch {situation.machine.torch.version.value} in the other interpreter stays unchanged.")
    if into.kind == "conda":
        found.append("If conda installed torch, remove it with conda first: pip does not see all of it.")
    if want.backend == "rocm" and wheel.support == "official":
        found.append(_listed(situation, want))
    found += wheel.notes
    if want.backend == "cuda" and situation.nvidia_release and not driver_version(situation.machine, "nvidia"):
        found.append(
            f"This build was chosen for driver {situation.nvidia_release} or newer, which the driver step installs."
        )
    if wheel.kind == "amd":
        found.append(
            "It also installs packages named rocm-sdk-*, which stay in the environment when torch is uninstalled."
        )
    if wheel.newer:
        newer = ", ".join(wheel.newer)
        found.append(
            f"Newer releases: torch {newer}. Whether their {wheel.flavour} builds have code for {_for(want)} is not "
            "known."
        )
    if want.backend == "rocm" and wheel.torch is not None:
        release = wheel.flavour.removeprefix("rocm")
        for issue in known_issues(torch=wheel.torch, rocm=release, gfx=want.gfx, gpus=len(want.gpus)):
            if not issue.open_keys:
                told = f"{issue.symptom} {issue.workaround or ''}".rstrip()
                found.append(f"Known issue since {issue.seen} ({issue.workload}): {told}")
    if situation.wsl and want.backend == "rocm" and wheel.kind != "amd":
        found.append(
            "It is not known whether the runtime inside this wheel reaches the Windows GPU; AMD's wheels of ROCm 10.1 "
            "include what it needs."
        )
    installed = [value_or(one.version, "") for one in situation.machine.rocm]
    series_of = [one for one in installed if one and not one.startswith(wheel.flavour.removeprefix("rocm"))]
    if want.backend == "rocm" and series_of and wheel.self_contained:
        found.append(
            f"ROCm {series_of[0]} is installed. It matters only if you compile extensions here; compile them with "
            "the ROCm release that torch names."
        )
    return (*found, *want.notes)


def _listed(situation: Situation, want: RequiredTorch) -> str:
    """What AMD's lists say: of the card on this system where they tell, else of its target alone."""
    answer = lists_judgement(situation)
    if answer is not None and not answer.of("card", "distribution", "release", "kernel"):
        driver = driver_said(situation)
        told = f"AMD's list for ROCm {answer.rocm}, read {answer.read}, names this card on this system"
        return f"{told}, with another driver. {driver}" if driver else f"Supported: {told}."
    said = support_said(situation, "card", "distribution", "release", "kernel")
    return f"AMD's lists have {_for(want)}, but not this combination. {said}" if said else f"AMD lists {_for(want)}."
