"""A parameter of the amdgpu module has a value that costs safety or speed.

Why
  Debugging switches and workarounds stay behind in /etc/modprobe.d or on the kernel command line long after their
  reason is gone. Some of them disable recovery from hangs, memory error handling or direct copies between GPUs;
  training then hangs forever, continues with bad data, or is slow.

Fix
  Remove the parameter where it is set (kernel command line: `amdgpu.NAME=`, /etc/modprobe.d: `options amdgpu NAME=`),
  unless it was set on purpose to find a fault.

References
  https://docs.kernel.org/gpu/amdgpu/module-parameters.html
  Linux drivers/gpu/drm/amd/amdgpu/amdgpu_drv.c
"""

from __future__ import annotations

from rocdoctor.insight.gpus.presence import is_integrated, of_vendor
from rocdoctor.insight.software.amdgpu_options import is_risky
from rocdoctor.judging.check import About, Finding, Fix, Outcome, check, cite, finding, machine_with_amd, quote
from rocdoctor.knowledge.lookup import module_parameter
from rocdoctor.knowledge.software.rules import FIRM
from rocdoctor.model.evidence import known, value_or
from rocdoctor.model.facts import Machine
from rocdoctor.model.shell_command import shell

_BETWEEN_GPUS = ("pcie_p2p", "use_xgmi_p2p")


@check(machine_with_amd)
def amdgpu_parameter_risky(machine: Machine) -> Outcome:
    live = machine.kernel.module_parameters.get("amdgpu", {})
    given = {
        name.removeprefix("amdgpu."): value
        for name, value in value_or(machine.kernel.parameters, {}).items()
        if name.startswith("amdgpu.")
    }
    if not live and not given:
        known(machine.kernel.parameters)
    several = sum(not is_integrated(gpu) for gpu in of_vendor(machine, "amd")) > 1
    found: list[Finding] = []
    for name, value in sorted({**given, **live}.items()):
        entry = module_parameter("amdgpu", name)
        if entry is None or entry.severity != "warning" or not is_risky(entry, value):
            continue
        if name in _BETWEEN_GPUS and not several:
            continue
        evidence = [quote(f"read /sys/module/amdgpu/parameters/{name}", value)] if name in live else []
        if name in given:
            evidence.append(cite(machine.kernel.cmdline, f"amdgpu.{name}={given[name]}"))
        found.append(
            finding(
                "warning" if entry.basis in FIRM else "info",
                f"The amdgpu parameter {name} is {value[:40]}: {entry.text[0].lower()}{entry.text[1:]}",
                evidence=tuple(evidence),
                about=About("amdgpu", name),
                fix=Fix(
                    f"Remove amdgpu.{name} from the kernel command line or from /etc/modprobe.d, then reboot",
                    safety="reboots",
                    command=shell("grep -rn {name:name} /proc/cmdline /etc/modprobe.d /etc/default/grub", name=name),
                    effective="reboot",
                    verify=shell("cat /sys/module/amdgpu/parameters/{name:name}", name=name),
                ),
            )
        )
    return found
