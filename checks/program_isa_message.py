"""HIP loaded code for a different target than this GPU's.

Why
  "The program ISA ... is not compatible with the device ISA ..." names both sides. If cards with both targets are in
  the machine, a library (rocBLAS, MIOpen, an extension) loaded the file for the other card. If no card has the first
  target, a build or a cached file for another GPU was loaded. With one target on both sides the modes differ: code for
  xnack- does not run on a device in xnack+ mode, nor the other way round.

Fix
  Give each process cards of one kind. Otherwise use a build for the device's target, or empty the cache. If the modes
  differ, set or unset HSA_XNACK to match the build.

References
  https://github.com/ROCm/clr/blob/develop/rocclr/device/devprogram.cpp
  https://llvm.org/docs/AMDGPUUsage.html#target-features
"""

from __future__ import annotations

from rocdoctor.insight.texts.pasted import first_value, gfx_names, said, shown, when_said
from rocdoctor.judging.check import Fix, Outcome, check, error
from rocdoctor.model.facts import Machine

_KIND = "program-isa-unlike"


@check(when_said(_KIND), cause="gpu-arch-not-built")
def program_isa_message(machine: Machine) -> Outcome:
    messages = said(machine, _KIND)
    program, device = first_value(messages, "program") or "", first_value(messages, "device") or ""
    built, here = program.partition(":")[0], device.partition(":")[0]
    if built == here:
        return error(
            f"The code that was loaded is for {program}, and the device runs as {device}: the xnack or sramecc mode of "
            "the build differs from the device's.",
            evidence=shown(messages),
            fix=Fix(
                "Set or unset HSA_XNACK so that the mode matches the build, or build for the target without a mode",
                command="env | grep HSA_XNACK; rocminfo | grep -E 'gfx|XNACK'",
            ),
            confidence="likely",
        )
    targets = gfx_names(machine)
    if built in targets and here in targets:
        return error(
            f"Different GPUs are in one process: a library handed code for {built} to the {here}, and both are here.",
            evidence=shown(messages),
            fix=Fix(
                "Give each process cards of one kind with HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES (mixed "
                "architectures), until a release of the library chooses its files by device",
                command="rocminfo | grep -E 'Marketing Name|gfx|Uuid'",
                safety="safe",
            ),
            cause="mixed-gpu-archs",
            confidence="likely",
            explains=("gpu-arch-not-built", "mixed-gpu-architectures", "no-kernel-image-message"),
        )
    return error(
        f"The code that was loaded is for {built}, and this GPU is {here}: a build, or a cached file, for another GPU.",
        evidence=shown(messages),
        fix=Fix(
            f"Use a build that has code for {here}, or build it for this target (AMDGPU_TARGETS or "
            f"PYTORCH_ROCM_ARCH={here}); empty the caches that were copied from another machine (~/.cache, ~/.triton)",
            command="rocminfo | grep gfx; env | grep HSA_OVERRIDE",
        ),
        confidence="likely",
        explains=("no-kernel-image-message",),
    )
