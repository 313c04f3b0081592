"""ROCm's packages: the release that has code for these GPUs, from the source that this distribution has."""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.insight.software.rocm_roots import package_summary
from rocdoctor.judging.check import cite
from rocdoctor.knowledge import install
from rocdoctor.knowledge.gpus.gfx import same_isa_group
from rocdoctor.knowledge.load import numbers
from rocdoctor.knowledge.software.compat import rocm_release, rocm_releases
from rocdoctor.knowledge.software.package_managers import package_managers
from rocdoctor.model.evidence import Known, Unknown, value_or
from rocdoctor.model.facts import RocmInstall
from rocdoctor.model.finding import Evidence
from rocdoctor.model.shell_command import ShellCommand, shell
from rocdoctor.parsers.amd.rocm_packages import RocmPackage
from rocdoctor.repair.setup.gpus_without_rocm import without_rocm
from rocdoctor.repair.setup.plan import Action, Layer, State, Step, Verify
from rocdoctor.repair.setup.situation import Situation, safe_word
from rocdoctor.repair.setup.step_parts import (
    VENDOR_PAGE,
    actions_of,
    changes_of,
    open_in,
    packages_action,
    sentence,
    stay_enabled,
    upgrades_all,
    with_fresh_lists,
)

LAYER: Layer = "rocm"

# From this series on releases lie in folders of their own below /opt/rocm, and can stand beside each other.
_CORE = (7, 9)

_ID = "rocm"
_VERIFY = Verify("rocm-gpu-support-window")
_CPU = "What works: torch's CPU wheel on this machine, or another card."
_INSTEAD = (
    f"{_CPU} Volunteers build torch for such cards, but "
    "nobody guarantees the results, and any kernel or ROCm update can break them."
)
_OLD_WHEEL = (
    "What works: official torch wheels still carry code for it. Parts of their libraries may lack kernels, nobody "
    "tests it, and a later release may drop it; the CPU wheel has no such risk."
)
_BY_WHEEL = ("pytorch", "cluster-node")  # goals that a torch wheel reaches without ROCm's packages
_WHEEL = (
    "A torch wheel includes the ROCm libraries that it needs: these packages add rocminfo and amd-smi. The compilers "
    "for extensions are in amdrocm-core-dev (amdrocm-core-devel on RPM systems)."
)
_WHEEL_OWN = (
    "A torch wheel includes the ROCm libraries that it needs: these packages are for other programs from the "
    "distribution, and for code that is compiled here."
)


def steps(situation: Situation) -> Sequence[Step]:
    """The packages, or why there are none. A host of containers needs the driver alone, a container its image."""
    if not situation.amd:
        return ()
    hopeless = _hopeless(situation)
    if hopeless is not None:
        return (hopeless,)
    if situation.goal == "container" or situation.wsl or situation.choice.wheels:
        return ()
    return _packages(situation)


# -- cards without ROCm


def _hopeless(situation: Situation) -> Step | None:
    """That no ROCm release has packages for these GPUs, and what works instead."""
    told = without_rocm(situation)
    if told is None:
        return None
    note = _OLD_WHEEL if told.wheel else _INSTEAD if situation.amd_able else _CPU
    return Step(
        _ID,
        "ROCm for this GPU",
        "impossible",
        told.why,
        told.evidence,
        verify=_VERIFY,
        notes=(note,),
        optional=situation.goal in _BY_WHEEL,
    )


# -- packages


def _packages(situation: Situation) -> Sequence[Step]:
    # Chosen packages are wanted; where there are none of that release, a wheel may bring its libraries all the same.
    wanted = bool(situation.choice.rocm) and not isinstance(situation.rocm, Unknown)
    optional = situation.goal in _BY_WHEEL and not wanted
    installed = [one for one in situation.machine.rocm if one.kind != "wheel"]
    if installed:
        return (_installed(situation, installed, optional),)
    if not situation.machine.rocm_complete:
        why = "The evidence does not show whether ROCm is installed; ls -d /opt/rocm* shows it."
        return (Step(_ID, "ROCm packages", "unknown", why, verify=_VERIFY, optional=optional),)
    if not situation.gfx:
        why = (
            "The target of this GPU is not known yet: the driver reports it, and it decides which packages are needed."
        )
        return (Step(_ID, "ROCm packages", "waiting", why, verify=_VERIFY, needs=("driver",), optional=optional),)
    return (_install(situation, "", (), optional),)


