"""The GPU driver is kept from loading by a blacklist or by nomodeset.

Why
  A line `blacklist amdgpu` under /etc/modprobe.d, or `modprobe.blacklist=amdgpu` or `nomodeset` on the kernel command
  line, keeps the module out. Such lines are left over from an installation, from passing the GPU to a virtual machine,
  or come from server guides that load the module by hand after boot. If the module is loaded, nothing is wrong.

Fix
  Remove the line, rebuild the initramfs (or the boot loader's configuration) and reboot. To try it first, load the
  module by hand: an explicit `modprobe` bypasses a blacklist file, but not nomodeset.

References
  https://man7.org/linux/man-pages/man5/modprobe.d.5.html
  https://docs.kernel.org/admin-guide/kernel-parameters.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.presence import (
    MODULES,
    capped,
    command_line_block,
    is_blocked,
    is_driven,
    module_loaded,
    of_vendor,
    worst_harm,
)
from rocdoctor.judging.check import About, Finding, Fix, Outcome, check, cite, finding, machine_with_gpus, unknown
from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Machine
from rocdoctor.model.shell_command import shell


@check(machine_with_gpus, cause="kernel-module-not-loaded")
def driver_module_blacklisted(machine: Machine) -> Outcome:
    found: list[Finding] = []
    for vendor, module in MODULES.items():
        gpus = [gpu for gpu in of_vendor(machine, vendor) if value_or(gpu.driver, None) is None]
        file = value_or(machine.kernel.blacklisted, {}).get(module)
        word = command_line_block(machine, module)
        if not gpus or (file is None and word is None) or any(is_driven(gpu) for gpu in gpus):
            continue
        loaded = module_loaded(machine, module)
        if loaded:
            continue
        if loaded is None and word != "nomodeset":
            # Some server guides blacklist on purpose and load the module later.
            raise unknown(f"{module} is blacklisted; whether it was loaded later is not in this evidence")
        severity = worst_harm(machine, gpus)
        sure = is_blocked(machine, module)
        place = f"{file}" if word is None else "the kernel command line"
        evidence = cite(machine.kernel.cmdline, word) if word else cite(machine.kernel.blacklisted, f"{module}: {file}")
        said = f"`{word}`" if word else f"a blacklist line for {module}"
        what = f"the {module} module is not loaded" if sure else f"the {module} module refuses to load"
        boot = "sudo update-grub" if word else "sudo update-initramfs -u"
        found.append(
            finding(
                severity if sure else capped(severity, "warning"),
                f"{place[0].upper()}{place[1:]} has {said}, and {what}.",
                evidence=(evidence,),
                fix=Fix(
                    f"Remove {said} from "
                    f"{place if word is None else 'the boot loader configuration (/etc/default/grub)'}, "
                    "update the boot files and reboot",
                    command=boot,
                    safety="reboots",
                    effective="reboot",
                    verify=shell("lsmod | grep {module:module}", module=module),
                ),
                confidence="certain" if sure else "likely",
                about=About(module=module),
                explains=("gpu-without-driver", "driver-module-not-loaded", "kfd-missing", "device-permission"),
            )
        )
    return found
