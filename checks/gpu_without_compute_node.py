"""An AMD GPU has its driver, but the compute driver does not list it.

Why
  amdgpu is bound to the GPU and drives the display. For ROCm, its compute part (KFD) must also list the GPU as a
  node. KFD skips a GPU that does not meet its requirements (PCIe path, chip) and says so in the kernel log.

Fix
  Read what KFD says: `sudo dmesg | grep kfd`. "PCI rejects atomics" is about the slot, "not supported in kfd" about the
  chip or the age of the kernel.

References
  Linux drivers/gpu/drm/amd/amdkfd/kfd_device.c and kfd_topology.c
"""

from __future__ import annotations

from rocdoctor.insight.gpus.presence import events_of, harm, has_node, is_driven, kernel_log, kfd_path, of_vendor
from rocdoctor.judging.check import Fix, Outcome, check, cite, each_amd_gpu, finding, not_applicable, unknown
from rocdoctor.knowledge.lookup import chip_of_device
from rocdoctor.model.evidence import known, value_or
from rocdoctor.model.facts import Gpu, Machine


@check(each_amd_gpu, cause="gpu-not-supported")
def gpu_without_compute_node(machine: Machine, gpu: Gpu) -> Outcome:
    if has_node(gpu):
        return None
    if known(gpu.driver) != "amdgpu":
        return not_applicable("amdgpu is not bound to it")
    if kfd_path(gpu) is False:
        return not_applicable("ROCm has no support for this chip")
    if not known(machine.kfd_present):
        return not_applicable("this kernel has no compute driver (KFD)")
    if not machine.kfd_complete:
        raise unknown("the evidence does not show every node of the compute driver")
    if value_or(machine.kfd_nodes_hidden, 0) > 0:
        raise unknown("some nodes of the compute driver are closed to this process by its cgroup", "denied")
    # A node whose PCI address could not be matched may be that of this GPU.
    driven = [one for one in of_vendor(machine, "amd") if is_driven(one) is not False and kfd_path(one) is not False]
    matched = sum(max(1, len(one.compute_nodes)) for one in driven if has_node(one))
    if value_or(machine.kfd_gpu_nodes, 0) > matched:
        raise unknown("a node of the compute driver could not be matched with a GPU", "undecided")
    if events_of(machine, gpu, "kfd-not-supported") or _rejected(machine, gpu):
        return not_applicable("the kernel log says why it was skipped; another check judges that")
    chip = chip_of_device(value_or(gpu.pci_id, "").split(":")[-1] or "0")
    note = f" ({chip.kfd_note})" if chip is not None and chip.kfd_note else ""
    return finding(
        harm(machine, gpu),
        "The amdgpu driver is bound, but the compute driver (KFD) lists no node for this GPU, so ROCm cannot use it.",
        evidence=(cite(gpu.driver), cite(machine.kfd_gpu_nodes), cite(gpu.pci_id)),
        fix=Fix(
            f"Read why KFD skipped it in the kernel log{note}",
            command="sudo dmesg | grep -i kfd",
            safety="safe",
            verify="rocminfo",
        ),
        confidence="likely",
        explains=("torch-gpu-count-mismatch",),
    )


def _rejected(machine: Machine, gpu: Gpu) -> bool:
    """KFD names the device id, not the address, when it rejects a path without atomics."""
    log, pci_id = kernel_log(machine), value_or(gpu.pci_id, None)
    for event in log.of("kfd-pci-atomics-missing") if log is not None else ():
        if pci_id is None or event.values.get("pci_id", pci_id) == pci_id:
            return True
    return False
