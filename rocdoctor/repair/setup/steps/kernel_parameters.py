"""Words of the kernel command line and settings of the kernel: the IOMMU, NUMA balancing, huge pages."""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.judging.check import cite
from rocdoctor.knowledge import install
from rocdoctor.model.evidence import Known, Unknown, value_or
from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import Evidence
from rocdoctor.repair.setup.plan import Layer, Step, Verify
from rocdoctor.repair.setup.situation import Situation
from rocdoctor.repair.setup.step_parts import (
    actions_of,
    by_hand,
    changes_of,
    for_caretaker,
    sentence,
    set_for_next_start,
    sources_of,
)

LAYER: Layer = "kernel"


def steps(situation: Situation) -> Sequence[Step]:
    """What the checks of several GPUs judge; each done where its check passes, absent where it does not apply."""
    found = [_iommu(situation), _numa(situation)]
    return for_caretaker(situation, [step for step in found if step is not None])


def _iommu(situation: Situation) -> Step | None:
    check, title = "iommu-translated-p2p", "Let the IOMMU pass addresses through (iommu=pt)"
    found = situation.finding(check)
    kernel = situation.machine.kernel
    if found is None:
        fact = kernel.iommu_default
        if not situation.passed(check) or not isinstance(fact, Known):
            return None
        why = f"The IOMMU does not translate between the GPUs: {fact.value}."
        return Step("iommu", title, "done", why, (cite(fact),), verify=Verify(check))
    # Only where it was seen to do harm, or on servers that run collectives all day, is it more than advice.
    optional = found.severity == "info"
    change = install.kernel_parameter(situation.distribution, "iommu=pt")
    if isinstance(change, Unknown):
        return by_hand("iommu", title, found, check, "reboot", (sentence(change.why),), optional)
    do, undo = change
    actions = actions_of(do)
    later = situation.boots_with("iommu=pt")
    notes = ("On Intel processors the IOMMU itself must be on too: intel_iommu=on.",) if _intel(situation) else ()
    step = Step(
        "iommu",
        title,
        "todo",
        sentence(found.message),
        found.evidence,
        actions,
        changes_of(actions) or ("the boot menu",),
        "reboots",
        "reboot",
        Verify(check),
        actions_of(undo),
        notes=notes,
        sources=sources_of(do),
        table="install_kernel",
        kind=install.weakest("install_kernel", sources_of(do)),
        optional=optional,
    )
    return step if later is None else set_for_next_start(step, cite(later, "iommu=pt"))


def _intel(situation: Situation) -> bool:
    return "intel" in value_or(situation.machine.cpus.vendor, "").lower()


def _numa(situation: Situation) -> Step | None:
    check, title = "numa-balancing-on", "Switch automatic NUMA balancing off"
    found = situation.finding(check)
    if found is None:
        return _numa_off(situation.machine, title, check) if situation.passed(check) else None
    do, undo = install.sysctl_setting("kernel.numa_balancing=0")
    actions = actions_of(do)
    return Step(
        "numa-balancing",
        title,
        "todo",
        sentence(found.message),
        found.evidence,
        actions,
        changes_of(actions),
        "safe",
        "now",
        Verify(check),
        actions_of(undo),
        notes=("The undo takes effect at the next start; sysctl kernel.numa_balancing=1 does at once.",),
        sources=sources_of(do),
        table="install_kernel",
        kind=install.weakest("install_kernel", sources_of(do)),
        optional=True,
    )


def _numa_off(machine: Machine, title: str, check: str) -> Step:
    fact = machine.memory.numa_balancing
    evidence: tuple[Evidence, ...] = (cite(fact, "off"),)
    return Step("numa-balancing", title, "done", "Automatic NUMA balancing is off.", evidence, verify=Verify(check))
