"""A GPU is on the PCI bus, but no kernel driver is bound to it.

Why
  Without its driver a GPU has no device node, so no program can use it: `rocminfo`, `nvidia-smi` and torch do not list
  it. The driver is absent, blacklisted, refused by Secure Boot, or it failed to start the GPU. If the evidence shows
  which of these it is, another check says so, and this one only notes the fact.

Fix
  Find out whether the module is loaded (`lsmod`), then what the kernel log says about the device.

References
  https://docs.kernel.org/driver-api/driver-model/binding.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.presence import MODULES, harm, is_integrated, is_refused, kfd_path, reason_elsewhere
from rocdoctor.judging.check import Fix, Outcome, check, cite, each_gpu, finding, info, not_applicable
from rocdoctor.model.evidence import Known, known
from rocdoctor.model.facts import Gpu, Machine
from rocdoctor.model.shell_command import shell


@check(each_gpu, cause="kernel-module-not-loaded")
def gpu_without_driver(machine: Machine, gpu: Gpu) -> Outcome:
    module = MODULES.get(gpu.vendor)
    if module is None:
        return not_applicable("not an AMD or NVIDIA GPU")
    if known(gpu.driver) is not None:
        return None
    evidence = [cite(gpu.driver, "no driver"), *([cite(gpu.pci_id)] if isinstance(gpu.pci_id, Known) else [])]
    reason = reason_elsewhere(machine, gpu)
    if reason is not None:
        fix = Fix(
            "The other finding says what to do",
            command=shell("rocdoctor explain {reason}", reason=reason),
            safety="safe",
        )
        return info(f"No kernel driver is bound to this GPU ({reason} shows why).", evidence=evidence, fix=fix)
    if is_refused(gpu):
        words = "Use another GPU for training, or train on the CPU"
        fix = Fix(words, safety="safe", verify="lspci -k")
        text = "No kernel driver is bound to this GPU; amdgpu does not support its generation, and ROCm cannot use it."
        return info(text, evidence=evidence, fix=fix)
    fix = Fix(
        f"Look at what the kernel says about {module}, then load it",
        command=shell("sudo dmesg | grep -i {module:module}; sudo modprobe {module:module}", module=module),
        safety="risky",
        verify="lspci -k",
    )
    severity = harm(machine, gpu)
    if is_integrated(gpu):
        message = "No kernel driver is bound to this integrated GPU."
    elif kfd_path(gpu) is False:
        message = "No kernel driver is bound to this GPU; ROCm could not use its generation in any case."
    else:
        message = f"No kernel driver is bound to this GPU, so no program can use it (it needs {module})."
    explains = ("device-permission", "wrong-backend-build") if severity == "error" else ()
    return finding(severity, message, evidence=tuple(evidence), fix=fix, explains=explains)
