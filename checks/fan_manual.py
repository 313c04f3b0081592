"""The GPU's fan is set to a fixed speed and no longer follows the temperature.

Why
  After `rocm-smi --setfan` or a fan tool, the driver leaves the speed where it is. A speed that suits an idle card is
  too low under full load: the card heats up to its limit and lowers its clocks. Some tools control the fan well in this
  mode, so this is reported as info, and a warning only while a sensor is at its limit.

Fix
  `rocm-smi --resetfan` gives the fan back to the driver; a higher fixed speed works as well.

References
  https://docs.kernel.org/gpu/amdgpu/thermal.html (pwm1_enable: 1 is manual, 2 is automatic)
"""

from __future__ import annotations

from rocdoctor.insight.gpus.gpu_health import nearest_to_limit
from rocdoctor.judging.check import Fix, Outcome, check, cite, each_discrete_amd_gpu, info, not_applicable, warning
from rocdoctor.model.evidence import Unknown, known, value_or
from rocdoctor.model.facts import Gpu, Machine

_CAUSE = "thermal-or-power-limit"
_FIX = Fix(
    "Give the fan back to the driver, or set a higher speed, unless one of your tools controls it",
    command="sudo rocm-smi --resetfan",
    safety="safe",
)


@check(each_discrete_amd_gpu)
def fan_manual(machine: Machine, gpu: Gpu) -> Outcome:
    if isinstance(gpu.fan.mode, Unknown) and gpu.fan.mode.reason in ("absent", "not-asked"):
        return not_applicable("no fan control is known for this GPU (passive cards have none)")
    if known(gpu.fan.mode) != "manual":
        return None
    pwm = value_or(gpu.fan.pwm, None)
    speed = "" if pwm is None else f" at {pwm} of 255"
    evidence = [cite(gpu.fan.mode), cite(gpu.fan.pwm)]
    hottest = nearest_to_limit(gpu)
    if hottest is not None and hottest.margin_c is not None and hottest.margin_c <= 0:
        return warning(
            f"The fan is set to a fixed speed{speed} while the {hottest.sensor.label} temperature is "
            f"{hottest.input_c:g} "
            "°C, at "
            "the critical limit of this card.",
            evidence=[*evidence, cite(hottest.sensor.input_c), cite(hottest.sensor.crit_c)],
            fix=_FIX,
            explains=("gpu-over-temperature", "throttling-now"),
            cause=_CAUSE,
        )
    return info(
        f"The fan is set to a fixed speed{speed}, so it does not follow the temperature.",
        evidence=evidence,
        fix=_FIX,
    )
