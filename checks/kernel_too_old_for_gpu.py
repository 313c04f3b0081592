"""The running kernel is older than the first one that can compute on this GPU.

Why
  The compute part of amdgpu supports each GPU generation from a certain kernel release on. An older kernel at best
  drives the display, and offers no KFD node. Enterprise kernels carry newer drivers than their number says, and AMD's
  own driver package contains its own code, so the number alone proves nothing: it counts only if the GPU really has
  no driver.

Fix
  Boot a newer kernel (on Ubuntu the HWE or OEM kernel), or install AMD's driver package for the running one.

References
  Linux source: drivers/gpu/drm/amd/amdkfd/kfd_device.c
  https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html
"""

from __future__ import annotations

from rocdoctor.insight.software.torch_stack import for_training
from rocdoctor.insight.texts.pasted import said, shown
from rocdoctor.judging.check import Fix, Outcome, check, cite, each_amd_gpu, error, info, not_applicable
from rocdoctor.knowledge.lookup import gfx_target, kernel_knows
from rocdoctor.model.evidence import NOT_ASKED, Known, known, value_or
from rocdoctor.model.facts import Gpu, Machine
from rocdoctor.model.lazy_re import regex

# Of pasted text: no program finds a GPU to compute on. A driver of AMD's package would be another matter.
_NOT_FOUND = (
    "prose-only-cpu-agent",
    "prose-no-kfd",
    "kfd-not-there",
    "amdgpu-not-loaded",
    "no-hip-device",
    "said-no-dri-nodes",
)
_AMDS_PACKAGE = ("dkms-build-failed", "dkms-building-for", "amdgpu-dkms-does-not-compile")
_BACKPORTS = regex(r"\.(?:el|fc|amzn|azl|cm)\d|-default\b|uek")


@check(each_amd_gpu, cause="gpu-not-supported")
def kernel_too_old_for_gpu(machine: Machine, gpu: Gpu) -> Outcome:
    told = () if said(machine, *_AMDS_PACKAGE) else said(machine, *_NOT_FOUND)
    driver = value_or(gpu.driver, None) if told else known(gpu.driver)
    if isinstance(gpu.kfd_node, Known) or gpu.compute_nodes:
        return None
    if driver not in (None, "amdgpu"):
        return not_applicable("another driver is bound to this GPU")
    release, gfx = known(machine.kernel.release), known(gpu.gfx)
    if isinstance(machine.drivers.get("amdgpu", {}).get("version", NOT_ASKED), Known):
        return not_applicable("the driver was not built with this kernel")
    if kernel_knows(gfx, release) is not False:
        return None
    target = gfx_target(gfx)
    first = f" (seen in {target.kernel_present})" if target is not None and target.kernel_present else ""
    evidence = [cite(machine.kernel.release), cite(gpu.gfx), cite(gpu.driver, str(driver or "no driver"))]
    message = f"Linux {release} is older than the first kernel with compute support for {gfx}{first}"
    fix = Fix(
        "Boot a newer kernel, or install AMD's driver package for this one",
        safety="reboots",
        effective="reboot",
        verify="rocminfo | grep gfx",
    )
    if told and for_training(gpu) and not _BACKPORTS.search(release):
        return error(
            f"{message}, and no program finds the GPU.",
            evidence=[*evidence[:2], *shown(told)],
            fix=fix,
            confidence="likely",
            explains=("gpu-without-driver", "gpu-without-compute-node", "kernel-module-not-loaded", "known-symptom"),
        )
    no_compute = driver is None or (machine.kfd_complete and value_or(machine.kfd_gpu_nodes, None) == 0)
    if no_compute and for_training(gpu) and not _BACKPORTS.search(release):
        what = "no driver is bound to it" if driver is None else "the driver offers no compute node for it"
        return error(
            f"{message}, and {what}.",
            evidence=evidence,
            fix=fix,
            confidence="likely",
            explains=("gpu-without-driver", "gpu-without-compute-node", "kernel-module-not-loaded"),
        )
    return info(f"{message}.", evidence=evidence, fix=fix)
