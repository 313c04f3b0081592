"""A GPU is on the PCI bus, but no kernel driver is bound to it.

Why
  Without its driver a GPU has no device node, so no program can use it: `rocminfo`, `nvidia-smi` and torch do not list
  it. The driver is absent, blacklisted, refused by Secure Boot, or its probe failed.

Fix
  Find out whether the module is loaded (`lsmod`), then what the kernel log says of the device.

References
  https://docs.kernel.org/driver-api/driver-model/binding.html
"""

from __future__ import annotations

from rocdoctor.check import Fix, Outcome, check, cite, each_gpu, error, info, not_applicable
from rocdoctor.evidence import known, value_or
from rocdoctor.facts import Gpu, Machine

_MODULES = {"amd": "amdgpu", "nvidia": "nvidia"}


@check(each_gpu, cause="kernel-module-not-loaded")
def gpu_without_driver(machine: Machine, gpu: Gpu) -> Outcome:
    if known(gpu.driver) is not None:
        return None
    module = _MODULES.get(gpu.vendor)
    if module is None:
        return not_applicable("not a GPU of AMD or NVIDIA")
    evidence = [cite(gpu.driver, "no driver"), cite(gpu.pci_id)]
    fix = Fix(
        f"Look at what the kernel says of {module}, then load it",
        command=f"sudo dmesg | grep -i {module}; sudo modprobe {module}",
        safety="safe",
    )
    if value_or(machine.container.virtual_machine, None) is None and value_or(gpu.integrated, False):
        return info("No kernel driver is bound to this integrated GPU.", evidence=evidence, fix=fix)
    return error(
        f"No kernel driver is bound to this GPU, so no program can use it (it needs {module}).",
        evidence=evidence,
        fix=fix,
        explains=("device-permission", "wrong-backend-build"),
    )
