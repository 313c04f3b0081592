"""The CPUs are kept at their lowest clock.

Why
  The frequency governor `powersave` of acpi-cpufreq and of the passive modes of amd-pstate and intel_pstate keeps the
  CPUs at their lowest clock: launching kernels and loading data become slow. With the active modes (amd-pstate-epp,
  intel_pstate) the same word means something else: it is their healthy default.

Fix
  Choose `schedutil` or `performance`, for instance with `cpupower`. Tuning daemons (tuned, power-profiles-daemon) may
  set it back.

References
  https://docs.kernel.org/admin-guide/pm/cpufreq.html
  https://docs.kernel.org/admin-guide/pm/intel_pstate.html
  https://docs.kernel.org/admin-guide/pm/amd-pstate.html
"""

from __future__ import annotations

from rocdoctor.judging.check import Fix, Outcome, check, cite, info, machine_with_several_gpus, not_applicable
from rocdoctor.model.change import KernelValue
from rocdoctor.model.evidence import known, value_or
from rocdoctor.model.facts import Machine

# Drivers under which the generic governors run; the others (intel_pstate, amd-pstate-epp) bring their own "powersave".
_GENERIC = ("acpi-cpufreq", "pcc-cpufreq", "intel_cpufreq", "amd-pstate", "cppc_cpufreq", "powernow-k8", "cpufreq-dt")


@check(machine_with_several_gpus)
def cpu_governor_powersave(machine: Machine) -> Outcome:
    if value_or(machine.laptop, False):
        return not_applicable("a laptop saves power on purpose")
    governors = known(machine.cpus.governors)
    if "powersave" not in governors:
        return None
    driver = known(machine.cpus.scaling_driver)
    if driver not in _GENERIC:
        return None
    return info(
        f"The CPU frequency governor is powersave under {driver}, which keeps CPUs at their lowest clock.",
        evidence=[cite(machine.cpus.governors, ", ".join(governors)), cite(machine.cpus.scaling_driver)],
        fix=Fix(
            "Choose a governor that raises the clock under load",
            command="sudo cpupower frequency-set -g performance",
            safety="safe",
            verify="cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
            changes=(KernelValue("/sys/devices/system/cpu/cpufreq/policy*/scaling_governor", "performance"),),
        ),
    )
