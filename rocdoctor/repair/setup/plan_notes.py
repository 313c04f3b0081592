"""What is true of a plan as a whole: where we are, what the tables do not know, cards that cannot compute."""

from __future__ import annotations

from rocdoctor.insight.gpus import access
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.repair.setup.gpus_without_rocm import without_rocm
from rocdoctor.repair.setup.situation import Situation


def remarks(situation: Situation) -> tuple[str, ...]:
    """Sentences about the whole plan, the most important first."""
    machine = situation.machine
    found: list[str] = [f"Chosen: {situation.choice.words}."] if situation.choice.words else []
    if situation.enclosed:
        inside = access.container_words(situation.enclosed)
        rootless = "rootless " if access.is_rootless(machine) else ""
        found.append(f"This is a {rootless}{inside}: kernel, driver and device nodes belong to its host.")
    elif situation.wsl:
        found.append("This is WSL: the driver is that of Windows, and nothing of a kernel driver is installed here.")
    if situation.in_job and not situation.enclosed:
        found.append("This is a job of a scheduler: what needs root is for the administrator of the cluster.")
    if not machine.gpus and not machine.gpus_complete and not situation.wsl:
        found.append("Which GPUs this machine has is not in the evidence, so no step speaks of them.")
    elif machine.gpus_complete and not situation.wsl and not _gpus_for_training(situation):
        found.append("No GPU of AMD or NVIDIA is here: training runs on the CPU.")
    told = without_rocm(situation)
    if told is not None:
        gpu = situation.amd[0]
        name = value_or(gpu.name, value_or(gpu.gfx, value_or(gpu.pci_id, "this card")))
        end = "torch wheels still carry code for it" if told.wheel else "training runs on the CPU"
        found.append(f"No ROCm release has packages for {name}: {end}.")
    if situation.distribution is None and isinstance(machine.os.id, Known):
        found.append(f"The tables have no row for {situation.os_words}: steps that need its packages say so.")
    return tuple(found)


def _gpus_for_training(situation: Situation) -> bool:
    return any(gpu.vendor in ("amd", "nvidia") for gpu in situation.machine.gpus)
