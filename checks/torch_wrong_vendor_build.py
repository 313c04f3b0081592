"""torch is built for GPUs of a different vendor than those in this machine.

Why
  A CUDA build runs only on NVIDIA GPUs, a ROCm build only on AMD GPUs. `pip install torch` gets the CUDA build from
  PyPI on every Linux machine. With the other vendor's GPU it finds no driver and no device, and no driver update helps.

Fix
  Uninstall torch and its companion packages and install the build for this machine's GPUs, or the CPU build if the GPU
  is not supported.

References
  https://pytorch.org/get-started/locally/
  https://pytorch.org/docs/stable/notes/hip.html
"""

from __future__ import annotations

from rocdoctor.insight.software.torch_command import right_build
from rocdoctor.insight.software.torch_stack import (
    VENDOR_OF,
    WORDS,
    backend,
    compute_gpus,
    for_training,
    installed,
    kept_out,
    needs_torch,
    of_interpreter,
    wheels_have,
)
from rocdoctor.judging.check import Fix, Outcome, check, cite, error, info, machine_with_gpus, not_applicable, warning
from rocdoctor.model.evidence import Known, known, value_or
from rocdoctor.model.facts import Gpu, Machine

_VENDORS = {"amd": "AMD", "nvidia": "NVIDIA", "intel": "Intel"}


_MEANT = Fix(
    "Keep it, unless you want to use the integrated GPU: in that case install the build for it", safety="manual"
)


@check(needs_torch(machine_with_gpus), cause="wrong-backend-build")
@of_interpreter
def torch_wrong_vendor_build(machine: Machine) -> Outcome:
    version = installed(machine.torch)
    built_for = known(backend(machine.torch))
    vendor = VENDOR_OF.get(built_for)
    if vendor is None:
        return not_applicable("this torch is built for no GPU")
    if any(gpu.vendor == vendor for gpu in machine.gpus):
        return None
    others = [gpu for other in ("amd", "nvidia") if other != vendor for gpu in compute_gpus(machine, other)]
    others = others or _in_a_list(machine, vendor)
    if not others:
        for gpu in machine.gpus:
            known(gpu.driver)
        return not_applicable("no GPU of another vendor that torch could use")
    if value_or(machine.torch.device_count, 0):
        return None  # it found a device that this evidence does not show
    wanted = [gpu for gpu in others if for_training(gpu)]
    sure = [gpu for gpu in wanted if wheels_have(gpu)]
    first = (sure or wanted or others)[0]
    name, word = value_or(first.name, "GPU"), WORDS[built_for]
    text = (
        f"torch {version} is a {word} build for {_VENDORS[vendor]} GPUs, but the GPU here is from "
        f"{_VENDORS[first.vendor]} ({name}), so torch cannot use it."
    )
    shown = first.pci_id if isinstance(first.pci_id, Known) else first.name
    evidence = [
        cite(machine.torch.version),
        cite(backend(machine.torch), f"built for {word}"),
        *(cite(fact) for fact in (shown, first.driver) if isinstance(fact, Known)),
    ]
    explains = ("torch-gpu-count-mismatch", "gpu-arch-not-built", "driver-too-old", "python-package-mismatch")
    fix = right_build(machine, first)
    if not wanted:
        return info(
            f"{text} It is an integrated GPU, so training on the CPU may be intended.", evidence=evidence, fix=_MEANT
        )
    if sure and machine.gpus_complete:
        return error(text, evidence=evidence, fix=fix, explains=explains)
    return warning(text, evidence=evidence, fix=fix, explains=explains, confidence="likely")


def _in_a_list(machine: Machine, vendor: str) -> list[Gpu]:
    """The discrete GPUs that an excerpt shows in their slots, where nothing tells what drives them.

    Whatever does, a build for another vendor cannot use them. A driver of that vendor hints at a GPU that is not shown.
    """
    if machine.gpus_complete or vendor in machine.drivers or any(isinstance(gpu.driver, Known) for gpu in machine.gpus):
        return []
    return [
        gpu
        for gpu in machine.gpus
        if gpu.vendor in ("amd", "nvidia")
        and gpu.vendor != vendor
        and isinstance(gpu.bdf, Known)
        and value_or(gpu.integrated, True) is False
        and wheels_have(gpu) is not False
        and not kept_out(machine, gpu.vendor)
    ]
