"""torch and its companions: which index has a wheel with code for a GPU, and what may stand beside it.

Flavours, Python releases and targets of pytorch.org are those of ``compat.yaml``; a wheel whose targets nobody read is
never proposed, it is only named as a newer one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Literal

from rocdoctor.knowledge.gpus.gfx import arch_list_covers, gfx_target
from rocdoctor.knowledge.install.amd_drivers import Support, current_targets, override_of
from rocdoctor.knowledge.install.distributions import Distribution
from rocdoctor.knowledge.install.processors import cuda_built_for
from rocdoctor.knowledge.install.steps import InstallStep, Words, fill_text, host_values, hosts, open_names
from rocdoctor.knowledge.load import load_table, numbers, words
from rocdoctor.knowledge.software.compat import TorchFlavour, TorchRelease, rocblas_lacks, series, torch_releases
from rocdoctor.knowledge.software.package_managers import package_managers
from rocdoctor.knowledge.software.wheel_indexes import cuda_rows, flavour_rank


@dataclass(frozen=True, slots=True)
class WheelIndex:
    """An index and what to give pip. ``self_contained``: the wheel brings its ROCm or CUDA libraries.

    ``newer`` are releases of the same flavour whose targets nobody read. ``environment`` are variables without which
    the wheel does not run on this GPU.
    """

    kind: str  # pytorch.org, amd
    url: str
    args: Words
    flavour: str
    torch: str | None
    support: Support
    self_contained: bool
    notes: Words = ()
    newer: Words = ()
    environment: Mapping[str, str] | None = None
    risk: str | None = None
    sources: Words = ()

    @property
    def missing(self) -> Words:
        """Names of addresses that were not read."""
        return open_names(self.args)

    @property
    def pages(self) -> Words:
        """The vendor pages that show the addresses that are missing."""
        return tuple(hosts()[name].page for name in self.missing if name in hosts())


@dataclass(frozen=True, slots=True)
class Companion:
    """A library beside torch. ``state``: yes, no, risky (see ``risk``) or unknown (its targets were not read)."""

    name: str
    state: Literal["yes", "no", "risky", "unknown"]
    text: str
    args: Words
    environment: Mapping[str, str]
    risk: str | None
    sources: Words


def _minor(python: str) -> str:
    return series(python) or python


def _vision(torch: str) -> str:
    """The torchvision of a torch release; "" for one that is newer than the rule was seen to hold."""
    table = load_table("install_torch")["pytorch_org"]
    _, minor, patch = (*numbers(torch), 0, 0)[:3]
    if numbers(torch)[:2] > numbers(table["vision_through"]):
        return ""
    return f"0.{minor + table['vision_offset']}.{patch}"


def _pytorch_org(
    release: TorchRelease,
    flavour: str,
    support: Support,
    *,
    newer: Words = (),
    risk: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> WheelIndex:
    table = load_table("install_torch")["pytorch_org"]
    vision = _vision(release.version)
    values = {**host_values(), "flavour": flavour, "torch": release.version, "vision": vision}
    named = [one if vision else one.replace("=={vision}", "") for one in table["args"]]
    rocm = flavour.startswith("rocm")
    contained = not rocm or numbers(flavour[4:]) <= numbers(table["self_contained_through"])
    notes = [] if flavour.startswith("cu") else [table["note_index"]]
    if rocm:
        notes.append(table["note_driver"] if contained else table["note_714"])
    return WheelIndex(
        "pytorch.org",
        fill_text(table["url"], values),
        tuple(fill_text(one, values) for one in named),
        flavour,
        release.version,
        support,
        contained,
        tuple(notes),
        newer,
        environment,
        risk,
        words(table["s"]),
    )


@lru_cache(maxsize=256)
def _newest(targets: Words, python: str, rocm: str | None) -> tuple[TorchRelease, str, Words] | None:
    """The newest release of pytorch.org that is known to have code for all targets, its flavour, and newer ones."""
    found: list[tuple[tuple[int, ...], TorchRelease, str]] = []
    unread: list[tuple[str, str]] = []
    for release in torch_releases():
        if _minor(python) not in release.python:
            continue
        for one in release.rocm or ():
            if one.gfx is None:
                unread.append((release.version, one.flavour))
            elif all(one.runs_on(gfx) for gfx in targets):
                found.append((numbers(release.version), release, one.flavour))
    if rocm is not None:
        found = [one for one in found if one[2] == f"rocm{series(rocm) or rocm}"] or found
    if not found:
        return None
    best = max(found, key=lambda one: (one[0], flavour_rank(one[2])))
    newer = tuple(version for version, flavour in unread if flavour == best[2] and numbers(version) > best[0])
    return best[1], best[2], newer


def wheels(
    gfx: str | Sequence[str], python: str, rocm: str | None = None, *, wsl: bool = False
) -> tuple[WheelIndex, ...]:
    """Every index with a wheel for an AMD target, or for several at once, and a Python release ("3.12"), best first.

    ``rocm`` prefers the flavour of an installed ROCm, which matters only where extensions are compiled here: the
    libraries of a wheel need not match the installed ones. An index whose address was not read comes last. Under
    ``wsl`` those of AMD come first: they bring the bridge to the driver of Windows.
    """
    return _wheels((gfx,) if isinstance(gfx, str) else tuple(dict.fromkeys(gfx)), python, rocm, wsl)


@lru_cache(maxsize=500)  # a plan asks for a few of them hundreds of times
def _wheels(targets: Words, python: str, rocm: str | None, wsl: bool) -> tuple[WheelIndex, ...]:
    if not targets or any(gfx_target(one) is None for one in targets):
        return ()
    names = ", ".join(targets)
    risks = load_table("install_torch")["risks"]
    found: list[WheelIndex] = []
    native = _newest(targets, python, rocm)
    if native is not None:
        current = current_targets() >= set(targets)
        risk = None if current else risks["old"].format(gfx=names)
        own = _pytorch_org(*native[:2], "official" if current else "works-unsupported", newer=native[2], risk=risk)
        found.append(_with_why_not_newer(own, targets, python))
    amd = _amd(targets, python)
    # a wheel of pytorch.org that brings no ROCm asks for device packages of every target: AMD's own index comes first
    found = amd["listed"] + found if native is not None and not found[0].self_contained else found + amd["listed"]
    found += amd["packages"]
    override = override_of(targets[0]) if len(targets) == 1 else None
    if native is None and override is not None:
        value, stand_in, note = override
        other = _newest((stand_in,), python, rocm)
        if other is not None:
            risk = risks["override"].format(gfx=names, override=value, stand_in=stand_in, note=note)
            environment = {"HSA_OVERRIDE_GFX_VERSION": value}
            found.append(_pytorch_org(*other[:2], "works-unsupported", risk=risk, environment=environment))
    found += amd["named"]
    return tuple(sorted(found, key=lambda one: (bool(one.missing), wsl and one.kind != "amd")))


def _with_why_not_newer(found: WheelIndex, targets: Words, python: str) -> WheelIndex:
    """The wheel, with a note where a newer one has torch's own code, and a rocBLAS without files for a target."""
    for release in torch_releases():
        if _minor(python) not in release.python or numbers(release.version) <= numbers(found.torch or ""):
            continue
        for one in release.rocm or ():
            bare = [gfx for gfx in targets if rocblas_lacks(one.flavour, gfx)]
            if one.gfx is not None and bare and all(arch_list_covers(one.gfx, gfx) for gfx in targets):
                table = load_table("install_torch")["pytorch_org"]
                note = table["note_rocblas"].format(torch=release.version, flavour=one.flavour, gfx=", ".join(bare))
                return replace(found, notes=(*found.notes, note))
    return found


