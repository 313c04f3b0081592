"""The installed torch has no code for this NVIDIA GPU.

Why
  A CUDA build contains machine code for a list of architectures. Code for sm_80 also runs on 8.6 and 8.9 (the same
  major number, the same or a higher minor one), and PTX (compute_90) is translated for any newer GPU. On a GPU that
  neither reaches, the first kernel fails with "no kernel image is available for execution on the device".

Fix
  For a GPU newer than the build, use a newer CUDA flavour (Blackwell needs cu128 or newer). For an old GPU, use the
  last release that still supported it.

References
  https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#binary-compatibility
  https://pytorch.org/get-started/locally/
"""

from __future__ import annotations

import re

from rocdoctor.insight.gpus.presence import is_driven
from rocdoctor.insight.software.torch_command import right_build
from rocdoctor.insight.software.torch_stack import (
    backend,
    installed,
    needs_torch,
    of_interpreter,
)
from rocdoctor.judging.check import (
    Fix,
    Outcome,
    check,
    cite,
    each_nvidia_gpu,
    error,
    info,
    not_applicable,
    unknown,
    warning,
)
from rocdoctor.model.evidence import known, value_or
from rocdoctor.model.facts import Gpu, Machine
from rocdoctor.model.lazy_re import regex

_ARCH = regex(r"(sm|compute)_(\d{1,2})(\d)([af]?)")


def _runs(arch: str, major: int, minor: int) -> bool | None:
    found = _ARCH.fullmatch(arch)
    if found is None:
        return None
    kind, own, sub, suffix = found.group(1), int(found.group(2)), int(found.group(3)), found.group(4)
    if suffix == "a":  # for exactly this GPU
        return (own, sub) == (major, minor)
    if kind == "compute" and not suffix:
        return (own, sub) <= (major, minor)
    return own == major and sub <= minor


@check(needs_torch(each_nvidia_gpu), cause="gpu-arch-not-built")
@of_interpreter
def torch_wheel_lacks_sm(machine: Machine, gpu: Gpu) -> Outcome:
    version = installed(machine.torch)
    if known(backend(machine.torch)) != "cuda":
        return not_applicable("this torch is not a CUDA build")
    if is_driven(gpu) is False:
        return not_applicable("the NVIDIA driver is not bound to this GPU")
    capability = re.fullmatch(r"(\d{1,2})\.(\d)", known(gpu.compute_capability))
    built = known(machine.torch.arch_list)
    answers = [_runs(arch, int(capability.group(1)), int(capability.group(2))) for arch in built] if capability else []
    if True in answers:
        return None
    if capability is None or not built or None in answers or not machine.torch.arch_list_complete:
        raise unknown("only a part of what this torch was built for is known")
    name = f"sm_{capability.group(1)}{capability.group(2)}"
    newer = all(int(found.group(2)) <= int(capability.group(1)) for arch in built if (found := _ARCH.fullmatch(arch)))
    message = f"torch {version} has no code for {name}, the architecture of this GPU. It has {', '.join(built)}."
    evidence = [cite(gpu.compute_capability), cite(machine.torch.arch_list, " ".join(built))]
    fix = (
        right_build(machine, gpu)
        if newer
        else Fix(
            f"Install the last torch release whose CUDA flavour still has {name}; newer ones dropped it",
            safety="manual",
        )
    )
    others = [one for one in machine.gpus if one is not gpu and one.vendor == "nvidia"]
    for one in others:
        other = re.fullmatch(r"(\d{1,2})\.(\d)", value_or(one.compute_capability, ""))
        if other and any(_runs(arch, int(other.group(1)), int(other.group(2))) for arch in built):
            # A card that shows the desktop beside one that trains is left alone.
            shows = value_or(gpu.boot_display, False) or value_or(gpu.compute_mode, "").lower() == "prohibited"
            return (info if shows else warning)(message, evidence=evidence, fix=fix)
    return error(message, evidence=evidence, fix=fix, explains=("kernel-lib-arch-unsupported",))
