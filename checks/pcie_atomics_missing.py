"""The compute driver skips a GPU because the PCIe path to it does not support atomics.

Why
  ROCm lets the GPU change values in main memory with PCIe atomic operations. Every bridge between the processor and
  the card has to pass them. Older platforms, slots behind a chipset, risers, mining boards and some virtual machines
  do not: the kernel then prints "PCI rejects atomics", the GPU gets no compute node, and programs find no device,
  although the display works. Newer firmware of some cards works without atomics.

Fix
  Move the card to a slot that is wired to the processor, without riser or adapter. If the kernel's line shows two
  numbers (`730<830`), the card's firmware is older than the first one that works without atomics: update the package
  linux-firmware, rebuild the initramfs and reboot. A platform without atomics cannot be fixed in software.

References
  Linux: drivers/gpu/drm/amd/amdkfd/kfd_device.c, kgd2kfd_device_init
  Linux: drivers/pci/pci.c, pci_enable_atomic_ops_to_root
"""

from __future__ import annotations

from rocdoctor.insight.gpus.presence import worst_harm
from rocdoctor.judging.check import (
    Finding,
    Fix,
    Outcome,
    Severity,
    check,
    finding,
    not_applicable,
    quote,
    unknown,
    whole_machine,
)
from rocdoctor.model.evidence import Known, known, value_or
from rocdoctor.model.facts import Gpu, LogEvent, Machine
from rocdoctor.model.subject import MACHINE, Subject

_KIND = "kfd-pci-atomics-missing"
_EXPLAINS = ("gpu-without-compute-node", "kfd-gpu-count-mismatch", "torch-gpu-count-mismatch", "no-gpu-for-training")


@check(whole_machine, cause="pcie-atomics-missing")
def pcie_atomics_missing(machine: Machine) -> Outcome:
    amd = [gpu for gpu in machine.gpus if gpu.vendor == "amd"]
    if not amd and (machine.gpus or machine.gpus_complete):
        return not_applicable("no AMD GPU here")
    if amd and all(isinstance(gpu.kfd_node, Known) for gpu in amd):
        return None  # the compute driver took them all
    log = known(machine.kernel.log)
    found: dict[tuple[Subject, str], Finding] = {}
    for event in log.of(_KIND):
        matching = _matching(amd, event)
        if event.before_driver_load or any(isinstance(gpu.kfd_node, Known) for gpu in matching):
            continue
        about = matching[0].subject if len(matching) == 1 else MACHINE
        device = str(event.values.get("pci_id", ""))
        severity = worst_harm(machine, matching) if matching else "error"
        found.setdefault((about, device), _finding(event, about, device, log.source, severity))
    if found:
        return list(found.values())
    if log.complete:
        return None
    raise unknown("this part of the kernel log says nothing about PCIe atomics", "undecided")


def _matching(gpus: list[Gpu], event: LogEvent) -> list[Gpu]:
    """The GPUs that the line may mean: by address, else by the device id that it prints."""
    if event.bdf is not None:
        return [gpu for gpu in gpus if value_or(gpu.bdf, "") == event.bdf]
    wanted = event.values.get("pci_id", "")
    return [gpu for gpu in gpus if value_or(gpu.pci_id, "") == wanted] or [
        gpu for gpu in gpus if len(gpus) == 1 and not isinstance(gpu.pci_id, Known)
    ]


def _finding(event: LogEvent, subject: Subject, device: str, source: str, severity: Severity) -> Finding:
    has, needs = event.values.get("firmware_version"), event.values.get("needed_version")
    # 0 stands for "no firmware does without atomics" (kfd_device.c).
    newer = isinstance(has, int) and isinstance(needs, int) and needs > has
    named = f"the GPU {device}" if device else "a GPU"
    return finding(
        severity,
        f"The compute driver skips {named}, because the PCIe path to it does not pass atomics: ROCm cannot use it."
        + (f" From firmware version {needs} on this GPU needs none; it has {has}." if newer else ""),
        evidence=[quote(source, event.text, event.line)],
        subject=subject,
        cause="gpu-firmware" if newer else "pcie-atomics-missing",
        explains=_EXPLAINS,
        fix=Fix(
            f"Update the GPU firmware from version {has} to {needs} at least (linux-firmware or "
            f"amdgpu-dkms-firmware; then "
            "rebuild the initramfs and reboot), or use a slot that passes atomics"
            if newer
            else "Move the card to a slot that is wired to the processor, without riser or adapter",
            command="sudo lspci -vv | grep -E '^[0-9a-f]|AtomicOpsC'",
            effective="reboot",
            verify="ls /sys/class/kfd/kfd/topology/nodes",
        ),
    )
