"""An AMD GPU's performance level is not left to the driver.

Why
  `power_dpm_force_performance_level` fixes clocks. `low` keeps the lowest clocks even under load, so every kernel
  is slow. `high` and the profile levels (profile_standard, profile_peak ...) are usually left over from measurements:
  profile levels switch clock and power gating off and bound the clocks. `manual` means that somebody chose clock
  states or a power profile.

Fix
  Write `auto` again: `rocm-smi --setperflevel auto`. If a desktop's or laptop's power saving mode sets `low`, switch
  that mode off.

References
  https://docs.kernel.org/gpu/amdgpu/thermal.html (power_dpm_force_performance_level)
"""

from __future__ import annotations

from dataclasses import replace

from rocdoctor.insight.gpus.gpu_health import is_laptop
from rocdoctor.judging.check import Fix, Outcome, check, cite, each_amd_gpu, info, warning
from rocdoctor.model.change import KernelValue
from rocdoctor.model.evidence import Known, known, value_or
from rocdoctor.model.facts import Gpu, Machine

_CAUSE = "thermal-or-power-limit"
_FIX = Fix(
    "Let the driver control the clocks again",
    command="sudo rocm-smi --setperflevel auto",
    safety="safe",
    effective="now",
)
_HEALTHY = ("auto", "perf_determinism", "determinism", "unknown", "")
_LEVELS = {
    "high": "the highest clocks are kept, also when idle",
    "manual": "clock states or a power profile were chosen by hand",
    "profile_peak": "a measuring profile switches clock and power gating off",
}


@check(each_amd_gpu)
def performance_level_not_auto(machine: Machine, gpu: Gpu) -> Outcome:
    # amd-smi spells it AMDSMI_DEV_PERF_LEVEL_AUTO.
    level = known(gpu.performance_level).strip().lower().rsplit("perf_level_", 1)[-1]
    if level in _HEALTHY:
        return None
    evidence = [cite(gpu.performance_level)]
    if level in ("low", "profile_min_sclk"):
        # Power saving modes of desktops set it on purpose where a battery or a shared cooler gains by it.
        saving = is_laptop(machine.laptop) or value_or(gpu.integrated, False)
        make = info if saving else warning
        return make(
            f"The performance level is {level}: the GPU keeps its lowest compute clocks, also under load.",
            evidence=evidence,
            fix=_FIX if saving else replace(_FIX, changes=_automatic(gpu)),
            cause="" if saving else "thermal-or-power-limit",
        )
    # The clock states of "manual" are gone once it is left, so only its owner leaves it.
    fix = _FIX if level == "manual" else replace(_FIX, changes=_automatic(gpu))
    meaning = _LEVELS.get(level, "clocks are fixed as for measuring" if level.startswith("profile") else "")
    if not meaning:
        return None
    return info(f"The performance level is {level}, not auto: {meaning}.", evidence=evidence, fix=fix)


def _automatic(gpu: Gpu) -> tuple[KernelValue, ...]:
    """The level of this GPU alone, by its address."""
    if not isinstance(gpu.bdf, Known):
        return ()
    return (KernelValue(f"/sys/bus/pci/devices/{gpu.bdf.value}/power_dpm_force_performance_level", "auto"),)
