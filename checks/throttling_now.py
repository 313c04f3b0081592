"""The busy GPU is being throttled right now, by heat or an external signal.

Why
  Drivers list the reasons for low clocks. Most are normal: an idle GPU, a power cap that is reached under full load,
  clocks that an application requested. Heat and an outside signal (power brake, PROCHOT) cost speed. Some firmware
  always sets the hot-spot flag, also on a cool card, so on AMD GPUs the flag is treated as a reporting error unless the
  card is busy and a sensor is within 5 °C of its limit.

Fix
  Heat: restore the cooling. Power brake and PROCHOT: check the power supply, its cables, the voltage regulators and the
  chassis controller.

References
  https://docs.nvidia.com/deploy/nvidia-smi/index.html (Clocks Event Reasons)
  https://docs.kernel.org/gpu/amdgpu/thermal.html (gpu_metrics)
  https://github.com/ROCm/rocm-systems/issues/11781 (the flag that is always set)
"""

from __future__ import annotations

from rocdoctor.insight.gpus.gpu_health import external_reasons, heat_reasons, is_laptop, nearest_to_limit
from rocdoctor.judging.check import Fix, Outcome, check, cite, each_gpu, info, warning
from rocdoctor.model.evidence import known
from rocdoctor.model.facts import Gpu, Machine

_CAUSE = "thermal-or-power-limit"
_BUSY_PERCENT = 50
_NEAR_CRIT_C = 5.0
_COOLING = Fix("Restore the cooling of this GPU: dust, fans, airflow, inlet temperature", safety="manual")
_SUPPLY = Fix(
    "Check the power supply, the power cables of the GPU and the power settings of the chassis", safety="manual"
)


@check(each_gpu)
def throttling_now(machine: Machine, gpu: Gpu) -> Outcome:
    reasons = known(gpu.throttle)
    heat, outside = heat_reasons(reasons), external_reasons(reasons)
    if not heat and not outside:
        return None
    busy = known(gpu.busy_percent)
    if busy < _BUSY_PERCENT:
        return None
    hottest = nearest_to_limit(gpu)
    evidence = [cite(gpu.throttle, ", ".join((*heat, *outside))), cite(gpu.busy_percent, f"{busy} % busy")]
    if hottest is not None:
        evidence.append(cite(hottest.sensor.input_c, f"{hottest.sensor.label} {hottest.input_c:g} °C"))
    if heat and gpu.vendor == "amd" and (hottest is None or (hottest.margin_c or 0.0) > _NEAR_CRIT_C):
        if hottest is not None:
            return None
        return info(
            f"At {busy} % load the driver gives {', '.join(heat)} as a reason for lower clocks; the card's temperature "
            "limits are not known here, and some firmware always sets such a flag.",
            evidence=evidence,
            fix=Fix(
                "Look at the temperatures under load; a cool card has no reason to slow down",
                command="rocm-smi --showtemp",
                safety="safe",
            ),
        )
    if heat:
        at = f" at {hottest.input_c:g} °C ({hottest.sensor.label})" if hottest is not None else ""
        laptop = is_laptop(machine.laptop)  # built to run at the limit of its cooler
        return (info if laptop else warning)(
            f"Thermal throttling: at {busy} % load{at} the driver gives {', '.join(heat)} as a reason for lower "
            "clocks.",
            evidence=evidence,
            fix=_COOLING,
            explains=("clock-stuck-low-under-load",),
            cause="" if laptop else _CAUSE,
        )
    make = warning if gpu.vendor == "nvidia" else info
    return make(
        f"At {busy} % load the driver gives {', '.join(outside)} as a reason for lower clocks: a signal from outside "
        "the GPU (power supply, regulator, board) slows it down.",
        evidence=evidence,
        fix=_SUPPLY,
        explains=("clock-stuck-low-under-load",),
        cause=_CAUSE if make is not info else "",
    )
