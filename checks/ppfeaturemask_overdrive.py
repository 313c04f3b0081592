"""A power-feature mask (amdgpu.ppfeaturemask) switches parts of the GPU's power management off.

Why
  The mask decides which power features the driver uses. Desktops often set bit 0x4000 (overdrive) for fan and clock
  tools, which is harmless until clocks or voltages are really changed; newer kernels mark themselves as tainted for
  it. A mask that clears other bits can leave clocks fixed, so that the GPU runs slow, hot, or without its limits.

Fix
  Remove `amdgpu.ppfeaturemask=` from the kernel command line (or from /etc/modprobe.d), or set only the bit that is
  needed: the driver's default is 0xfff7bfff.

References
  https://docs.kernel.org/gpu/amdgpu/module-parameters.html
  Linux drivers/gpu/drm/amd/include/amd_shared.h (enum PP_FEATURE_MASK)
"""

from __future__ import annotations

from rocdoctor.insight.software.amdgpu_options import option, parameter_bits
from rocdoctor.judging.check import About, Finding, Fix, Outcome, check, cite, info, machine_with_amd
from rocdoctor.model.evidence import Known
from rocdoctor.model.facts import Machine

# Bits whose absence fixes clocks or lifts limits; GFXOFF, stutter and deep sleep only save power.
_NEEDED = {
    0x1: "graphics clock",
    0x2: "memory clock",
    0x10: "power containment",
    0x40: "voltage control",
    0x1000: "SoC clock",
}
_OVERDRIVE = 0x4000
_TAINT_OUT_OF_SPEC = 1 << 2


@check(machine_with_amd)
def ppfeaturemask_overdrive(machine: Machine) -> Outcome:
    value, evidence = option(machine, "ppfeaturemask")
    mask = parameter_bits(value)
    if mask is None:
        return None
    fix = Fix(
        "Remove amdgpu.ppfeaturemask= from the kernel command line or /etc/modprobe.d and reboot",
        safety="reboots",
        effective="reboot",
        verify="cat /sys/module/amdgpu/parameters/ppfeaturemask",
    )
    off = [name for bit, name in _NEEDED.items() if not mask & bit]
    found: list[Finding] = []
    if off:
        found.append(
            info(
                f"The power-feature mask {mask:#x} (ppfeaturemask) switches the driver's management of "
                f"{', '.join(off)} off.",
                evidence=[evidence],
                fix=fix,
                about=About("amdgpu", "ppfeaturemask"),
            )
        )
    taint = machine.kernel.taint
    if mask & _OVERDRIVE and isinstance(taint, Known) and taint.value & _TAINT_OUT_OF_SPEC:
        found.append(
            info(
                f"The power-feature mask {mask:#x} (ppfeaturemask) enables clock and voltage control (overdrive), "
                "which taints the kernel.",
                evidence=[evidence, cite(taint, f"taint {taint.value}")],
                fix=fix,
                about=About("amdgpu", "ppfeaturemask"),
            )
        )
    return found