def wheel(gfx: str | Sequence[str], python: str, rocm: str | None = None, *, wsl: bool = False) -> WheelIndex | None:
    """The index to propose for an AMD target, or None where the tables know no wheel with code for it."""
    return next(iter(wheels(gfx, python, rocm, wsl=wsl)), None)


def _amd(gfx: Words, python: str) -> Mapping[str, list[WheelIndex]]:
    """The indexes of AMD by what is known of them: they list the targets, have their packages, or may have them."""
    table = load_table("install_torch")
    packaged, named = set(table["amd_targets"]["packages"]), set(table["amd_targets"]["named"])
    # one extra of pip for each target: torch[device-gfx1100,device-gfx1201]
    values = {**host_values(), "gfx": ",device-".join(gfx)}
    found: dict[str, list[WheelIndex]] = {"listed": [], "packages": [], "named": []}
    for raw in table["amd"]:
        beyond = set(gfx) - set(raw["gfx"])
        if _minor(python) not in raw["python"] or not beyond <= packaged | named:
            continue
        kind = "listed" if not beyond else "packages" if beyond <= packaged else "named"
        about = words(table["amd_targets"]["s"]) if beyond else ()
        found[kind].append(
            WheelIndex(
                "amd",
                fill_text(raw["url"], values),
                tuple(fill_text(one, values) for one in raw["args"]),
                f"rocm{raw['rocm']}",
                raw["torch"],
                "works-unsupported" if beyond else "official",
                True,
                (table["pytorch_org"]["note_index"],),
                risk=table["risks"][kind].format(gfx=", ".join(sorted(beyond))) if beyond else None,
                sources=(*words(raw["s"]), *about),
            )
        )
    return found