def _installed(situation: Situation, installed: Sequence[RocmInstall], optional: bool) -> Step:
    newest = max(installed, key=lambda one: numbers(value_or(one.version, "")))
    evidence = (cite(newest.version, f"ROCm {value_or(newest.version, '?')} in {newest.root}"),)
    old = situation.finding("rocm-gpu-support-window")
    gfx = ", ".join(situation.gfx)
    # A note that a list lacks the card has nothing to verify: the code for the card may be there.
    if old is not None and old.fix is not None and old.fix.verify:
        return _install(situation, old.message, old.evidence, optional)
    version = value_or(newest.version, "")
    if (chosen := numbers(situation.choice.rocm)) and all(
        numbers(value_or(one.version, ""))[: len(chosen)] != chosen for one in installed
    ):
        why = f"ROCm {version or 'of an unknown release'} is installed, but ROCm {situation.choice.rocm} was chosen."
        return _install(situation, why, evidence, optional)
    support = _said_of(situation, version)
    why = f"ROCm {version or 'of an unknown release'} is installed in {newest.root}" + (f", for {gfx}." if gfx else ".")
    return Step(
        _ID,
        "ROCm packages",
        "done",
        why,
        evidence,
        verify=_VERIFY,
        support=support,
        optional=optional,
    )


def _said_of(situation: Situation, version: str) -> str:
    """What the installed release says of these GPUs, where it does not simply list them."""
    found = situation.finding("rocm-gpu-support-window")
    return sentence(found.message) if found is not None else ""


def _install(situation: Situation, message: str, evidence: tuple[Evidence, ...], optional: bool) -> Step:
    route = situation.rocm
    gfx, where = ", ".join(situation.rocm_targets), situation.os_words
    evidence = evidence or tuple(cite(gpu.gfx) for gpu in situation.amd_able if isinstance(gpu.gfx, Known))[:1]
    if isinstance(route, Unknown):
        why = f"{sentence(message)} {sentence(route.why)}".strip()
        notes = (f"AMD's page: {VENDOR_PAGE}", *([_WHEEL] if optional else []))
        return Step(_ID, "ROCm packages", "unknown", why, evidence, verify=_VERIFY, notes=notes, optional=optional)
    wheel = (_WHEEL_OWN if route.stream == "distribution" else _WHEEL,) if optional else ()
    late, known = _too_old(situation, route)
    if late:
        notes = (f"AMD's page: {VENDOR_PAGE}", *route.notes, *wheel)
        state: State = "impossible" if known else "unknown"
        return Step(_ID, "ROCm packages", state, late, evidence, verify=_VERIFY, notes=notes, optional=optional)
    first, undo_first = _removal(situation, route)
    actions = with_fresh_lists((*first, *actions_of(route.steps)))
    undo = (*actions_of(route.undo), *undo_first)
    release = f"ROCm {route.rocm}" if route.rocm else "ROCm of the distribution"
    why = f"{sentence(message)} {release} has packages for {gfx} on {where}.".strip()
    if route.environment:
        relative = ", ".join(name for name in route.packages)
        why = f"{sentence(message)} {release} has no code for {gfx}; {relative} has code for a related target.".strip()
    if route.stream == "distribution":
        which = release if route.rocm else "ROCm (which release is not in the tables)"
        why = f"{sentence(message)} {where} has {which} in its own archive.".strip()
    missing = open_in(actions)
    if missing:
        pages = " ".join(route.pages) or VENDOR_PAGE
        gap = f"The commands need {', '.join(missing)}, which is not known here; see {pages}."
        return Step(_ID, "ROCm packages", "unknown", f"{why} {gap}", evidence, verify=_VERIFY, optional=optional)
    left = [one for one in situation.gfx if one not in situation.rocm_targets]
    alone = f"None has packages for {', '.join(left)}: keep it out of jobs with HIP_VISIBLE_DEVICES." if left else ""
    notes = (*([alone] if alone else []), *_beside(situation, route, bool(first)), *wheel, *route.notes)
    notes = (*notes, *stay_enabled(actions))
    if route.environment:
        shown = " ".join(f"{name}={value}" for name, value in route.environment.items())
        notes = (f"Programs must be started with {shown}.", *notes)
    return Step(
        _ID,
        f"Install {release}",
        "todo",
        why,
        evidence,
        actions,
        changes_of(actions),
        "risky" if first or route.environment or any(map(upgrades_all, actions)) else "safe",
        "now",
        Verify(
            command=_verify(route),
            shows=f"{situation.rocm_targets[0]} among the agents",
            expects=f"(^|[^0-9a-z]){situation.rocm_targets[0]}([^0-9a-z]|$)",
        ),
        undo,
        _risk(situation, route),
        notes,
        route.sources,
        "install_rocm",
        install.kind_of(route),
        optional=optional,
        download_gb=route.download_gb,
        disk_gb=route.disk_gb,
        proof=route.verify[0] if route.verify and not route.environment else (),
    )


