"""The NVIDIA driver is older than the running kernel, for which it does not build as NVIDIA published it.

Why
  The driver's kernel module is compiled against the kernel, whose inner interfaces change with each release. NVIDIA
  follows them in the branches that it maintains: 340, 390 and 470 have ended, and within a branch, an older driver does
  not support a newer kernel. Distributions patch some of them further, so this is reported only if the driver is not
  there or finds nothing.

Fix
  Boot a kernel that the driver builds for, or install a newer driver if the GPU is still supported by one. For other
  GPUs, use the distribution's patched packages of the branch, or nouveau for the display.

References
  https://github.com/joanbm/nvidia-470xx-linux-mainline
  https://github.com/NixOS/nixpkgs/blob/master/pkgs/os-specific/linux/nvidia-x11/default.nix
  https://github.com/NVIDIA/open-gpu-kernel-modules/issues/501
"""

from __future__ import annotations

from rocdoctor.insight.gpus.presence import is_driven
from rocdoctor.insight.texts.own_trouble import names_several, trouble, when_trouble_is_told
from rocdoctor.insight.texts.pasted import said, shown
from rocdoctor.judging.check import Fix, Outcome, check, cite, not_applicable, warning
from rocdoctor.knowledge.load import numbers
from rocdoctor.knowledge.software.combinations import kernel_without
from rocdoctor.model.evidence import Known, known
from rocdoctor.model.facts import Machine
from rocdoctor.model.lazy_re import regex

_GONE = "nvidia-driver-not-there"
_DRIVER = regex(r"(?i)\b(?:dkms|driver|module|nvidia-smi|X|Xorg|boot(?:s|ing)?|display|desktop)\b")
# Enterprise kernels have parts of newer ones; their number says less.
_BACKPORTS = regex(r"\.(?:el|amzn|azl|cm)\d|-default\b|uek")


@check(when_trouble_is_told(_DRIVER, _GONE), cause="dkms-kernel-mismatch")
def nvidia_driver_unlike_kernel(machine: Machine) -> Outcome:
    if names_several(machine, "kernel", "nvidia"):
        return not_applicable("the text names several versions")
    driver = machine.drivers.get("nvidia", {}).get("version")
    if not isinstance(driver, Known):
        return not_applicable("the version of the NVIDIA driver is not known")
    if any(gpu.vendor == "nvidia" and is_driven(gpu) for gpu in machine.gpus) or said(machine, "dkms-build-failed"):
        return not_applicable("the driver is there, or the message of the build is judged")
    release = known(machine.kernel.release)
    first = kernel_without(driver.value)
    if first is None or _BACKPORTS.search(release) or numbers(release)[:2] < numbers(first)[:2]:
        return None
    return warning(
        f"The NVIDIA driver {driver.value} does not build for Linux {first} and newer as NVIDIA published it, and the "
        f"kernel is {release}: without a patched package there is no module for it.",
        evidence=(*shown(trouble(machine, _DRIVER, _GONE))[:1], cite(driver), cite(machine.kernel.release)),
        fix=Fix(
            f"Check whether DKMS built it. If not, boot a kernel older than {first}, or install a "
            "newer driver if one still supports the GPU; some distributions have patched "
            "packages of branches that have ended",
            command="dkms status; uname -r; ls /boot/vmlinuz*",
            safety="reboots",
            effective="reboot",
            verify="nvidia-smi",
        ),
        confidence="possible",
        explains=("kernel-module-not-loaded", "driver-not-loaded-message", "known-message"),
    )
