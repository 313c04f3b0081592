"""Transparent huge pages are turned off.

Why
  With huge pages the kernel maps pinned buffers and large arrays in pieces of 2 MiB instead of 4 KiB. With `never`,
  programs cannot even request them; copies between main memory and GPUs and data loading may be a little slower. Some
  databases require this setting, so it may be on purpose.

Fix
  `madvise` lets programs choose; `always` is what many training guides use.

References
  https://docs.kernel.org/admin-guide/mm/transhuge.html
"""

from __future__ import annotations

from rocdoctor.judging.check import Fix, Outcome, check, cite, info, machine_with_several_gpus
from rocdoctor.model.change import KernelValue
from rocdoctor.model.evidence import known
from rocdoctor.model.facts import Machine


@check(machine_with_several_gpus)
def transparent_hugepages_never(machine: Machine) -> Outcome:
    mode = known(machine.memory.transparent_hugepage)
    if mode != "never":
        return None
    return info(
        "Transparent huge pages are off (never), so large buffers are mapped in 4 KiB pages.",
        evidence=[cite(machine.memory.transparent_hugepage)],
        fix=Fix(
            "Let programs choose huge pages",
            command="echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
            safety="safe",
            verify="cat /sys/kernel/mm/transparent_hugepage/enabled",
            changes=(KernelValue("/sys/kernel/mm/transparent_hugepage/enabled", "madvise"),),
        ),
    )
