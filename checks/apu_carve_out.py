"""The integrated GPU has a small memory of its own and borrows the rest from main memory.

Why
  The firmware reserves a part of main memory for an APU (the carve-out), which tools show as VRAM. Beyond that, the GPU
  maps ordinary memory (GTT), up to a limit of the kernel's memory manager (ttm), by default half of main memory.
  Programs that only look at VRAM miss the rest; ROCm on newer APUs uses GTT as well.

Fix
  If models do not fit: raise `ttm.pages_limit` (in pages of 4 KiB, on the kernel command line), or the carve-out in
  the firmware setup. Programs on the CPU lose the carve-out, but not memory below the GTT limit.

References
  https://docs.kernel.org/gpu/amdgpu/module-parameters.html (gttsize, vis_vramlimit)
  drivers/gpu/drm/ttm/ttm_tt.c (pages_limit)
"""

from __future__ import annotations

from rocdoctor.judging.check import Fix, Outcome, check, cite, each_amd_gpu, info, not_applicable
from rocdoctor.model.evidence import known
from rocdoctor.model.facts import Gpu, Machine


@check(each_amd_gpu)
def apu_carve_out(machine: Machine, gpu: Gpu) -> Outcome:
    if not known(gpu.integrated):
        return not_applicable("this GPU has memory of its own")
    own, shared = known(gpu.vram_bytes), known(gpu.gtt_bytes)
    if own >= shared:
        return None
    return info(
        f"This integrated GPU has {own / 2**30:.3g} GiB reserved as VRAM and may map {shared / 2**30:.3g} GiB more "
        "of main "
        "memory (GTT); programs that only look at VRAM miss the rest.",
        evidence=[cite(gpu.vram_bytes), cite(gpu.gtt_bytes)],
        fix=Fix(
            "If a program finds too little memory, set a larger frame buffer (UMA) in the firmware setup",
            safety="manual",
        ),
    )
