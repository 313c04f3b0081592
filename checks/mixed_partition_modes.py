"""Identical GPUs of one machine are partitioned in different ways.

Why
  Instinct MI300 and later can be split into several devices: SPX is the whole GPU, DPX, QPX and CPX are two, four or
  eight parts; NPS1, NPS2, NPS4 say how the memory is divided. If a machine's GPUs differ, devices have different sizes
  and speeds: batches that fit on one do not fit on another, and every step waits for the smallest. Device numbers shift
  as well.

Fix
  Set one mode on all of them with no job running, for example `sudo amd-smi set --compute-partition SPX`. If the
  machine is divided on purpose, leave it as it is, and give each job devices of one size.

References
  https://docs.kernel.org/gpu/amdgpu/index.html
  ROCm documentation: amd-smi set --compute-partition, --memory-partition
"""

from __future__ import annotations

from rocdoctor.insight.links.fabric import models
from rocdoctor.judging.check import (
    About,
    Evidence,
    Finding,
    Fix,
    Outcome,
    check,
    cite,
    machine_with_amd,
    not_applicable,
    warning,
)
from rocdoctor.model.evidence import Fact, Known
from rocdoctor.model.facts import Gpu, Machine
from rocdoctor.model.shell_command import shell


@check(machine_with_amd)
def mixed_partition_modes(machine: Machine) -> Outcome:
    groups = models([gpu for gpu in machine.gpus if gpu.vendor == "amd"])
    if not groups:
        return not_applicable("no two identical AMD GPUs are known here")
    findings: list[Finding] = []
    compared = False
    for group in groups:
        for what in ("compute", "memory"):
            modes = _modes(group, what)
            compared = compared or sum(len(gpus) for gpus in modes.values()) > 1
            if len(modes) > 1:
                findings.append(_finding(what, modes))
    return findings if compared else not_applicable("no partition modes of identical GPUs are known here")


def _mode(gpu: Gpu, what: str) -> Fact[str]:
    return gpu.partition.compute if what == "compute" else gpu.partition.memory


def _modes(group: list[Gpu], what: str) -> dict[str, list[Gpu]]:
    found: dict[str, list[Gpu]] = {}
    for gpu in group:
        mode = _mode(gpu, what)
        if isinstance(mode, Known):
            found.setdefault(mode.value.upper(), []).append(gpu)
    return found


def _finding(what: str, modes: dict[str, list[Gpu]]) -> Finding:
    parts = [f"{mode} on {', '.join(f'gpu {gpu.index}' for gpu in gpus)}" for mode, gpus in sorted(modes.items())]
    evidence: list[Evidence] = [
        cite(_mode(gpus[0], what), f"{gpus[0].label}: {mode}") for mode, gpus in sorted(modes.items())
    ]
    return warning(
        f"Identical GPUs differ in their {what} partition mode: {'; '.join(parts)}.",
        evidence=evidence,
        about=About(subjects=tuple(gpu.subject for gpus in modes.values() for gpu in gpus)),
        fix=Fix(
            "Set one mode on all GPUs while no job runs",
            command=shell(
                "sudo amd-smi set --{what:name}-partition {mode:name}",
                what=what,
                mode=max(modes, key=lambda mode: len(modes[mode])),
            ),
            safety="risky",
            verify="amd-smi static --partition",
        ),
    )