def cuda_wheel(capability: str, python: str, driver: str = "", arch: str = "x86_64") -> WheelIndex | None:
    """The index for an NVIDIA GPU by compute capability and driver; an unknown driver counts as one of CUDA 12.

    ``arch`` is that of the processor.
    """
    for row in cuda_rows(capability, driver) if numbers(capability) else ():
        if not cuda_built_for(row["flavour"], capability, arch):
            continue
        for release in torch_releases():
            if _minor(python) in release.python and row["flavour"] in (release.cuda or ()):
                found = _pytorch_org(release, row["flavour"], "official", risk=row.get("risk"))
                if arch == "x86_64":
                    return found
                return replace(found, sources=(*found.sources, *words(load_table("install_torch")[arch]["s"])))
    return None


def cpu_wheel(python: str) -> WheelIndex | None:
    """The index for a machine without a usable GPU: the newest release for this Python whose flavours were read."""
    for release in torch_releases():
        read = release.rocm is not None or release.cuda is not None
        if read and release.date is not None and _minor(python) in release.python:
            return _pytorch_org(release, load_table("install_torch")["cpu"]["flavour"], "official")
    return None


def environment_steps(found: Distribution, environment: str) -> tuple[InstallStep, ...]:
    """The steps that make a virtual environment at ``environment``; Debian and Ubuntu package venv on its own."""
    table = load_table("install_torch")["venv"]
    values = {"interpreter": found.interpreter, "environment": environment}
    steps: list[InstallStep] = []
    if found.manager == "apt":
        command = tuple(fill_text(word, values) for word in table["apt"]["run"][0].split())
        about = words(table["apt"]["s"])
        steps.append(
            InstallStep("venv-package", "Install venv", (command,), True, sources=about, table="install_torch")
        )
    elif found.interpreter not in ("python3", "python"):
        command = package_managers()[found.manager].command("install", (found.python_package,))
        about = found.sources
        module = found.values.get("python_module") if found.derived_from is None else None
        commands = ((("SUSEConnect", "-p", module),) if module else ()) + (command,)
        steps.append(
            InstallStep("interpreter", "Install the interpreter", commands, True, sources=about, table="install")
        )
    made = tuple(fill_text(word, values) for word in table["make"].split())
    steps.append(InstallStep("venv", "Make a virtual environment", (made,), sources=(), table="install_torch"))
    return tuple(steps)


def environment_by(maker: str, environment: str, python: str) -> tuple[InstallStep, ...]:
    """The step that makes an environment with a Python of its own, by ``uv`` or ``conda``, which the user has."""
    row = load_table("install_torch")["makers"][maker]
    own = tuple(fill_text(word, {"environment": environment, "python": python}) for word in row["run"].split())
    return (InstallStep("venv", "Make an environment", (own,), sources=words(row["s"]), table="install_torch"),)


def placeholder(package: str, version: str) -> bool:
    """Whether this version of a package of PyPI is the empty placeholder or another project of the same name."""
    known = load_table("install_torch")["placeholders"]["names"]
    if package in known:
        return version == str(known[package])
    return version == "0.0.1.dev0" and package.startswith(("rocm-sdk-", "amd-torch"))


def companions(gfx: str, rocm: str | None = None) -> tuple[Companion, ...]:
    """What is known of each library for an AMD target; ``rocm`` is the release that torch brings or was built for."""
    return tuple(_companion(raw, gfx, rocm) for raw in load_table("install_torch")["companions"])


