"""Secure Boot or kernel lockdown keeps the GPU driver from loading.

Why
  With Secure Boot on, the kernel loads only modules that are signed with a key it trusts. A driver that was built on
  this machine (DKMS) is signed with its own key, which has to be enrolled in the firmware once.

Fix
  Enrol the key: `sudo mokutil --import` with the key that DKMS uses (often /var/lib/dkms/mok.pub or
  /var/lib/shim-signed/mok/MOK.der), reboot, and confirm in the blue screen before the system starts. Or turn Secure
  Boot off in the firmware setup. Or use the distribution's driver, which is signed.

References
  https://docs.kernel.org/admin-guide/module-signing.html
  https://man7.org/linux/man-pages/man7/kernel_lockdown.7.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.presence import (
    MODULES,
    capped,
    is_driven,
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
    quote,
    unknown,
)
from rocdoctor.model.evidence import Known, known, value_or
from rocdoctor.model.facts import Machine
from rocdoctor.model.shell_command import shell


@check(machine_with_gpus, cause="kernel-module-not-loaded")
def secure_boot_refuses_module(machine: Machine) -> Outcome:
    found: list[Finding] = []
    for vendor, module in MODULES.items():
        gpus = [gpu for gpu in of_vendor(machine, vendor) if value_or(gpu.driver, None) is None]
        if not gpus or any(is_driven(gpu) for gpu in of_vendor(machine, vendor)):
            continue
        loaded = module_loaded(machine, module)
        if loaded:
            continue
        log = known(machine.kernel.log)
        lines = module_refusals(machine, module)
        if not lines:
            if not log.complete:
                raise unknown("the kernel log does not reach back to the boot", "undecided")
            continue
        # A line that names no module may speak of any other one as long as this one is not known to be missing.
        named = any("module" in line.values for line in lines)
        sure = named or loaded is False
        secure = machine.kernel.secure_boot
        evidence = [quote(log.source, line.text, line.line) for line in lines[:3]]
        evidence += [cite(secure, "Secure Boot is on")] if isinstance(secure, Known) and secure.value else []
        severity = worst_harm(machine, gpus)
        what = f"the {module} module" if named else f"a module, and {module} is not loaded" if sure else "a module"
        found.append(
            finding(
                severity if sure else capped(severity, "warning"),
                f"The kernel refused to load {what}: its signature is not trusted (Secure Boot or lockdown).",
                evidence=tuple(evidence),
                fix=Fix(
                    "Enrol the key that signs the module and reboot (or switch Secure Boot off in the firmware setup, "
                    "or use the signed driver of the distribution)",
                    command="sudo mokutil --import /var/lib/dkms/mok.pub",
                    safety="reboots",
                    effective="reboot",
                    verify=shell("mokutil --sb-state; lsmod | grep {module:module}", module=module),
                ),
                confidence="certain" if named else "likely" if sure else "possible",
                about=About(module=module),
                explains=("gpu-without-driver", "driver-module-not-loaded", "kfd-missing", "device-permission"),
            )
        )
    return found
