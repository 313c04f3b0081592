"""The GPUs of this machine are from different architectures.

Why
  One job over different GPUs runs at the pace of the slowest, fills the smallest memory, and needs a build that has
  code for each of them. Nothing is wrong with such a machine, but give each job GPUs of one kind. A global setting
  such as HSA_OVERRIDE_GFX_VERSION suits one of them at most.

Fix
  Select GPUs of one kind per job: `HIP_VISIBLE_DEVICES` or `ROCR_VISIBLE_DEVICES` for AMD, `CUDA_VISIBLE_DEVICES` for
  NVIDIA.

References
  https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.presence import (
    MODULES,
    VISIBLE_AMD,
    chosen_by,
    count_words,
    is_driven,
    is_integrated,
    kfd_path,
    of_vendor,
)
from rocdoctor.insight.texts.pasted import shown
from rocdoctor.insight.texts.symptoms import crashes
from rocdoctor.judging.check import (
    About,
    Evidence,
    Finding,
    Fix,
    Outcome,
    check,
    cite,
    info,
    machine_with_several_gpus,
    warning,
)
from rocdoctor.model.evidence import Fact, known, value_or
from rocdoctor.model.facts import Gpu, Machine


@check(machine_with_several_gpus)
def mixed_gpu_architectures(machine: Machine) -> Outcome:
    found: list[Finding] = []
    for vendor in MODULES:
        gpus = [
            gpu
            for gpu in of_vendor(machine, vendor)
            if not is_integrated(gpu) and is_driven(gpu) is not False and kfd_path(gpu) is not False
        ]
        if len(gpus) < 2:
            continue
        kinds: dict[str, list[Gpu]] = {}
        for gpu in gpus:
            kinds.setdefault(known(_kind(gpu)), []).append(gpu)
        if len(kinds) < 2:
            continue
        prefix = "" if vendor == "amd" else "compute capability "
        listed = ", ".join(f"{count_words(len(members))} {prefix}{kind}" for kind, members in sorted(kinds.items()))
        variable = "HIP_VISIBLE_DEVICES" if vendor == "amd" else "CUDA_VISIBLE_DEVICES"
        fix = Fix(f"Give each job GPUs of one kind with {variable}", safety="safe")
        evidence = [cite(_kind(members[0]), _words(members[0])) for members in kinds.values()]
        about = About(subjects=tuple(gpu.subject for gpu in gpus))
        text = f"The GPUs are from different architectures ({listed})."
        crashed = crashes(machine) if vendor == "amd" and chosen_by(machine, VISIBLE_AMD) is None else ()
        if crashed:
            found.append(_suspected(text, [*evidence, *shown(crashed)[:1]], about))
        else:
            found.append(info(text, evidence=evidence, fix=fix, about=about))
    return found


def _suspected(text: str, evidence: list[Evidence], about: About) -> Finding:
    """Programs crash: HIP loads code for every card that it offers, and libraries take files of the neighbour."""
    return warning(
        f"{text} Programs crash here: HIP needs code for every card that it offers, and some libraries have loaded "
        "the file for the wrong card.",
        evidence=evidence,
        fix=Fix(
            "Give each process cards of one kind: HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES with their numbers, "
            "before the program starts; a card without ROCm support has to be hidden from the HSA runtime "
            "(ROCR_VISIBLE_DEVICES)",
            command="rocminfo | grep -E 'Marketing Name|gfx|Uuid'",
            safety="safe",
        ),
        cause="mixed-gpu-archs",
        confidence="possible",
        about=about,
    )


def _kind(gpu: Gpu) -> Fact[str]:
    return gpu.gfx if gpu.vendor == "amd" else gpu.compute_capability


def _words(gpu: Gpu) -> str:
    return f"{gpu.label}: {known(_kind(gpu))} {value_or(gpu.name, '')}".rstrip()
