"""The GPU's own firmware did not load when the board was powered on.

Why
  Instinct boards start from firmware on the board. When a part of it does not come up ("firmware load failed at boot
  time" with a status), the driver cannot use the GPU, and other GPUs on the same board may fail with it.

Fix
  Power the machine off and on (a warm reboot is not enough). If the error persists, have the vendor write the
  board firmware again with its own tool, or replace the board.

References
  Linux drivers/gpu/drm/amd/amdgpu/amdgpu_ras.c (amdgpu_ras_boot_time_error_reporting)
"""

from __future__ import annotations

from rocdoctor.insight.gpus.presence import count_words, events_of, is_driven
from rocdoctor.judging.check import Fix, Outcome, check, each_amd_gpu, finding, quote, unknown
from rocdoctor.model.evidence import known
from rocdoctor.model.facts import Gpu, Machine


@check(each_amd_gpu, cause="gpu-firmware")
def gpu_firmware_boot_failed(machine: Machine, gpu: Gpu) -> Outcome:
    log = known(machine.kernel.log)
    events = events_of(machine, gpu, "amdgpu-firmware-boot-failed")
    if not events:
        if log.complete or is_driven(gpu):
            return None
        raise unknown("the kernel log does not reach back to the start of the driver", "undecided")
    status = ", ".join(dict.fromkeys(str(event.values["fw_status"]) for event in events if "fw_status" in event.values))
    dies = {event.values["aid"] for event in events if "aid" in event.values}
    where = f" on {count_words(len(dies), 'die')}" if dies else ""
    return finding(
        "warning" if is_driven(gpu) else "error",
        f"The firmware of this GPU failed to load at boot time{where}{f' (status {status})' if status else ''}.",
        evidence=tuple(quote(log.source, event.text, event.line) for event in events[:4]),
        fix=Fix(
            "Power the machine off completely for a minute and start it again; if the message comes back, "
            "report it to the vendor with the status numbers",
            safety="reboots",
            effective="reboot",
            verify="sudo dmesg | grep -i 'failed at boot time'",
        ),
    )
