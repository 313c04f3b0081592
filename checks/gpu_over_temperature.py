"""A sensor of the GPU is at or above a temperature limit that the card reports.

Why
  From its critical limit on a card lowers its clocks; from the emergency limit on the driver shuts the machine down
  to save it. Both limits are read from the card, sensor by sensor: a junction of 100 °C is fine for a card whose
  limit is 110 °C. A sensor less than 5 °C below its limit under load is worth knowing, but not a fault.

Fix
  Restore the cooling: dust, fans, a cable in the airflow, the inlet temperature, the fan speed of the chassis (passive
  server cards have no fan of their own), a fan that was set to a fixed speed. A lower power cap helps until then.

References
  https://docs.kernel.org/gpu/amdgpu/thermal.html (temp*_crit, temp*_emergency)
  https://docs.nvidia.com/deploy/nvidia-smi/index.html (Temperature)
"""

from __future__ import annotations

from rocdoctor.insight.gpus.gpu_health import TemperatureReading, limited_readings
from rocdoctor.judging.check import Finding, Fix, Outcome, check, cite, each_gpu, error, info, warning
from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Gpu, Machine

_CAUSE = "thermal-or-power-limit"
_FIX = Fix("Restore the cooling of this GPU: dust, fans, airflow, inlet temperature", safety="manual")


@check(each_gpu)
def gpu_over_temperature(machine: Machine, gpu: Gpu) -> Outcome:
    busy = value_or(gpu.busy_percent, None)
    load = "" if busy is None else f" ({busy} % busy)"
    found = [one for reading in limited_readings(gpu) if (one := _judge(reading, load)) is not None]
    # One sensor speaks for the GPU: the others of a hot card follow from it.
    return min(found, key=lambda one: ("error", "warning", "info").index(one.severity)) if found else None


def _judge(reading: TemperatureReading, load: str) -> Finding | None:
    label, now, crit, emergency = reading.sensor.label, reading.input_c, reading.crit_c, reading.emergency_c
    if crit is None:
        return None
    evidence = [cite(reading.sensor.input_c, f"{now:g} °C"), cite(reading.sensor.crit_c, f"critical at {crit:g} °C")]
    if emergency is not None and now >= emergency > crit:
        return error(
            f"The {label} temperature is {now:g} °C, at the emergency limit of this card ({emergency:g} °C): it is "
            "about "
            f"to shut down{load}.",
            evidence=[*evidence, cite(reading.sensor.emergency_c, f"emergency at {emergency:g} °C")],
            fix=_FIX,
            explains=("throttling-now", "clock-stuck-low-under-load"),
            cause=_CAUSE,
        )
    if now >= crit:
        return warning(
            f"The {label} temperature is {now:g} °C, at the critical limit of this card ({crit:g} °C), so it slows "
            f"down{load}.",
            evidence=evidence,
            fix=_FIX,
            explains=("throttling-now", "clock-stuck-low-under-load"),
            cause=_CAUSE,
        )
    if reading.near_critical:
        return info(
            f"The {label} temperature is {now:g} °C, {crit - now:g} °C below the critical limit of this card{load}.",
            evidence=evidence,
            fix=Fix(
                "Watch it under full load; if it reaches the limit, look at fans, dust and airflow", safety="manual"
            ),
        )
    return None
