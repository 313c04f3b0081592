"""The GPU's fan does not turn although a sensor is near its limit.

Why
  Modern cards stop their fan while they are cool, so 0 rpm alone is healthy. Near the critical temperature an
  automatic fan that does not turn is broken, blocked or unplugged, and the card will slow down or shut down. In
  laptops the firmware drives the fan and the figure that the GPU reports means nothing.

Fix
  Check the fan: its cable, blades and bearing. `rocm-smi --resetfan` gives it back to the driver.

References
  https://docs.kernel.org/gpu/amdgpu/thermal.html (fan1_input, fan_zero_rpm_enable)
"""

from __future__ import annotations

from rocdoctor.insight.gpus.gpu_health import is_laptop, limited_readings
from rocdoctor.judging.check import Fix, Outcome, check, cite, each_discrete_gpu, info, not_applicable, warning
from rocdoctor.model.evidence import Unknown, known, value_or
from rocdoctor.model.facts import Gpu, Machine

_CAUSE = "thermal-or-power-limit"
_NEAR_CRIT_C = 10.0


@check(each_discrete_gpu)
def fan_stopped_hot(machine: Machine, gpu: Gpu) -> Outcome:
    if is_laptop(machine.laptop):
        return not_applicable("in a laptop the firmware drives the fans")
    if isinstance(gpu.fan.rpm, Unknown) and gpu.fan.rpm.reason in ("absent", "not-asked"):
        return not_applicable("no fan speed of this GPU is known (passive cards have no fan)")
    if known(gpu.fan.rpm) > 0:
        return None
    hottest = limited_readings(gpu)[0]
    if hottest.margin_c is None or hottest.margin_c > _NEAR_CRIT_C:
        return None
    mode = value_or(gpu.fan.mode, None)
    sensor, now = hottest.sensor, hottest.input_c
    message = (
        f"The fan does not turn (0 rpm) at a {sensor.label} temperature of {now:g} °C, {hottest.margin_c:g} °C below"
    )
    # Without knowing that this is no laptop and that the driver rules the fan, 0 rpm may be a reading without meaning.
    make = warning if mode == "automatic" and value_or(machine.laptop, None) is False else info
    return make(
        f"{message} the critical limit of this card.",
        evidence=[cite(gpu.fan.rpm, "0 rpm"), cite(gpu.fan.mode), cite(sensor.input_c), cite(sensor.crit_c)],
        fix=Fix("Check the fan, its cable and the airflow", command="sudo rocm-smi --resetfan", safety="manual")
        if gpu.vendor == "amd"
        else Fix("Check the fan, its cable and the airflow", safety="manual"),
        cause=_CAUSE if make is warning else "",
        explains=("gpu-over-temperature", "throttling-now"),
    )
