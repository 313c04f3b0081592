"""The kernel did not find a firmware file that a GPU needs.

Why
  The driver loads small programs into the GPU's controllers when it starts. A file that is not installed, or not in
  the initramfs from which the driver started, ends that: "Direct firmware load for amdgpu/... failed with error -2".
  New GPUs on an older distribution are the usual case. Some files are optional; those are not reported.

Fix
  Install the firmware package (linux-firmware; on Debian, firmware-amd-graphics from non-free-firmware, or
  amdgpu-dkms-firmware for the packaged driver), rebuild the initramfs, and reboot.

References
  https://docs.kernel.org/driver-api/firmware/fw_search_path.html
  https://git.kernel.org/pub/scm/linux/kernel/git/firmware/linux-firmware.git/
"""

from __future__ import annotations

from rocdoctor.insight.gpus.presence import capped, harm, is_driven, missing_firmware, probe_failure
from rocdoctor.insight.software.installing import in_order, initramfs_here, wanted
from rocdoctor.judging.check import Fix, Outcome, check, each_amd_gpu, finding, quote, unknown
from rocdoctor.model.evidence import Known, known
from rocdoctor.model.facts import Gpu, Machine


@check(each_amd_gpu, cause="gpu-firmware")
def gpu_firmware_missing(machine: Machine, gpu: Gpu) -> Outcome:
    if is_driven(gpu):
        return None  # the driver started without it
    log = known(machine.kernel.log)
    missing = missing_firmware(machine, gpu)
    if not missing:
        if log.complete:
            return None
        raise unknown("the kernel log does not reach back to the start of the driver", "undecided")
    names = list(dict.fromkeys(str(event.values["firmware"]) for event in missing if event.values.get("firmware")))
    which = f"firmware file {names[0]}" if len(names) == 1 else f"{len(names)} firmware files" if names else "firmware"
    fatal = probe_failure(machine, gpu) is not None or isinstance(gpu.driver, Known)
    end = ", and no driver is bound to this GPU" if fatal else ""
    package = wanted(machine, "amd-firmware", host=True)
    return finding(
        harm(machine, gpu) if fatal else capped(harm(machine, gpu), "warning"),
        f"The kernel did not find the {which} for this GPU{end}.",
        evidence=tuple(quote(log.source, event.text, event.line) for event in missing[:4]),
        fix=Fix(
            f"Install the firmware package of the distribution ({package.words}; amdgpu-dkms-firmware for the packaged "
            "driver), rebuild the initramfs and reboot",
            command=in_order(package.command, initramfs_here(machine)),
            safety="reboots",
            effective="reboot",
            verify="sudo dmesg | grep -i 'firmware load'",
        ),
        confidence="certain" if fatal else "likely",
        explains=("driver-probe-failed", "gpu-without-driver", "kernel-module-not-loaded"),
    )
