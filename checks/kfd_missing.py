"""The AMD display driver works, but the kernel has no compute driver (KFD).

Why
  ROCm talks to the GPU through /dev/kfd, which the kernel offers when it was built with CONFIG_HSA_AMD. Some small or
  self-built kernels leave it out: the display works, but `rocminfo` and torch find nothing.

Fix
  Boot the distribution's standard kernel or build the kernel with CONFIG_HSA_AMD=y. If KFD runs and only the device
  node is absent, let udev create it again.

References
  Linux drivers/gpu/drm/amd/amdkfd/Kconfig (HSA_AMD)
  https://docs.kernel.org/gpu/amdgpu/index.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.presence import count_words, is_driven, kfd_path, of_vendor, wants, worst_harm
from rocdoctor.judging.check import (
    About,
    Fix,
    Outcome,
    Severity,
    check,
    cite,
    finding,
    machine_with_amd,
    not_applicable,
    unknown,
)
from rocdoctor.model.change import Command
from rocdoctor.model.evidence import known, value_or
from rocdoctor.model.facts import Machine


@check(machine_with_amd, cause="kernel-module-not-loaded")
def kfd_missing(machine: Machine) -> Outcome:
    gpus = [gpu for gpu in of_vendor(machine, "amd") if kfd_path(gpu) is not False]
    driven = [gpu for gpu in gpus if is_driven(gpu)]
    if not driven:
        for gpu in gpus:
            known(gpu.driver)
        return not_applicable("no AMD GPU that ROCm could use has its driver")
    severity: Severity = "error" if wants(machine, "amd") else "warning"
    # The integrated GPU beside a working card of another vendor is not asked to compute.
    if worst_harm(machine, driven) == "info":
        severity = "info"
    if not known(machine.kfd_present):
        return finding(
            severity,
            f"The amdgpu driver runs {count_words(len(driven))}, but this kernel has no compute driver (KFD).",
            evidence=(cite(machine.kfd_present, "no KFD topology"), cite(driven[0].driver)),
            fix=Fix(
                "Boot a kernel that was built with CONFIG_HSA_AMD (the standard kernels of the distributions are)",
                command="grep HSA_AMD /boot/config-$(uname -r)",
                safety="reboots",
                effective="reboot",
                verify="rocminfo",
            ),
            explains=("gpu-without-compute-node", "device-permission", "torch-gpu-count-mismatch"),
            about=About(option="CONFIG_HSA_AMD"),
        )
    node = next((node for node in machine.nodes if node.path == "/dev/kfd"), None)
    # Inside a container an absent node was not passed in, which is another matter.
    if node is None or value_or(node.exists, True) or value_or(machine.container.kind, "") != "none":
        return None
    # A sandbox that is no container (bubblewrap, a chroot) has a /dev of its own, without render nodes too.
    render = [one for one in machine.nodes if one.path.startswith("/dev/dri/renderD")]
    if not any(value_or(one.exists, False) for one in render):
        raise unknown("no device node of a GPU is here: /dev may be that of a sandbox", "undecided")
    return finding(
        severity,
        "The compute driver (KFD) runs, but its device node /dev/kfd is not there.",
        evidence=(cite(node.exists, "no /dev/kfd"), cite(machine.kfd_present, "KFD topology")),
        fix=Fix(
            "Let udev create the device node again",
            command="sudo udevadm trigger --subsystem-match=kfd",
            safety="safe",
            verify="ls -l /dev/kfd",
            changes=(Command(("udevadm", "trigger", "--subsystem-match=kfd")),),
        ),
        explains=("device-permission", "torch-gpu-count-mismatch"),
    )
