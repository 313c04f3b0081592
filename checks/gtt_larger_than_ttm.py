"""The GTT size was set larger than the limit that the kernel really allows.

Why
  GTT is the part of main memory that the GPU may map; on an APU, models are kept there. `amdgpu.gttsize` raises the
  figure that programs are shown, while the TTM layer of the kernel stops at its own limit (half of the memory unless
  set). A model that fits the figure but not the limit fails with "out of memory" well before the shown size is used.

Fix
  Set the limit itself: `ttm.pages_limit=` (pages of 4 KiB, so GiB x 262144) on the kernel command line (with the
  packaged driver, `amdttm.pages_limit=` as well). Remove the amdgpu parameter, and reboot.

References
  https://docs.kernel.org/gpu/amdgpu/module-parameters.html
  Linux drivers/gpu/drm/amd/amdgpu/amdgpu_ttm.c (amdgpu_ttm_init) and drivers/gpu/drm/ttm/ttm_tt.c
"""

from __future__ import annotations

from rocdoctor.insight.gpus.presence import events_of
from rocdoctor.judging.check import About, Fix, Outcome, check, each_amd_gpu, quote, unknown, warning
from rocdoctor.model.evidence import known
from rocdoctor.model.facts import Gpu, Machine
from rocdoctor.model.shell_command import shell

_PAGE_BYTES = 4096


@check(each_amd_gpu, cause="out-of-memory")
def gtt_larger_than_ttm(machine: Machine, gpu: Gpu) -> Outcome:
    log = known(machine.kernel.log)
    for event in events_of(machine, gpu, "gtt-ttm-mismatch"):
        gtt, ttm = event.values.get("gtt_bytes"), event.values.get("ttm_bytes")
        if not isinstance(gtt, int) or not isinstance(ttm, int) or gtt <= ttm:
            continue  # a smaller GTT is a choice and does no harm
        pages = gtt // _PAGE_BYTES
        return warning(
            f"The GTT size is set to {gtt / 2**30:.1f} GiB, but TTM hands out {ttm / 2**30:.1f} GiB at most: "
            "allocations beyond that fail.",
            evidence=(quote(log.source, event.text, event.line),),
            about=About("amdgpu", "gttsize"),
            finer="gtt-limit",
            fix=Fix(
                "Set the TTM limit on the kernel command line instead of the amdgpu parameter (amdttm.pages_limit too "
                "with the packaged driver), leave memory for the system, and reboot",
                command=shell("ttm.pages_limit={pages}", pages=pages),
                safety="reboots",
                effective="reboot",
                verify="cat /sys/module/ttm/parameters/pages_limit",
            ),
        )
    if log.complete or events_of(machine, gpu, "gtt-size"):
        return None  # the line of the mismatch stands just before that of the size
    raise unknown("the kernel log does not reach back to the start of the driver", "undecided")
