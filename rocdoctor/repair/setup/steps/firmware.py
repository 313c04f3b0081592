"""The firmware that the driver loads into the GPU when it starts."""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.insight.gpus.presence import is_driven
from rocdoctor.judging.check import cite
from rocdoctor.knowledge import install
from rocdoctor.model.evidence import Unknown, is_known
from rocdoctor.model.finding import Evidence
from rocdoctor.repair.setup.listed_support import firmware_said
from rocdoctor.repair.setup.plan import Layer, Step, Verify
from rocdoctor.repair.setup.situation import Situation
from rocdoctor.repair.setup.step_parts import (
    VENDOR_PAGE,
    actions_of,
    for_caretaker,
    packages_action,
    sentence,
    with_fresh_lists,
)

LAYER: Layer = "firmware"

_ID = "gpu-firmware"
_TITLE = "Firmware of the AMD GPU"
_VERIFY = Verify("gpu-firmware-missing")


def steps(situation: Situation) -> Sequence[Step]:
    """The package of the distribution where a file is missing, or that the driver started with what is there."""
    if not situation.amd_able or situation.wsl:
        return ()
    found = situation.finding("gpu-firmware-missing")
    if found is None:
        gpus = situation.amd_able
        if not all(is_driven(gpu) for gpu in gpus):
            return ()  # nobody asked for a file yet, or the log is closed: nothing points to the firmware
        why = "The driver started the GPU, so it found the firmware that it needs."
        evidence = tuple(cite(gpu.driver) for gpu in gpus[:1] if is_known(gpu.driver))
        return (Step(_ID, _TITLE, "done", why, evidence, verify=_VERIFY, notes=firmware_said(situation)),)
    return for_caretaker(situation, (_missing(situation, sentence(found.message), found.evidence),))


def _missing(situation: Situation, why: str, evidence: tuple[Evidence, ...]) -> Step:
    found = situation.distribution
    package = install.firmware_package(found) if found is not None else None
    disk = install.initramfs(found)
    if found is None or package is None or isinstance(disk, Unknown):
        gap = f"Which package of {situation.os_words} has its firmware is not in the tables."
        notes = (f"AMD's driver package, where it can be installed, includes its own firmware: {VENDOR_PAGE}",)
        return Step(_ID, _TITLE, "unknown", f"{why} {gap}", evidence, verify=_VERIFY, notes=notes)
    young = [gfx for gfx in situation.gfx if gfx in package.too_old_for]
    if young:
        return _too_old(situation, why, evidence, package, young)
    fetch = packages_action(found.manager, "install" if package.section else "reinstall", package.package)
    actions = (*with_fresh_lists((fetch,)), *actions_of(disk))
    lines = [sentence(package.text)]
    if package.section:
        lines.append(
            f"It is in the section {package.section} of the archive: if that word is missing, "
            "first add it to the lines of the package sources."
        )
    removal = packages_action(found.manager, "remove", package.package)
    undo = (removal, *actions_of(disk)) if package.section else ()
    return Step(
        _ID,
        "Install the firmware of the AMD GPU",
        "todo",
        why,
        evidence,
        actions,
        (package.package, "the initial RAM disk"),
        "reboots",
        "reboot",
        _VERIFY,
        undo,
        notes=tuple(lines),
        sources=package.sources,
        table="install",
        kind=install.weakest("install", package.sources),
    )


def _too_old(
    situation: Situation, why: str, evidence: tuple[Evidence, ...], package: install.Firmware, young: list[str]
) -> Step:
    route = situation.driver
    text = f"{why} {package.package} here is older than {', '.join(young)}."
    if isinstance(route, install.DriverRoute) and route.kind == "dkms":
        return Step(
            _ID,
            _TITLE,
            "waiting",
            text,
            evidence,
            verify=_VERIFY,
            notes=("AMD's driver package in a later step includes its own firmware.",),
        )
    return Step(
        _ID,
        _TITLE,
        "unknown",
        f"{text} The tables have no newer one.",
        evidence,
        verify=_VERIFY,
        notes=(f"AMD's page: {VENDOR_PAGE}",),
    )
