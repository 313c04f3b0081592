"""The GPU driver's kernel module is not loaded.

Why
  A GPU is on the bus, but its module (amdgpu, nvidia) is not loaded: it is not installed for the running kernel
  (a kernel update, a DKMS build that failed, the extra module package missing in cloud kernels), or nothing loaded it.

Fix
  `modinfo amdgpu` (or `nvidia`) shows whether the running kernel has the module. If not, check `dkms status`, install
  the headers and the driver package for this kernel, or boot the kernel that the driver release lists. If it does, run
  `modprobe` and read the kernel log.

References
  https://man7.org/linux/man-pages/man8/modprobe.8.html
  https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.presence import (
    MODULES,
    count_words,
    is_blocked,
    is_refused,
    kernel_log,
    module_loaded,
    module_refusals,
    of_vendor,
    worst_harm,
)
from rocdoctor.judging.check import (
    About,
    Finding,
    Fix,
    Outcome,
    check,
    cite,
    finding,
    machine_with_gpus,
    not_applicable,
    quote,
    unknown,
)
from rocdoctor.model.evidence import Known, known, value_or
from rocdoctor.model.facts import Gpu, LogEvent, Machine
from rocdoctor.model.shell_command import shell


@check(machine_with_gpus, cause="kernel-module-not-loaded")
def driver_module_not_loaded(machine: Machine) -> Outcome:
    if value_or(machine.container.kind, None) == "wsl":
        return not_applicable("WSL computes through the Windows driver, not through a Linux module")
    found: list[Finding] = []
    for vendor, module in MODULES.items():
        # A GPU that another driver holds is the matter of wrong-kernel-driver, and older ones need another.
        gpus = [gpu for gpu in of_vendor(machine, vendor) if value_or(gpu.driver, None) is None and not is_refused(gpu)]
        if not gpus or module_loaded(machine, module):
            continue
        known(machine.kernel.modules)
        if module_loaded(machine, module) is None:
            raise unknown("this evidence may not show every loaded module")
        if not module_refusals(machine, module) and not is_blocked(machine, module):
            found.append(_finding(machine, module, gpus))
    return found


def _finding(machine: Machine, module: str, gpus: list[Gpu]) -> Finding:
    vendor = "AMD" if module == "amdgpu" else "NVIDIA"
    evidence = [cite(machine.kernel.modules, f"{module} is not among the loaded modules"), cite(gpus[0].pci_id)]
    misfit = _misfit(machine, module)
    release = value_or(machine.kernel.release, "")
    kernel = f" of the running kernel {release}" if release else " of the running kernel"
    severity = worst_harm(machine, gpus)
    driver = (
        "driver package (amdgpu-dkms or the kernel's extra modules)" if vendor == "AMD" else "NVIDIA driver package"
    )
    signed = " Secure Boot is on, so the module must be signed." if value_or(machine.kernel.secure_boot, False) else ""
    fix = Fix(
        f"Check whether the kernel has the module (modinfo {module}; dkms status). If not, install the headers and the "
        f"{driver} for this kernel, or boot a kernel that the driver supports; then load it.{signed}",
        command=shell("modinfo -n {module:module}; dkms status; sudo modprobe {module:module}", module=module),
        safety="risky",
        verify=shell("lsmod | grep {module:module}", module=module),
    )
    explains = ("gpu-without-driver", "kfd-missing", "device-permission")
    about = About(module=module)
    if misfit is not None:
        log = kernel_log(machine)
        evidence.append(quote(log.source if log else "", misfit.text, misfit.line))
        message = f"The {module} module was not loaded because it was built for a different kernel."
        return finding(
            severity,
            message,
            evidence=tuple(evidence),
            fix=fix,
            cause="dkms-kernel-mismatch",
            explains=explains,
            about=about,
        )
    idle = count_words(len(gpus), f"{vendor} GPU")
    message = f"The {module} kernel module{kernel} is not loaded, so {idle} cannot be used."
    return finding(severity, message, evidence=tuple(evidence), fix=fix, explains=explains, about=about)


def _misfit(machine: Machine, module: str) -> LogEvent | None:
    log = kernel_log(machine)
    if log is None or (isinstance(machine.kernel.modules, Known) and module in machine.kernel.modules.value):
        return None
    return next((e for e in log.of("module-symbol-mismatch") if e.values.get("module") == module), None)
