"""This machine has discrete GPUs of both AMD and NVIDIA.

Why
  A torch build is for ROCm or for CUDA: one process uses the GPUs of one vendor, and collectives (RCCL, NCCL) do not
  reach across. Both drivers can be installed side by side; that is healthy.

Fix
  Keep one virtual environment for each vendor, each with the torch build from its index.

References
  https://pytorch.org/get-started/locally/
"""

from __future__ import annotations

from rocdoctor.insight.gpus.presence import count_words, is_integrated, is_reserved, kfd_path, of_vendor
from rocdoctor.judging.check import Fix, Outcome, check, cite, info, machine_with_several_gpus
from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Gpu, Machine


def _usable(machine: Machine, vendor: str) -> list[Gpu]:
    return [
        gpu
        for gpu in of_vendor(machine, vendor)
        if not is_integrated(gpu) and not is_reserved(gpu) and kfd_path(gpu) is not False
    ]


@check(machine_with_several_gpus)
def two_vendors_in_one_machine(machine: Machine) -> Outcome:
    amd, nvidia = _usable(machine, "amd"), _usable(machine, "nvidia")
    if not amd or not nvidia:
        return None
    torch = machine.torch
    built = ""
    if value_or(torch.hip, None) is not None:
        built = "; the installed torch is built for ROCm and uses AMD only"
    elif value_or(torch.cuda, None) is not None:
        built = "; the installed torch is built for CUDA and uses NVIDIA only"
    found = f"{count_words(len(amd), 'AMD GPU')} and {count_words(len(nvidia), 'NVIDIA GPU')}"
    return info(
        f"This machine has {found}: one torch process uses the GPUs of one vendor{built}.",
        evidence=[cite(amd[0].pci_id), cite(nvidia[0].pci_id)],
        fix=Fix("Keep a virtual environment with its own torch build for each vendor", safety="safe"),
    )
