"""The GPU is fully busy, yet its clock and its power stay far below what the card can do.

Why
  A busy GPU that draws little power at a low clock is held back (power saving mode, a missing power cable, a
  firmware problem), or the one sample was taken between two kernels. So this is a hint to measure, not a diagnosis.

Fix
  Look for other findings about power, heat and performance level first. Then watch clock and power for a minute
  under load (`rocm-smi --showclocks --showpower`, `nvidia-smi dmon`).

References
  https://docs.kernel.org/gpu/amdgpu/thermal.html (pp_dpm_sclk, gpu_busy_percent)
  https://docs.nvidia.com/deploy/nvidia-smi/index.html (Clocks)
"""

from __future__ import annotations

from rocdoctor.judging.check import Fix, Outcome, check, cite, each_discrete_gpu, warning
from rocdoctor.model.evidence import NOT_ASKED, known
from rocdoctor.model.facts import Gpu, Machine

_BUSY_PERCENT = 95
_CLOCK_SHARE = 0.35
_POWER_SHARE = 0.35


@check(each_discrete_gpu, cause="thermal-or-power-limit")
def clock_stuck_low_under_load(machine: Machine, gpu: Gpu) -> Outcome:
    busy = known(gpu.busy_percent)
    if busy < _BUSY_PERCENT:
        return None
    name = "graphics" if gpu.vendor == "nvidia" else "sclk"
    now = gpu.clocks_mhz.get(name, NOT_ASKED)
    highest = gpu.max_clocks_mhz.get(name, NOT_ASKED)
    clock, limit = known(now), known(highest)
    power, cap = known(gpu.power.now_w), known(gpu.power.cap_w)
    if limit <= 0 or cap <= 0 or clock > _CLOCK_SHARE * limit or power > _POWER_SHARE * cap:
        return None
    return warning(
        f"The GPU is {busy} % busy, but runs at {clock:g} of {limit:g} MHz and draws {power:g} of {cap:g} W.",
        evidence=[cite(gpu.busy_percent, f"{busy} % busy"), cite(now), cite(highest), cite(gpu.power.now_w)],
        fix=Fix(
            "Watch clock and power for a minute under load; if they stay low, check the power cables and the power "
            "mode",
            command="nvidia-smi dmon -s pc" if gpu.vendor == "nvidia" else "rocm-smi --showclocks --showpower",
            safety="safe",
        ),
        confidence="possible",
    )