def _companion(raw: Any, gfx: str, rocm: str | None) -> Companion:
    state: Literal["yes", "no", "risky", "unknown"] = "unknown"
    risk = None
    if raw.get("by_rocm"):
        table = load_table("training_libraries")["bitsandbytes_rocm"]["series"]
        covered = table.get(series(rocm or "") or rocm or "")
        if covered is not None:
            state = "yes" if gfx in covered else "no"
    for row in raw.get("states", ()):
        if any(fnmatchcase(gfx, pattern) for pattern in row["gfx"]):
            state, risk = row["value"], row.get("risk")
            break
    return Companion(
        raw["name"],
        state,
        raw["text"],
        tuple(fill_text(one, host_values()) for one in raw["args"]),
        raw.get("environment", {}),
        risk,
        words(raw["s"]),
    )


# -- a release that somebody chose


def _is(version: str, chosen: str) -> bool:
    """Whether a release is the chosen one: "2.11" is any patch of it, "" any release."""
    wanted = numbers(chosen)
    return not wanted or numbers(version)[: len(wanted)] == wanted


def chosen_rocm_wheel(gfx: Sequence[str], python: str, rocm: str, torch: str) -> WheelIndex | None:
    """The newest wheel of the chosen ROCm series and torch release; None where the tables have none.

    One whose targets nobody read is proposed too, as that.
    """
    targets, series_of = tuple(dict.fromkeys(gfx)), series(rocm) or rocm
    known: list[WheelIndex] = []
    unread: list[WheelIndex] = []
    for release in torch_releases():
        if _minor(python) not in release.python or not _is(release.version, torch):
            continue
        for one in _newest_first(release):
            if not _is(one.flavour.removeprefix("rocm"), series_of):
                continue
            if one.gfx is None:
                risk = load_table("install_torch")["risks"]["unread"].format(gfx=", ".join(targets))
                unread.append(_pytorch_org(release, one.flavour, "works-unsupported", risk=risk))
            elif all(one.runs_on(each) for each in targets):
                known.append(_pytorch_org(release, one.flavour, "official"))
    amd = [one for one in _of_amd(targets, python) if _is(one.flavour.removeprefix("rocm"), series_of)]
    amd = [one for one in amd if not one.missing and (not torch or (one.torch is not None and _is(one.torch, torch)))]
    return next(iter([*known, *amd, *unread]), None)


def _newest_first(release: TorchRelease) -> list[TorchFlavour]:
    return sorted(release.rocm or (), key=lambda one: numbers(one.flavour.removeprefix("rocm")), reverse=True)


def rocm_choices(gfx: Sequence[str], python: str) -> Words:
    """What can be chosen for these targets: releases of torch with the flavours that are known to have their code."""
    found: list[str] = []
    for release in torch_releases():
        flavours = [one.flavour for one in _newest_first(release) if all(one.runs_on(each) for each in gfx)]
        if flavours and _minor(python) in release.python:
            found.append(f"{release.version} ({', '.join(flavours)})")
    return tuple(found)


def chosen_other_wheel(flavours: Sequence[str], python: str, torch: str) -> WheelIndex | None:
    """The chosen torch release for one of these flavours (``cu128``, ``cpu``), the first that it has."""
    for flavour in flavours:
        for release in torch_releases():
            has = flavour == "cpu" or flavour in (release.cuda or ())
            if has and _minor(python) in release.python and _is(release.version, torch):
                unread = release.cuda is None and release.rocm is None
                risk = load_table("install_torch")["risks"]["unseen"].format(torch=release.version, flavour=flavour)
                return _pytorch_org(release, flavour, "official", risk=risk if unread else None)
    return None


def _of_amd(gfx: Words, python: str) -> list[WheelIndex]:
    """The wheels of AMD's indexes, those first that list the targets."""
    return [one for group in _amd(gfx, python).values() for one in group]


def amd_wheel(gfx: Sequence[str], python: str, rocm: str = "", torch: str = "") -> WheelIndex | None:
    """The newest wheel of AMD's own index for these targets, which goes with ROCm from wheels."""
    for one in _of_amd(tuple(dict.fromkeys(gfx)), python):
        pinned = not torch or (one.torch is not None and _is(one.torch, torch))
        if pinned and not one.missing and _is(one.flavour.removeprefix("rocm"), series(rocm) or rocm):
            return one
    return None


def rocm_wheel_args(gfx: Sequence[str], found: WheelIndex) -> tuple[Words, Words]:
    """(what pip is told for ROCm's libraries, headers and compilers of the series of a wheel, sources)."""
    row = load_table("install_torch")["rocm_wheels"]
    values = {"gfx": ",device-".join(gfx), "rocm": found.flavour.removeprefix("rocm"), "url": found.url}
    return tuple(fill_text(one, values) for one in row["args"]), words(row["s"])
