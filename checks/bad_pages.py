"""Memory pages or rows of the GPU were taken out of use because they are damaged.

Why
  After an uncorrectable error, or many corrected ones at one place, the driver retires the page or remaps the row. A
  few are harmless: they are handled once, at no cost. A pending retirement takes effect only after a GPU reset; a
  failed remapping means that the spare rows are used up.

Fix
  Pending: stop all work on the GPU and reset it, or reboot. Failed: replace the card.

References
  https://docs.nvidia.com/deploy/dynamic-page-retirement/index.html
  https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/index.html (row remapping)
  https://docs.kernel.org/gpu/amdgpu/ras.html (gpu_vram_bad_pages)
"""

from __future__ import annotations

from rocdoctor.insight.gpus.left_out import command_without
from rocdoctor.judging.check import Fix, Outcome, check, cite, each_gpu, error, info, not_applicable, warning
from rocdoctor.model.evidence import Known, known, value_or
from rocdoctor.model.facts import Gpu, Machine

_CAUSE = "gpu-hardware-fault"
_RESET = Fix(
    "Stop all work on this GPU and reset it, or reboot, so that the damaged pages are taken out of use",
    safety="reboots",
)


@check(each_gpu)
def bad_pages(machine: Machine, gpu: Gpu) -> Outcome:
    if gpu.vendor not in ("amd", "nvidia"):
        return not_applicable("not an AMD or NVIDIA GPU")
    pages = value_or(gpu.bad_pages, None)
    if value_or(gpu.remap_failure, False):
        return error(
            "Remapping a damaged memory row failed: this GPU has no spare rows left and needs to be replaced.",
            evidence=[cite(gpu.remap_failure, "row remapping failed")],
            fix=Fix(
                "Take this GPU out of the job and have it replaced",
                command=command_without(
                    machine, {one.subject for one in machine.gpus if value_or(one.remap_failure, False)}
                ),
                safety="manual",
            ),
            cause=_CAUSE,
        )
    if value_or(gpu.bad_pages_pending, False):
        return warning(
            "Damaged memory pages (or rows) will be retired only after a GPU reset.",
            evidence=[cite(gpu.bad_pages_pending, "pending"), *([cite(gpu.bad_pages)] if pages else [])],
            fix=_RESET,
            cause=_CAUSE,
        )
    if pages:
        one = pages == 1
        return info(
            f"{pages} memory page{' was' if one else 's were'} retired because of ECC errors; the rest of the memory "
            "is "
            "in use as usual.",
            evidence=[cite(gpu.bad_pages, f"{pages} retired")],
            fix=Fix("Note the number. If it grows, take the GPU out of jobs and ask for a replacement", safety="safe"),
        )
    if pages is None and not isinstance(gpu.bad_pages_pending, Known) and not isinstance(gpu.remap_failure, Known):
        known(gpu.bad_pages)
    return None
