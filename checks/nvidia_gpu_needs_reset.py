"""The NVIDIA driver asks for a reset of a GPU or for a reboot.

Why
  After an error from which it cannot recover by itself the driver notes what is needed: a reset of the GPU, a reboot,
  or that running work be drained first. Until then new programs fail on the GPU, hang, or run with only part of it.

Fix
  Stop all programs on the GPU, then `sudo nvidia-smi --gpu-reset -i N` (with NVSwitch: all GPUs of the board together),
  or reboot. Read the Xid lines of the kernel log first: they say what happened.

References
  https://docs.nvidia.com/deploy/nvidia-smi/index.html (GPU Recovery Action, GPU Reset Status)
  https://docs.nvidia.com/deploy/xid-errors/index.html
"""

from __future__ import annotations

from rocdoctor.judging.check import Fix, Outcome, check, cite, each_nvidia_gpu, error, not_applicable, warning
from rocdoctor.model.evidence import Known, known, value_or
from rocdoctor.model.facts import Gpu, Machine
from rocdoctor.model.shell_command import shell


@check(each_nvidia_gpu, cause="gpu-hardware-fault")
def nvidia_gpu_needs_reset(machine: Machine, gpu: Gpu) -> Outcome:
    if not isinstance(gpu.recovery_action, Known) and isinstance(gpu.compute_mode, Known):
        return not_applicable("nvidia-smi says nothing about a reset of this GPU")
    action = known(gpu.recovery_action).strip()
    words = action.lower()
    if words == "none" or not ("reset" in words or "reboot" in words or "drain" in words):
        return None
    if value_or(gpu.bad_pages_pending, False):
        return None  # the reset is the one that pages or rows wait for: bad-pages tells of it
    number = value_or(gpu.smi_index, "N")
    reboot = "reboot" in words
    fix = Fix(
        "Save the kernel log, stop all programs on this GPU, and " + ("reboot" if reboot else "reset it or reboot"),
        command="sudo reboot" if reboot else shell("sudo nvidia-smi --gpu-reset -i {gpu}", gpu=number),
        safety="reboots",
        effective="reboot" if reboot else "now",
        verify="nvidia-smi -q",
    )
    evidence = [cite(gpu.recovery_action)]
    if "drain" in words:
        return warning(
            f'The driver asks to drain the work from this GPU (recovery action "{action}"): it runs with reduced '
            "capacity or without its peers.",
            evidence=evidence,
            fix=fix,
        )
    what = "a reboot" if reboot else "a reset of this GPU"
    return error(f"The driver asks for {what}: until then programs fail or hang on it.", evidence=evidence, fix=fix)
