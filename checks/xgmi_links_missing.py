"""Some GPUs lack XGMI links that identical GPUs in this machine have.

Why
  GPUs of one hive reach each other over XGMI, many times faster than over PCIe. If one pair has no XGMI link, RCCL's
  rings and all-to-all traffic go around it or over PCIe and every collective of the job slows down. Usual reasons: a
  bridge that is not seated, a GPU or link that failed to train, a GPU that was reset on its own. Two hives of four are
  a design, not a fault, and so are modules of two dies, whose links are unequal.

Fix
  Power the machine off and on once (a reboot is not enough) and look again. With cards, check the bridge; with modules,
  the vendor has to check. Until then, keep the affected GPUs out of jobs.

References
  Linux: drivers/gpu/drm/amd/amdgpu/amdgpu_xgmi.c; drivers/gpu/drm/amd/amdkfd/kfd_crat.c (kfd_fill_gpu_xgmi_link_to_gpu)
  rocm-smi --showtopo; amd-smi topology
"""

from __future__ import annotations

from itertools import combinations

from rocdoctor.insight.links.fabric import fast_link, models, on_module, share_hive, two_dies
from rocdoctor.judging.check import (
    About,
    Evidence,
    Finding,
    Fix,
    Outcome,
    check,
    cite,
    finding,
    machine_with_amd,
    not_applicable,
    quote,
    unknown,
)
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Gpu, GpuLink, Machine

_FIX = Fix(
    "Power the machine off and on, check the bridges between the cards, and keep the named GPUs out of jobs until then",
    safety="manual",
    effective="reboot",
    verify="rocm-smi --showtopo",
)
_BRIDGES = Fix("If the cards should be connected, power off and check the bridges between them", safety="manual")


@check(machine_with_amd)
def xgmi_links_missing(machine: Machine) -> Outcome:
    amd = [gpu for gpu in machine.gpus if gpu.vendor == "amd"]
    xgmi = [link for link in machine.links if link.type == "xgmi"]
    if not xgmi:
        return not_applicable("no XGMI link is known here")
    by_index = {gpu.index: gpu for gpu in amd}
    listed = {(link.a, link.b): link for link in machine.links}
    # KFD and the tools list every pair with its weight; topology dumps list the links that end at a GPU.
    every_pair = len(listed) == len(amd) * (len(amd) - 1) // 2
    whole = machine.links_complete or every_pair
    lists_routes = every_pair or any(isinstance(link.weight, Known) for link in xgmi)
    lost: list[tuple[Gpu, Gpu, GpuLink | None]] = []
    for a, b in combinations(amd, 2):
        link = listed.get((min(a.index, b.index), max(a.index, b.index)))
        absent = link is None and whole and lists_routes
        if share_hive(a, b) and (absent or (link is not None and link.type != "xgmi")):
            lost.append((a, b, link))
    if lost:
        return _pairs(machine, lost, [link for link in xgmi if link.a in by_index])
    hives = any(value_or(gpu.hive_id, None) for gpu in amd)
    if lists_routes and hives:
        return None
    if not whole:
        raise unknown("this evidence may not show every XGMI link")
    return _unequal(machine, models(amd))


def _pairs(machine: Machine, lost: list[tuple[Gpu, Gpu, GpuLink | None]], xgmi: list[GpuLink]) -> Finding:
    shown = "; ".join(f"{a.label} and {b.label}" for a, b, _ in lost[:4]) + (" ..." if len(lost) > 4 else "")
    evidence = [cite(a.hive_id, f"hive {value_or(a.hive_id, '')}") for a, _, _ in lost[:1]]
    evidence += [_link_evidence(link) for _, _, link in lost[:4] if link is not None]
    return finding(
        "warning",
        f"{_count(len(lost), 'pair')} of GPUs in one hive {'has' if len(lost) == 1 else 'have'} no XGMI link, while "
        f"{_count(len(xgmi), 'other pair')} {'has' if len(xgmi) == 1 else 'have'} one: {shown}.",
        evidence=evidence,
        fix=_FIX,
        confidence="likely",
        about=About(
            subjects=tuple(dict.fromkeys(gpu.subject for a, b, _ in lost for gpu in (a, b))),
            pairs=tuple((a.subject, b.subject) for a, b, _ in lost),
        ),
    )


def _link_evidence(link: GpuLink) -> Evidence:
    words = f"{link.type}, weight {value_or(link.weight, 'unknown')}"
    return cite(link.weight, words) if isinstance(link.weight, Known) else quote("links between GPUs", words)


def _unequal(machine: Machine, groups: list[list[Gpu]]) -> Outcome:
    """Direct links counted: equal GPUs of one die have equally many, whatever the form of the hive."""
    findings: list[Finding] = []
    for group in groups:
        if any(two_dies(gpu) for gpu in group):
            continue
        counts = {gpu.index: _direct(machine, gpu, group) for gpu in group}
        most = max(counts.values())
        fewer = [gpu for gpu in group if counts[gpu.index] < most]
        if not fewer:
            continue
        alone = all(counts[gpu.index] == 0 for gpu in fewer)
        harm = on_module(fewer[0]) or not alone  # cards without a bridge may be meant to be so
        shown = "; ".join(f"{gpu.label} has {counts[gpu.index]}" for gpu in fewer[:4])
        part = f"{len(fewer)} of {len(group)} identical GPUs"
        findings.append(
            finding(
                "warning" if harm else "info",
                f"{part} have fewer XGMI links than the {most} of the others: {shown}.",
                evidence=[cite(gpu.pci_id, f"{gpu.label}: {counts[gpu.index]} XGMI links") for gpu in fewer[:4]],
                fix=_FIX if harm else _BRIDGES,
                confidence="likely",
                about=About(
                    subjects=tuple(gpu.subject for gpu in fewer),
                    pairs=tuple((a.subject, b.subject) for a, b in _apart(machine, fewer, group)),
                ),
            )
        )
    return findings


def _apart(machine: Machine, fewer: list[Gpu], group: list[Gpu]) -> list[tuple[Gpu, Gpu]]:
    """The pairs without a link: among those that have fewer, or of the only one with its equals."""
    pairs = combinations(fewer, 2) if len(fewer) > 1 else ((fewer[0], one) for one in group if one not in fewer)
    return [(a, b) for a, b in pairs if fast_link(machine, a, b) is None]


def _direct(machine: Machine, gpu: Gpu, group: list[Gpu]) -> int:
    links = [fast_link(machine, gpu, other) for other in group if other.index != gpu.index]
    return sum(value_or(link.count, 1) for link in links if link is not None and value_or(link.hops, 1) == 1)


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
