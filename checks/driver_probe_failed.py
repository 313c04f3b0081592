"""The driver found a GPU but failed to start it.

Why
  The kernel module is loaded, but its start on this GPU ended with an error ("probe ... failed with error -22", "Fatal
  error during GPU init"). The GPU stays on the PCI bus without a driver, so `rocminfo` and torch do not list it.
  "Invalid IP discovery signature" means that the driver could not read the GPU's table of parts from its memory: the
  firmware on the board did not start it, or a virtual machine received it in an unclean state. Error -12 means that
  there was no memory, usually none for its address windows (BARs), which the firmware setup or the hypervisor keeps
  too small.

Fix
  Power the machine off completely (a warm reboot keeps the board's state) and start again. If the same GPUs fail again,
  update kernel, driver and firmware packages. Then check the slot and the power cables, and ask the vendor.

References
  Linux drivers/gpu/drm/amd/amdgpu/amdgpu_discovery.c, amdgpu_device.c and drivers/base/dd.c
  https://docs.kernel.org/gpu/amdgpu/index.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.presence import (
    MODULES,
    REASON_KINDS,
    count_words,
    events_of,
    harm,
    is_driven,
    missing_firmware,
    of_vendor,
    probe_failure,
)
from rocdoctor.judging.check import Fix, Outcome, check, each_gpu, finding, not_applicable, quote, unknown
from rocdoctor.model.evidence import known
from rocdoctor.model.facts import Gpu, LogEvent, Machine
from rocdoctor.model.shell_command import shell

_NO_MEMORY = -12  # ENOMEM: amdgpu_device_init could not map the registers, as where a BAR got no address
_WINDOWS = (
    "Switch Above 4G Decoding (and resizable BAR) on in the firmware setup, update the BIOS, and give a virtual "
    "machine a larger 64-bit window; lines 'BAR ...: no space' or 'failed to assign' confirm this"
)
_COLD = "Power the machine off completely for a minute (a warm reboot keeps the GPU's state) and start it again"


@check(each_gpu, cause="kernel-module-not-loaded")
def driver_probe_failed(machine: Machine, gpu: Gpu) -> Outcome:
    module = MODULES.get(gpu.vendor)
    if module is None:
        return not_applicable("not an AMD or NVIDIA GPU")
    if is_driven(gpu):
        return None
    log = known(machine.kernel.log)
    failure = probe_failure(machine, gpu)
    if failure is None:
        if log.complete:
            return None
        raise unknown("the kernel log does not reach back to the start of the driver", "undecided")
    family = of_vendor(machine, gpu.vendor)
    failed = sum(probe_failure(machine, one) is not None for one in family)
    several = ""
    if failed > 1:
        everyone = "both GPUs" if failed == 2 else f"all {count_words(failed)}"
        all_of = everyone if failed == len(family) else f"{failed} of {count_words(len(family))}"
        several = f"; the same happened to {all_of} of this machine"
    code = failure.values.get("error")
    number = f" with error {code}" if code is not None else ""
    why, remedy = _reason(machine, gpu)
    evidence = [quote(log.source, event.text, event.line) for event in (*_reasons(machine, gpu)[:3], failure)]
    return finding(
        harm(machine, gpu),
        f"The {module} driver failed to initialise this GPU: its probe ended{number}{why}{several}.",
        evidence=tuple(evidence),
        fix=Fix(
            f"{remedy}; if it fails again, update the kernel, the driver and the GPU firmware package",
            command=shell("sudo dmesg | grep -i {module:module}", module=module),
            safety="reboots",
            effective="reboot",
            verify="lspci -k",
        ),
        explains=("gpu-without-driver", "gpu-without-compute-node", "kfd-gpu-count-mismatch", "device-permission"),
    )


def _reasons(machine: Machine, gpu: Gpu) -> tuple[LogEvent, ...]:
    return (*missing_firmware(machine, gpu), *events_of(machine, gpu, *REASON_KINDS))


def _reason(machine: Machine, gpu: Gpu) -> tuple[str, str]:
    """What the lines before the failure say of it, and the first thing to do."""
    reasons = {event.kind: event for event in _reasons(machine, gpu)}
    if "gpu-firmware-missing" in reasons:
        return " after a firmware file was not found", "Install the firmware package of the distribution"
    if "amdgpu-firmware-boot-failed" in reasons:
        return " because the GPU's own firmware did not load when the board was powered on", _COLD
    if "amdgpu-discovery-failed" in reasons:
        return " because the IP discovery table could not be read from the GPU (invalid signature)", _COLD
    if "psp-load-failed" in reasons:
        return " because its security processor (PSP) did not load its firmware", _COLD
    block = reasons.get("amdgpu-ip-block-failed")
    if block is not None:
        return f" when the IP block {block.values.get('ip_block', '')} did not start".replace("  ", " "), _COLD
    failure = probe_failure(machine, gpu)
    if failure is not None and failure.values.get("error") == _NO_MEMORY:
        return " (no address space was left for its registers)", _WINDOWS
    return "", "Read the driver's lines before the failure in the kernel log"
