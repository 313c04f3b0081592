"""Some GPUs are in an XGMI hive, but identical ones in this machine are not.

Why
  A hive is a group of GPUs that reach each other over XGMI. A GPU outside the hive reaches the others over PCIe, many
  times slower, and a collective runs at the pace of its slowest member. Modules (MI250, MI300X and later) are always
  linked on their board: one outside the hive did not start properly. Cards (MI50, MI100, MI210) are linked by a
  bridge, which can be left out, so with them this may be intended. Two hives of equal size are intended.

Fix
  Power the machine off and on (a reboot is not enough). With cards, check the bridge. Until then, keep jobs inside a
  hive (HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES).

References
  Linux: drivers/gpu/drm/amd/amdgpu/amdgpu_xgmi.c (amdgpu_get_xgmi_hive)
"""

from __future__ import annotations

from collections import Counter

from rocdoctor.insight.links.fabric import models, on_module
from rocdoctor.judging.check import About, Finding, Fix, Outcome, check, cite, finding, machine_with_amd, not_applicable
from rocdoctor.model.evidence import Known
from rocdoctor.model.facts import Gpu, Machine


@check(machine_with_amd)
def hive_incomplete(machine: Machine) -> Outcome:
    findings: list[Finding] = []
    judged = False
    for group in models([gpu for gpu in machine.gpus if gpu.vendor == "amd"]):
        known = [gpu for gpu in group if isinstance(gpu.hive_id, Known)]
        if len(known) < 2 or not any(isinstance(gpu.hive_id, Known) and gpu.hive_id.value for gpu in known):
            continue
        judged = True
        if found := _judge(known):
            findings.append(found)
    return findings if judged else not_applicable("no hive of identical GPUs is known here")


def _judge(gpus: list[Gpu]) -> Finding | None:
    members: dict[str | None, list[Gpu]] = {}
    for gpu in gpus:
        if isinstance(gpu.hive_id, Known):
            members.setdefault(gpu.hive_id.value, []).append(gpu)
    outside = members.pop(None, [])
    sizes = {hive: len(group) for hive, group in members.items()}
    largest = max(sizes.values())
    if largest < 2:
        return None
    outside += [gpu for hive, group in members.items() if len(group) < largest for gpu in group]
    if not outside:
        return None
    module = on_module(outside[0])
    forms = " and ".join(f"{count} of {size}" for size, count in sorted(Counter(sizes.values()).items(), reverse=True))
    return finding(
        "warning" if module else "info",
        f"{len(outside)} of {len(gpus)} identical GPUs are outside the full XGMI hive (hives: {forms}): "
        f"{', '.join(gpu.label for gpu in outside[:8])}.",
        evidence=[
            cite(gpu.hive_id, f"{gpu.label}: hive {_hive(gpu)}")
            for gpu in [*outside[:4], *next(iter(group for group in members.values() if len(group) == largest))[:1]]
        ],
        confidence="likely",
        about=About(subjects=tuple(gpu.subject for gpu in outside)),
        fix=Fix(
            "Power the machine off and on. If the GPUs are cards, check the bridge. Until then, "
            "keep each job inside one hive"
        ),
    )


def _hive(gpu: Gpu) -> str:
    return gpu.hive_id.value or "none" if isinstance(gpu.hive_id, Known) else "unknown"
