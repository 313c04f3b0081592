"""The fabric manager of NVSwitch boards: part of the first plan, and started where it does not run."""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.insight.gpus.nvidia import is_module
from rocdoctor.insight.gpus.presence import is_driven, is_reserved
from rocdoctor.judging.check import cite
from rocdoctor.knowledge import install
from rocdoctor.knowledge.load import numbers
from rocdoctor.model.evidence import NOT_ASKED, Known, value_or
from rocdoctor.model.facts import Gpu
from rocdoctor.repair.setup.plan import Action, Layer, Step, Verify
from rocdoctor.repair.setup.situation import Situation
from rocdoctor.repair.setup.step_parts import (
    actions_of,
    changes_of,
    for_caretaker,
    open_in,
    sentence,
    sources_of,
    with_fresh_lists,
)

LAYER: Layer = "driver"

_ID, _DRIVER = "nvidia-fabric-manager", "driver-nvidia"
_UNIT = "nvidia-fabricmanager"
_TABLE = "install_servers"


def steps(situation: Situation) -> Sequence[Step]:
    """One step, where a check finds it down, or where the driver of such a board is still to be installed."""
    gpus = [gpu for gpu in situation.gpus("nvidia") if not is_reserved(gpu)]
    step = _down(situation) or _ahead(situation, gpus)
    return () if step is None else for_caretaker(situation, (step,))


def _down(situation: Situation) -> Step | None:
    found = situation.finding("fabric-manager-down", "warning")
    if found is None:
        return None
    version = value_or(situation.machine.drivers.get("nvidia", {}).get("version", NOT_ASKED), "")
    fix = found.fix
    which = "which package provides it here is not in the tables"
    fabric = _fabric(situation, next(iter(numbers(version)), None))
    if fabric is not None and not open_in(actions_of(fabric.steps)):
        which = f"where it is missing: {actions_of(fabric.steps)[0].command}"
    return Step(
        _ID,
        "Start the fabric manager of the NVSwitch board",
        "todo",
        found.message,
        found.evidence,
        (Action(words=("systemctl", "enable", "--now", _UNIT), root=True),),
        (f"service {_UNIT}",),
        "safe",
        "now",
        Verify("fabric-manager-down"),
        (Action(words=("systemctl", "disable", "--now", _UNIT), root=True),),
        notes=(
            f"The package must have exactly the driver's version{f' ({version})' if version else ''}; {which}.",
            *((sentence(fix.text),) if fix is not None else ()),
        ),
        needs=(_DRIVER,),
    )


def _ahead(situation: Situation, gpus: Sequence[Gpu]) -> Step | None:
    """Beside a driver that is still to be installed: without it the first start ends in CUDA error 802."""
    modules = [gpu for gpu in gpus if is_module(gpu)]
    if situation.enclosed or situation.wsl or not install.has_switches(len(modules)):
        return None
    if not any(is_driven(gpu) is False for gpu in modules):
        return None
    if value_or(situation.machine.container.virtual_machine, None) is not None:
        return None  # the switches may belong to the host
    title = "Install the fabric manager of the NVSwitch board"
    why = f"{len(modules)} GPUs of this kind are joined by NVSwitches: CUDA does not start before they are set up."
    evidence = tuple(cite(gpu.pci_id) for gpu in modules[:1] if isinstance(gpu.pci_id, Known))
    verify = Verify(command="systemctl is-active nvidia-fabricmanager", shows="active", expects="^active$")
    fabric = _fabric(situation, _branch(situation))
    actions = with_fresh_lists(actions_of(fabric.steps)) if fabric is not None else ()
    if fabric is None or open_in(actions):
        gap = (
            f"Which package provides it on {situation.os_words} is not in the tables; its version must be the driver's."
        )
        return Step(_ID, title, "unknown", f"{why} {gap}", evidence, verify=verify)
    sources = tuple(dict.fromkeys((*fabric.sources, *sources_of(fabric.steps))))
    return Step(
        _ID,
        title,
        "todo",
        why,
        evidence,
        actions,
        (*changes_of(actions), f"service {_UNIT}"),
        "reboots",
        "reboot",
        verify,
        actions_of(fabric.undo),
        notes=fabric.notes,
        sources=sources,
        table=_TABLE,
        kind=install.weakest(_TABLE, sources),
        proof=("systemctl", "is-active", _UNIT),
    )


def _fabric(situation: Situation, branch: int | None) -> install.FabricManager | None:
    found = situation.distribution
    target = next((one for one in situation.targets if one.vendor == "nvidia"), None)
    capability = target.capability if target is not None else None
    return install.fabric_manager(found, branch, capability) if found is not None else None


def _branch(situation: Situation) -> int | None:
    """The branch that the plan installs; None where the vendor's repository decides."""
    found = situation.distribution
    driver = install.nvidia_driver(found, server=True) if found is not None else None
    told = driver.driver if isinstance(driver, install.DriverRoute) else None
    return int(told) if told is not None and told.isdecimal() else None
