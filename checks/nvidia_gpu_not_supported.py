"""The installed NVIDIA driver does not support a GPU of this machine.

Why
  The kernel module found the GPU and refused it: the GPU is newer than the driver, or older than what this driver
  branch still supports, or it needs the other flavour of the kernel modules (the newest GPUs work only with the open
  modules, those before Turing only with the proprietary ones).

Fix
  Install a driver branch that lists this GPU, in the flavour that the kernel log names, and reboot.

References
  https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/index.html (kernel module flavours)
  https://github.com/NVIDIA/open-gpu-kernel-modules (README, compatible GPUs)
"""

from __future__ import annotations

from rocdoctor.insight.gpus.nvidia import unsupported_words
from rocdoctor.insight.gpus.presence import events_of, harm, is_driven
from rocdoctor.judging.check import Fix, Outcome, check, each_nvidia_gpu, finding, quote, unknown
from rocdoctor.model.evidence import known
from rocdoctor.model.facts import Gpu, Machine

_EXPLAINS = (
    "gpu-without-driver",
    "nvidia-smi-failed",
    "torch-sees-no-gpu",
    "torch-gpu-count-mismatch",
    "nvidia-gpu-count-mismatch",
    "driver-probe-failed",
)


@check(each_nvidia_gpu, cause="gpu-not-supported")
def nvidia_gpu_not_supported(machine: Machine, gpu: Gpu) -> Outcome:
    if is_driven(gpu):
        return None
    log = known(machine.kernel.log)
    events = events_of(machine, gpu, "nvidia-gpu-not-supported")
    if not events:
        if log.complete:
            return None
        raise unknown("the kernel log here does not reach back to the start of the driver", "undecided")
    values = {key: value for event in events for key, value in event.values.items()}
    message, remedy = unsupported_words(values)
    return finding(
        harm(machine, gpu),
        message,
        evidence=tuple(quote(log.source, event.text, event.line) for event in events[:2]),
        fix=Fix(remedy, safety="reboots", effective="reboot", verify="nvidia-smi"),
        explains=_EXPLAINS,
    )
