"""There is no AMD or NVIDIA GPU in this machine.

Why
  Nothing is wrong with that: torch trains on the CPU, and every parallelism mode can be tried with the gloo backend. If
  you expected a GPU: one that is not on the PCI bus is not seated, not powered, switched off in the firmware setup, or
  not attached to this virtual machine.

Fix
  `lspci -nn | grep -iE 'vga|3d|display|accel'` shows every GPU on the bus. In a cloud, choose an instance type with a
  GPU.

References
  https://pytorch.org/docs/stable/distributed.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.presence import MODULES, is_integrated
from rocdoctor.judging.check import Fix, NotApplicable, Outcome, Selected, Subjects, check, info, not_applicable, quote
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Machine
from rocdoctor.model.subject import MACHINE


def _without_gpus(machine: Machine) -> Subjects[None]:
    if any(gpu.vendor in MODULES for gpu in machine.gpus):
        return NotApplicable("there is a GPU that can train")
    if not machine.gpus_complete:
        return NotApplicable("the evidence does not show every device on the bus")
    return [Selected(MACHINE, None)]


@check(_without_gpus)
def no_gpu_for_training(machine: Machine) -> Outcome:
    if value_or(machine.container.kind, "") == "wsl" or "microsoft" in value_or(machine.kernel.release, "").lower():
        return not_applicable("WSL shows no GPU on the PCI bus; it computes through the Windows driver")
    others = [gpu for gpu in machine.gpus if not is_integrated(gpu)]
    if others:
        return not_applicable("unsupported-vendor-gpu covers GPUs of other vendors")
    guest = machine.container.virtual_machine
    if isinstance(guest, Known) and guest.value is not None:
        text = "To train on a GPU, choose an instance type with one, or pass one through to this virtual machine"
    else:
        text = "If a GPU should be here, check that it is seated and powered, and enabled in the firmware setup"
    return info(
        "No AMD or NVIDIA GPU is on the PCI bus: training runs on the CPU, with gloo between processes.",
        evidence=[quote("list /sys/bus/pci/devices/*", "no AMD or NVIDIA GPU")],
        fix=Fix(text, command="lspci -nn | grep -iE 'vga|3d|display|accel'", safety="safe"),
    )
