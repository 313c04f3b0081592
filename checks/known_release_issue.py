"""A release that is installed here has a known issue that affects this machine.

Why
  Some releases have bugs that only show on certain GPUs, GPU counts or workloads. Knowing about one saves days of
  searching on the machine. This advice has a date: the issue may be fixed by now, or may not affect your job.

Fix
  Keep the workaround in mind, or move to the release in which the issue is fixed.

References
  https://github.com/ROCm/TheRock/issues
  https://github.com/ROCm/rccl/blob/develop/CHANGELOG.md
  https://github.com/pytorch/pytorch/issues
"""

from __future__ import annotations

from rocdoctor.insight.software.env_values import count_in
from rocdoctor.insight.software.torch_stack import rocm_label
from rocdoctor.judging.check import Evidence, Finding, Fix, Outcome, check, cite, info, not_applicable, whole_machine
from rocdoctor.knowledge.lookup import KnownIssue, known_issues, source
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Machine
from rocdoctor.model.lazy_re import regex

# Conditions that are no fact of this machine; the others keep an issue from being told.
_OPEN = {"nodes_at_least"}
_SETTING = regex(r"\b([A-Z][A-Z0-9_]{3,60})=(\w{1,40})")


@check(whole_machine, cause="not-environment")
def known_release_issue(machine: Machine) -> Outcome:
    torch = machine.torch
    targets = {gpu.gfx.value for gpu in machine.gpus if isinstance(gpu.gfx, Known)}
    label = rocm_label(torch)
    installs = [one.version for one in machine.rocm if isinstance(one.version, Known)]
    # A wheel with ROCm inside runs its own libraries, whatever the system has.
    versions: list[str | None] = [label] if label else [one.value for one in installs]
    version = value_or(torch.version, None)
    if not versions and version is None:
        return not_applicable("neither ROCm nor torch is known here")
    issues: dict[str, KnownIssue] = {}
    for rocm in versions or [None]:
        for issue in known_issues(
            rocm=rocm,
            torch=version,
            rccl=value_or(torch.nccl, None) if label or value_or(torch.hip, None) else None,
            kernel=value_or(machine.kernel.release, None),
            gfx=targets,
            gpus=_gpus(machine),
            nodes=_nodes(machine),
            variables=machine.environment.variables,
        ):
            issues.setdefault(issue.id, issue)
    evidence = [*(cite(one) for one in installs if not label), *([cite(torch.version)] if version else [])]
    evidence += [cite(gpu.gfx) for gpu in machine.gpus[:1] if isinstance(gpu.gfx, Known)]
    return [
        _finding(issue, evidence)
        for issue in issues.values()
        if set(issue.open_keys) <= _OPEN and not _worked_around(machine, issue)
    ]


def _gpus(machine: Machine) -> int | None:
    return sum(gpu.vendor in ("amd", "nvidia") for gpu in machine.gpus) if machine.gpus_complete else None


def _nodes(machine: Machine) -> int | None:
    for name in ("SLURM_JOB_NUM_NODES", "SLURM_NNODES"):
        variable = machine.environment.variables.get(name)
        if variable is not None and (count := count_in(variable.value)) is not None:
            return count
    # Adapters for RDMA are what a machine has that works together with others.
    return None if any(nic.kind in ("infiniband", "roce") for nic in machine.network) else 1


def _worked_around(machine: Machine, issue: KnownIssue) -> bool:
    found = _SETTING.search(issue.workaround or "")
    variable = machine.environment.variables.get(found.group(1)) if found else None
    return variable is not None and found is not None and variable.value == found.group(2)


def _finding(issue: KnownIssue, evidence: list[Evidence]) -> Finding:
    message = f"Known issue ({issue.status}, seen {issue.seen}), {issue.workload}: {issue.symptom}"
    words = issue.workaround or "If your job is affected, look for a fix in newer release notes, and use that release"
    fix = Fix(words, safety="manual")
    names = tuple(known.what for one in issue.sources if (known := source("compat", one)) is not None)
    return info(message, evidence=evidence, fix=fix, references=names, confidence="possible")
