"""What is true of a plan as a whole: where we are, what the tables do not know, cards that cannot compute."""

from __future__ import annotations

from datetime import date

from rocdoctor.insight.gpus import access
from rocdoctor.insight.gpus.presence import no_gpu_words
from rocdoctor.knowledge import install
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.repair.setup.gpus_without_rocm import without_rocm
from rocdoctor.repair.setup.listed_support import lists_judgement, support_said
from rocdoctor.repair.setup.required_torch import RequiredTorch, wanted
from rocdoctor.repair.setup.situation import Situation

_SOON_DAYS = 60


def remarks(situation: Situation) -> tuple[str, ...]:
    """Sentences about the whole plan, the most important first."""
    machine = situation.machine
    found: list[str] = [f"Chosen: {situation.choice.words}."] if situation.choice.words else []
    if situation.enclosed:
        inside = access.container_words(situation.enclosed)
        kind = f"{access.rootless_words(machine, situation.enclosed)}{inside}"
        article = "an" if kind.startswith("u") else "a"
        found.append(f"This is {article} {kind}: kernel, driver and device nodes belong to its host.")
    elif situation.wsl:
        found.append("This is WSL: the GPU uses the Windows driver, and no kernel driver is installed here.")
    if situation.in_job and not situation.enclosed:
        found.append("This is a scheduler job: steps that need root are for the cluster administrator.")
    if machine.gpus_gap is not None and not situation.wsl:
        found.append(f"{no_gpu_words(machine)}. No step covers them.")
    elif not machine.gpus and not machine.gpus_complete and not situation.wsl:
        found.append("The evidence does not show which GPUs this machine has, so no step covers them.")
    elif machine.gpus_complete and not situation.wsl and not _gpus_for_training(situation):
        jetson = install.unseen_jetson(situation.kernel, situation.arch) if not machine.gpus else ""
        found.append(f"{jetson}." if jetson else "There is no AMD or NVIDIA GPU here: training runs on the CPU.")
    told = without_rocm(situation)
    if told is not None:
        gpu = situation.amd[0]
        name = value_or(gpu.name, value_or(gpu.gfx, value_or(gpu.pci_id, "this card")))
        end = "torch wheels still carry code for it" if told.wheel else "training runs on the CPU"
        other = install.no_rocm_for(situation.arch)
        gap = f"{other}" if other else f"No ROCm release in the tables has packages for {name}"
        found.append(f"{gap}: {end}.")
    want = wanted(situation) if situation.gpus("nvidia") and not situation.gpus("amd") else None
    if isinstance(want, RequiredTorch) and want.backend == "cpu" and want.gpus:
        found.append(want.why)  # nothing of NVIDIA's serves them
    found += _silent_interpreter(situation)
    if isinstance(machine.os.id, Known):
        found += _distribution(situation)
        found += _life(situation)
    return tuple(found)


def _silent_interpreter(situation: Situation) -> list[str]:
    """That the interpreter to be examined told nothing: what the plan says of Python and torch is then not seen."""
    torch = situation.machine.torch
    gap = value_or(torch.no_answer, None)
    if gap is None:
        return []
    path = gap.path or value_or(torch.interpreter, "The interpreter under test")
    late = f" within {gap.within}" if gap.within else ""
    return [f"{path} gave no answer{late}: what is installed there is not known. More: rocdoctor check."]


def _distribution(situation: Situation) -> list[str]:
    """What is to be known of a distribution that no vendor names."""
    found, named = situation.distribution, situation.os_words
    if found is None:
        return [f"The tables have no row for {named}: the steps that need its packages say so."]
    if found.derived_from is not None:
        answer = None if situation.caretaker else lists_judgement(situation)
        base = found.derived_from.split(" ")[0]
        apart = answer is not None and any(
            one.what == "distribution" and base not in one.want for one in answer.differences
        )
        cards = support_said(situation, "distribution") if apart else ""  # nor on what it is judged by
        return [f"No vendor lists {named}: it is judged as {found.derived_from}, on which it is built. {cards}".strip()]
    if found.release_unnamed:
        vendors = situation.nvidia_driver if situation.gpus("nvidia") and not situation.amd else None
        if isinstance(vendors, install.DriverRoute) and vendors.table == "install_nvidia" and vendors.steps:
            return []  # NVIDIA has packages for it
        return [
            f"No vendor lists {named}: only packages of its own archive are proposed, and torch wheels, which need "
            "none. A release that is listed (a long-term one) has more ways."
        ]
    said = "" if situation.caretaker else support_said(situation, "distribution", "release")
    return [said] if said else []


def _life(situation: Situation) -> list[str]:
    """That the release gets no updates any more, or soon: what is installed on it ages with it."""
    last = install.end_of_life(situation.machine.os)
    today = max(situation.today, install.tables_day())
    if not last or situation.caretaker:
        return []
    if today[: len(last)] >= last:
        paid = install.longer_support(situation.machine.os)
        last += f" without {paid}" if paid else ""
        return [
            f"{situation.os_words} has reached end of life: no updates since {last}. The steps still apply, but a "
            "newer release has a different kernel, firmware and packages: if you can, upgrade first."
        ]
    soon = len(last) == len(today) and (date.fromisoformat(last) - date.fromisoformat(today)).days <= _SOON_DAYS
    return [f"{situation.os_words} gets its last updates on {last}: upgrade to a newer release soon."] if soon else []


def _gpus_for_training(situation: Situation) -> bool:
    return any(gpu.vendor in ("amd", "nvidia") for gpu in situation.machine.gpus)