def _too_old(situation: Situation, route: install.Route) -> tuple[str, bool]:
    """Why a distribution's own release is none for these GPUs, and whether that is known; "" where nothing says so.

    Known: AMD's list for it has neither a target nor a relative of it. With a relative alone it is open whether the
    distribution builds for the target itself.
    """
    row = rocm_release(route.rocm) if route.stream == "distribution" and route.rocm else None
    if row is None or not row.complete or row.gfx is None:
        return "", True
    where = f"{situation.os_words} has ROCm {route.rocm} in its archive"
    newer = "A newer release of the distribution has a newer ROCm."
    for gfx in situation.gfx:
        if gfx in (*row.gfx, *row.gfx_deprecated, *route.built_for):
            continue
        listing = [one.series[0] for one in rocm_releases() if gfx in (one.gfx or ())]
        later = min(listing, key=numbers, default=None)
        if later is None or numbers(later) <= numbers(row.series[-1]):
            continue
        if not any(same_isa_group(gfx, one) for one in (*row.gfx, *row.gfx_deprecated)):
            text = f"{where}, whose list has neither {gfx} nor a related target (the list for {later} does). {newer}"
            return text, True
        return (
            f"{where}. AMD's list for it does not have {gfx} (the list for {later} does), and it is not known "
            f"whether the distribution still builds for it. {newer}"
        ), False
    return "", True


def _risk(situation: Situation, route: install.Route) -> str:
    """What speaks against a route; of a distribution's release also that its list lacks a target."""
    risk = route.risk or ""
    row = rocm_release(route.rocm) if route.stream == "distribution" and route.rocm else None
    lacks = [gfx for gfx in situation.gfx if row is not None and row.complete and row.gfx and gfx not in row.gfx]
    return f"{risk} AMD's list for ROCm {route.rocm} does not have {', '.join(lacks)}." if lacks else risk


def _verify(route: install.Route) -> ShellCommand:
    return shell("{words:option}", words=route.verify[0]) if route.verify else ShellCommand("rocminfo")


def _removal(situation: Situation, route: install.Route) -> tuple[tuple[Action, ...], tuple[Action, ...]]:
    """What must go before, and what brings it back: packages of generations that cannot stand beside the new one."""
    summary = package_summary(situation.machine)
    if summary is None or situation.manager not in package_managers():
        return (), ()
    names = sorted(
        {one.name for one in summary.packages if _generation(one) in route.remove_first and safe_word(one.name)}
    )
    if not names:
        return (), ()
    gone = packages_action(situation.manager, "remove_all", *names)
    return (gone,), (packages_action(situation.manager, "install", *names),)


def _beside(situation: Situation, route: install.Route, removed: bool) -> list[str]:
    """What becomes of each installed ROCm that no command removes: it stays, or a person has to take it away first."""
    found: list[str] = []
    for one in situation.machine.rocm:
        version = value_or(one.version, "")
        have = numbers(version)[:2]
        if one.kind == "wheel" or not have or have == numbers(route.rocm or "")[:2] or (one.kind == "distribution"):
            continue
        stream = "classic_61" if have == (6, 1) else "classic" if have < _CORE else _stream(have)
        if stream in route.remove_first and not removed:
            found.append(
                f"Uninstall ROCm {version} first: AMD requires that before these packages. "
                f"The evidence does not show which packages {one.root} came from."
            )
        elif stream not in route.remove_first:
            found.append(
                f"ROCm {version} stays installed in {one.root}: programs use the release that their PATH names."
            )
    return found


def _stream(series: tuple[int, ...]) -> str:
    """The stream of the tables that has this series; "" for none."""
    return next((one.id for one in install.streams() if numbers(one.rocm)[:2] == series), "")


def _generation(package: RocmPackage) -> str:
    """The stream of the tables that a package is of: classic, or that of its release; "" for a distribution's own."""
    have = numbers(package.release or "")[:2]
    if package.stream == "classic":
        return "classic_61" if have == numbers("6.1") else "classic"
    return _stream(have) if package.stream == "core" else ""
