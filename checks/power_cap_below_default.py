"""The GPU's power cap is set well below the card's default.

Why
  The cap bounds clocks under load. A cap below the default is often intended (noise, power supply, heat), and
  sometimes left over from an experiment. It is not reset by a new job, only by a reboot or a driver reload. Reaching
  the default cap under full load is normal and not reported.

Fix
  If nobody wants it, set the default again with `rocm-smi --resetpoweroverdrive`, or `nvidia-smi -pl` with the
  default.

References
  https://docs.kernel.org/gpu/amdgpu/thermal.html (power1_cap, power1_cap_default)
  https://docs.nvidia.com/deploy/nvidia-smi/index.html (Power Limit)
"""

from __future__ import annotations

from rocdoctor.judging.check import Fix, Outcome, check, cite, each_gpu, info, not_applicable
from rocdoctor.model.evidence import Unknown, known
from rocdoctor.model.facts import Gpu, Machine
from rocdoctor.model.shell_command import ShellCommand, shell

_SHARE_OF_DEFAULT = 0.9  # smaller steps are roundings of the firmware


@check(each_gpu)
def power_cap_below_default(machine: Machine, gpu: Gpu) -> Outcome:
    power = gpu.power
    if isinstance(power.cap_w, Unknown) and power.cap_w.reason == "absent":
        return not_applicable("the driver states no power cap for this GPU")
    cap, default = known(power.cap_w), known(power.cap_default_w)
    if cap <= 0 or default <= 0:
        return not_applicable("the driver states no usable power cap for this GPU")
    if cap >= _SHARE_OF_DEFAULT * default:
        return None
    command = ShellCommand()
    if gpu.vendor == "nvidia":
        command = shell("sudo nvidia-smi -pl {watts:number}", watts=f"{default:g}")
    if gpu.vendor == "amd":
        command = ShellCommand("sudo rocm-smi --resetpoweroverdrive")
    fix = Fix("Set the default power cap again if nobody lowered it on purpose", command=command, safety="manual")
    return info(
        f"The power cap is {cap:g} W, {1 - cap / default:.0%} below the default of {default:g} W, so full load runs "
        "slower.",
        evidence=[cite(power.cap_w, f"{cap:g} W"), cite(power.cap_default_w, f"default {default:g} W")],
        fix=fix,
    )
