"""A GPU becomes too hot: its fan was set to a fixed speed, or somebody says that it overheats.

Why
  `rocm-smi --setfan` turns off the card's own fan control: a bare number counts from 0 to 255, so 60 is a quarter of
  the speed, and the fan no longer follows the temperature. The card then throttles or shuts down.

Fix
  Give the fan back to the card (rocm-smi --resetfan), or set a higher level. Otherwise clean fans and filters and
  improve the airflow, and compare the temperatures with the card's limits.

References
  https://rocm.docs.amd.com/projects/rocm_smi_lib/en/latest/
  https://docs.kernel.org/gpu/amdgpu/thermal.html
"""

from __future__ import annotations

from rocdoctor.insight.texts.pasted import said, shown, vendors, when_said
from rocdoctor.judging.check import Fix, Outcome, check, error, warning
from rocdoctor.model.facts import Machine

_FAN, _HOT = "fan-set-by-hand", "overheating-words"


@check(when_said(_FAN, _HOT), cause="thermal-or-power-limit")
def cooling_message(machine: Machine) -> Outcome:
    fans, hot = said(machine, _FAN), said(machine, _HOT)
    if not fans:
        tool = "rocm-smi" if vendors(machine) == {"amd"} else "nvidia-smi -q -d TEMPERATURE,PERFORMANCE"
        return warning(
            "The writer says that a GPU becomes too hot or throttles.",
            evidence=shown(hot),
            fix=Fix(
                "Watch temperature, fan speed, power and clocks under load and compare them with the limits; "
                "clean fans and filters and improve the airflow",
                tool,
            ),
            confidence="possible",
        )
    level = int(str(fans[-1].values.get("level", 0)))
    percent = level if "percent" in fans[-1].values else round(level * 100 / 255)
    if percent >= 70 and not hot:
        return None
    return (error if hot else warning)(
        f"The fan was set to a fixed speed of "
        f"{level}{'%' if 'percent' in fans[-1].values else f' of 255 ({percent}%)'}: it "
        "no longer follows the temperature of the GPU.",
        evidence=shown((*fans, *hot)),
        fix=Fix(
            "Give the fan back to automatic control (rocm-smi --resetfan), or set a higher level",
            command="rocm-smi --resetfan",
            safety="safe",
            verify="rocm-smi --showfan --showtemp",
        ),
        confidence="likely",
    )
