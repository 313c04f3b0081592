"""GPUs of AMD that no ROCm release has packages for: why, and whether torch wheels still carry code for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from rocdoctor.insight.gpus.presence import kfd_path
from rocdoctor.insight.gpus.rocm_packages import has_packages, torch_serves
from rocdoctor.judging.check import cite
from rocdoctor.knowledge import install
from rocdoctor.knowledge.gpus.gfx import chip_of_device
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.finding import Evidence
from rocdoctor.repair.setup.plan import Step
from rocdoctor.repair.setup.situation import Situation
from rocdoctor.repair.setup.step_parts import sentence

# Steps that only serve computing on the GPU, and causes of findings that only matter for it.
_FOR_COMPUTE = ("gpu-firmware", "kernel", "driver-unblock", "driver-amd", "secure-boot-key", "device-access")
OF_COMPUTE = (
    "device-permission",
    "container-device-access",
    "gpu-not-supported",
    "kernel-module-not-loaded",
    "wrong-backend-build",
)
_NOTE = "It makes no difference to training: no ROCm release computes on this GPU."


@dataclass(frozen=True, slots=True)
class WithoutRocm:
    """Why there is no ROCm for the GPUs of a machine. ``wheel``: official torch wheels have code for them."""

    why: str
    evidence: tuple[Evidence, ...]
    wheel: bool = False


def without_rocm(situation: Situation) -> WithoutRocm | None:
    """The reason where it holds for all AMD GPUs that training would use; None where there is a way or nobody knows."""
    chips = [gpu for gpu in situation.amd if kfd_path(gpu) is False]
    if situation.refused is not None and not chips:
        return WithoutRocm(sentence(situation.refused.message), situation.refused.evidence)
    if chips and not situation.amd_able:
        gpu = chips[0]
        shown = value_or(gpu.name, value_or(gpu.pci_id, "this card"))
        why = f"The compute driver does not support {shown}: no ROCm release, setting or torch build can use it."
        return WithoutRocm(why, (cite(gpu.pci_id),))
    if situation.amd_able and (alone := install.no_rocm_for(situation.arch)):
        arch = situation.machine.cpus.arch
        return WithoutRocm(f"{alone}, and this processor is {situation.arch}.", (cite(arch),))
    targets = situation.gfx or _by_chip(situation)
    if not targets or any(has_packages(gfx) for gfx in targets):
        return None
    facts = [gpu.gfx if isinstance(gpu.gfx, Known) else gpu.pci_id for gpu in situation.amd_able]
    evidence = tuple(cite(fact) for fact in facts if isinstance(fact, Known))[:1]
    wheel = all(torch_serves(gfx) for gfx in targets)
    return WithoutRocm(f"No ROCm release in the tables has packages for {', '.join(targets)}.", evidence, wheel)


def trains_without_gpu(situation: Situation) -> bool:
    """Whether the CPU is all that trains here although AMD GPUs are there, and none of another vendor is."""
    told = without_rocm(situation)
    return told is not None and not told.wheel and not situation.gpus("nvidia")


def needless_marked(situation: Situation, found: Iterable[Step]) -> list[Step]:
    """Steps with those marked as optional that would serve a GPU on which nothing computes."""
    if not trains_without_gpu(situation):
        return list(found)
    return [
        replace(step, optional=True, notes=(*step.notes, _NOTE))
        if step.id in _FOR_COMPUTE and step.state != "done"
        else step
        for step in found
    ]


def _by_chip(situation: Situation) -> tuple[str, ...]:
    """Targets by PCI id, where the compute driver has not told any; () unless all are known."""
    chips = [chip_of_device(value_or(gpu.pci_id, "").split(":")[-1] or "0") for gpu in situation.amd_able]
    found = [chip.gfx for chip in chips if chip is not None and chip.gfx is not None]
    return tuple(dict.fromkeys(found)) if chips and len(found) == len(chips) else ()
