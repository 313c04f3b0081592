"""A GPU is bound to a driver that cannot be used for computing.

Why
  radeon is the older display driver of AMD cards and has no compute part; nouveau is the open display driver of NVIDIA

  cards, which does not support CUDA; vfio-pci and similar drivers keep the card for a virtual machine. Each is fine for
  its purpose, but torch on this system sees no GPU.

Fix
  radeon: boot with `radeon.cik_support=0 amdgpu.cik_support=1` (si_support for the first GCN generation, which has no
  compute path even then). nouveau: install the NVIDIA driver. vfio-pci: remove the assignment to the guest.

References
  https://docs.kernel.org/gpu/amdgpu/module-parameters.html
  https://docs.kernel.org/driver-api/vfio.html
  Linux drivers/gpu/drm/amd/amdgpu/amdgpu_drv.c (si_support, cik_support)
"""

from __future__ import annotations

from rocdoctor.insight.gpus.presence import DISPLAY_ONLY, MODULES, RESERVING, others_work, wants
from rocdoctor.insight.software.torch_stack import wheels_have
from rocdoctor.judging.check import (
    Evidence,
    Finding,
    Fix,
    Outcome,
    Severity,
    check,
    cite,
    each_gpu,
    finding,
    info,
    not_applicable,
)
from rocdoctor.knowledge.lookup import chip_of_device
from rocdoctor.model.evidence import known, value_or
from rocdoctor.model.facts import Gpu, Machine
from rocdoctor.model.shell_command import shell


@check(each_gpu, cause="kernel-module-not-loaded")
def wrong_kernel_driver(machine: Machine, gpu: Gpu) -> Outcome:
    if gpu.vendor not in MODULES:
        return not_applicable("not an AMD or NVIDIA GPU")
    driver = known(gpu.driver)
    evidence = (cite(gpu.driver), cite(gpu.pci_id))
    if driver in RESERVING:
        text = "To use the GPU here, take it out of the guest's configuration and bind its own driver again"
        fix = Fix(text, safety="manual", verify="lspci -k")
        return info(
            f"This GPU is kept for virtual machines by {driver}, so programs on this system do not see it.",
            evidence=evidence,
            fix=fix,
        )
    if driver not in DISPLAY_ONLY[gpu.vendor]:
        return None
    wanted = wants(machine, gpu.vendor) and not others_work(machine, gpu)
    if gpu.vendor == "nvidia":
        fix = Fix(
            "To train on it, install the NVIDIA driver of the distribution, which replaces nouveau, and reboot",
            safety="reboots",
            effective="reboot",
            verify="nvidia-smi",
        )
        message = f"This GPU uses the driver {driver}, which does not support CUDA; it needs the nvidia driver."
        # The torch that pip installs by default is built for CUDA, so it shows no wish by itself.
        runs = wheels_have(gpu)
        severity: Severity = "info" if not wanted or runs is False else "error" if runs else "warning"
        return finding(severity, message, evidence=evidence, fix=fix, explains=("driver-module-not-loaded",))
    return _radeon(gpu, evidence, "error" if wanted else "info")


def _radeon(gpu: Gpu, evidence: tuple[Evidence, ...], severity: Severity) -> Finding:
    chip = chip_of_device(value_or(gpu.pci_id, "0000").split(":")[-1])
    message = "This GPU uses the driver radeon, which has no compute part"
    if chip is None or not chip.kfd:
        fix = Fix("Use another GPU for training, or train on the CPU; the display works without changes", safety="safe")
        name = f" ({chip.chip}, {chip.family.upper()})" if chip else ""
        what = "amdgpu would not change that" if chip else "amdgpu may not know it at all"
        return finding(
            severity,
            f"{message}; this chip{name} is unsupported by ROCm, so {what}.",
            evidence=evidence,
            fix=fix,
            cause="gpu-not-supported",
        )
    switch = "cik_support" if chip.family == "gcn2" else "si_support"
    fix = Fix(
        "Switch the card to amdgpu with two parameters on the kernel command line, and reboot",
        command=shell("radeon.{switch}=0 amdgpu.{switch}=1", switch=switch),
        safety="reboots",
        effective="reboot",
        verify="lspci -k",
    )
    return finding(severity, f"{message}; amdgpu can drive this chip ({chip.chip}).", evidence=evidence, fix=fix)
