"""What a check looks at: the machine, or each GPU of a kind; and why there is nothing to look at."""

from __future__ import annotations

from collections.abc import Callable

from rocdoctor.model.evidence import Known, NotKnown
from rocdoctor.model.facts import Gpu, Machine
from rocdoctor.model.finding import NotApplicable, Selected, Subjects
from rocdoctor.model.subject import MACHINE


def whole_machine(machine: Machine) -> Subjects[None]:
    """One verdict for the machine."""
    return [Selected(MACHINE, None)]


def _gpus(machine: Machine, wanted: Callable[[Gpu], bool], words: str) -> Subjects[Gpu]:
    found = [Selected(gpu.subject, gpu) for gpu in machine.gpus if wanted(gpu)]
    if found:
        return found
    return none_here(machine, words)


def none_here(machine: Machine, words: str) -> NotApplicable:
    """Why nothing is looked at; raises ``NotKnown`` where none may be known only because the bus gave no answer."""
    if machine.gpus_gap is not None:
        raise NotKnown(machine.gpus_gap)
    return NotApplicable(f"no {words} here" if machine.gpus_complete else f"no {words} in this evidence")


def each_gpu(machine: Machine) -> Subjects[Gpu]:
    """Every GPU of any vendor, integrated ones too."""
    return _gpus(machine, lambda gpu: True, "GPU")


def each_amd_gpu(machine: Machine) -> Subjects[Gpu]:
    """Every AMD GPU, integrated ones too."""
    return _gpus(machine, lambda gpu: gpu.vendor == "amd", "AMD GPU")


def each_discrete_gpu(machine: Machine) -> Subjects[Gpu]:
    """Every GPU that is not known to be integrated (an APU's link, carve-out and sensors follow other rules)."""
    return _gpus(machine, lambda gpu: not (isinstance(gpu.integrated, Known) and gpu.integrated.value), "discrete GPU")


def each_discrete_amd_gpu(machine: Machine) -> Subjects[Gpu]:
    """Every AMD GPU that is not known to be integrated."""
    return _gpus(
        machine,
        lambda gpu: gpu.vendor == "amd" and not (isinstance(gpu.integrated, Known) and gpu.integrated.value),
        "discrete AMD GPU",
    )


def each_nvidia_gpu(machine: Machine) -> Subjects[Gpu]:
    """Every NVIDIA GPU."""
    return _gpus(machine, lambda gpu: gpu.vendor == "nvidia", "NVIDIA GPU")


def machine_with_gpus(machine: Machine) -> Subjects[None]:
    """The machine, when it has GPUs that training could use (AMD or NVIDIA)."""
    found = _gpus(machine, lambda gpu: gpu.vendor in ("amd", "nvidia"), "AMD or NVIDIA GPU")
    return found if isinstance(found, NotApplicable) else [Selected(MACHINE, None)]


def machine_with_amd(machine: Machine) -> Subjects[None]:
    """The machine, when it has AMD GPUs."""
    found = each_amd_gpu(machine)
    return found if isinstance(found, NotApplicable) else [Selected(MACHINE, None)]


def machine_with_nvidia(machine: Machine) -> Subjects[None]:
    """The machine, when it has NVIDIA GPUs."""
    found = each_nvidia_gpu(machine)
    return found if isinstance(found, NotApplicable) else [Selected(MACHINE, None)]


def machine_with_several_gpus(machine: Machine) -> Subjects[None]:
    """The machine, when two or more discrete GPUs of AMD or NVIDIA could train together."""
    usable = [
        gpu
        for gpu in machine.gpus
        if gpu.vendor in ("amd", "nvidia") and not (isinstance(gpu.integrated, Known) and gpu.integrated.value)
    ]
    return (
        [Selected(MACHINE, None)] if len(usable) > 1 else NotApplicable("fewer than two GPUs that could train together")
    )
