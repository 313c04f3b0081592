"""The key that signs a driver which is built on this machine: under Secure Boot nothing else is loaded."""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.insight.gpus.presence import has_node, is_driven
from rocdoctor.judging.check import cite
from rocdoctor.knowledge import install
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.repair.setup.plan import Action, Layer, Step, Verify
from rocdoctor.repair.setup.situation import Situation
from rocdoctor.repair.setup.step_parts import (
    actions_of,
    changes_of,
    for_caretaker,
    key_enrolled,
    open_in,
    sentence,
    sources_of,
    with_key_tool,
)

LAYER: Layer = "driver"

_ID = "secure-boot-key"
_TITLE = "Enrol the key that signs the driver (Secure Boot)"
_VERIFY = Verify("secure-boot-refuses-module")
_PASSWORD = "mokutil asks for a one-time password: choose one that you can type on any keyboard layout."
_OTHER_WAY = "Alternatively, switch Secure Boot off in the firmware setup."


def steps(situation: Situation) -> Sequence[Step]:
    """The enrolment, where AMD's driver is or will be built here; the distribution signs the kernel's own."""
    if not situation.amd_able or situation.wsl:
        return ()
    step = _step(situation)
    return () if step is None else for_caretaker(situation, (step,))


def _step(situation: Situation) -> Step | None:
    machine = situation.machine
    refused = situation.finding("secure-boot-refuses-module")
    secure, version = machine.kernel.secure_boot, machine.drivers.get("amdgpu", {}).get("version")
    if situation.secure_boot is not True and refused is None:
        return None
    if all(has_node(gpu) or is_driven(gpu) for gpu in situation.amd_able):
        if not isinstance(version, Known):
            return None
        why = "Secure Boot is on, and the packaged driver is loaded anyway: its key is enrolled."
        return Step(_ID, _TITLE, "done", why, (cite(secure, "Secure Boot is on"), cite(version)), verify=_VERIFY)
    route = situation.driver
    planned = isinstance(route, install.DriverRoute) and route.kind == "dkms"
    built = any(entry.startswith("amdgpu/") for entry in value_or(machine.kernel.dkms, ()))
    if refused is None and not built and not planned:
        return None
    evidence = (
        *(refused.evidence if refused is not None else ()),
        *([cite(secure, "Secure Boot is on")] if isinstance(secure, Known) else []),
    )
    why = "Secure Boot is on: a driver built on this machine loads only if its key is enrolled."
    why = sentence(refused.message) if refused is not None else why
    found = situation.distribution
    enrol = tuple(one for one in install.secure_boot_steps(found) if one.after) if found is not None else ()
    actions = with_key_tool(situation, actions_of(enrol))
    if not enrol or open_in(actions):
        gap = "The tables do not say where its key is on this distribution."
        return Step(_ID, _TITLE, "unknown", f"{why} {gap}", tuple(dict.fromkeys(evidence)), verify=_VERIFY)
    return Step(
        _ID,
        _TITLE,
        "todo",
        why,
        tuple(dict.fromkeys(evidence)),
        actions,
        changes_of(actions),
        "reboots",
        "reboot",
        key_enrolled(actions[-1].words[-1]),
        (Action(words=("mokutil", "--delete", actions[-1].words[-1]), root=True),),
        notes=(_PASSWORD, *install.boot_notes(enrol)[1:], _OTHER_WAY),
        sources=sources_of(enrol),
        table="install",
        kind=install.weakest("install", sources_of(enrol)),
    )
