"""Slurm has taken a node out of service.

Why
  A drained node gets no new jobs; one that is down or does not answer also loses its running jobs. Slurm notes a
  reason: fewer GPUs than configured (a GPU fell off the bus, or the driver did not start), a process that could not
  be killed (it hangs in the kernel), slurmd that does not answer, less memory than configured, a prolog or a health
  check that failed. A drain that a person set for maintenance is not a fault.

Fix
  Log in to the named node, find and repair what the reason names, then return the node to service: `scontrol update
  NodeName=NODE State=RESUME`. Without the repair, Slurm drains it again.

References
  https://slurm.schedmd.com/scontrol.html
  Slurm source: src/slurmctld/node_mgr.c, src/interfaces/gres.c, src/common/slurm_errno.c
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rocdoctor.insight.jobs.slurm_reasons import COUNT, GPU, PLANNED, SILENT, kind_of
from rocdoctor.judging.check import (
    Confidence,
    Finding,
    Fix,
    NotApplicable,
    Outcome,
    Selected,
    Severity,
    Subjects,
    check,
    finding,
    quote,
)
from rocdoctor.model.facts import Machine, SlurmNode
from rocdoctor.model.shell_command import shell
from rocdoctor.model.subject import Subject

if TYPE_CHECKING:
    from typing_extensions import LiteralString

_OUT = frozenset(
    {"down", "drained", "drain", "draining", "drng", "fail", "failing", "failg", "error", "inval", "invalid_reg"}
)


def _listed(machine: Machine) -> Subjects[SlurmNode]:
    """Each node, or list of nodes, that Slurm names."""
    nodes = [Selected(Subject("node", name=one.names), one) for one in machine.slurm_nodes]
    return nodes or NotApplicable("no state of Slurm nodes in this evidence")


_WAIT = Fix(
    "Ask the cluster's administrators when the node comes back, or use another one", command="sinfo -R", safety="safe"
)


@check(_listed)
def slurm_node_drained(machine: Machine, node: SlurmNode) -> Outcome:
    out = [state for state in node.states if state in _OUT]
    # A list of reasons (sinfo -R) names only nodes that are out of service.
    if not out and not node.silent and (node.states or node.reason is None):
        return None
    reason = node.reason or ""
    state = "+".join(node.states) if out else "not responding" if node.silent else "out of service"
    if state != "not responding" and node.silent:
        state += ", not responding"
    counted = COUNT.search(reason)
    if counted:
        return _gpus(node, state, counted)
    kind = kind_of(reason)
    if kind is None and not reason and node.silent:
        kind = SILENT
    if kind is not None:
        return _finding(node, state, kind.severity, kind.meaning, kind.look, kind.command)
    if GPU.search(reason) and not PLANNED.search(reason):
        return _finding(
            node,
            state,
            "error",
            "the note mentions a GPU or its links",
            "look at its GPUs and the kernel log",
            "ssh {node:host} \"sudo dmesg | grep -iE 'xid|amdgpu|ras|aer'; nvidia-smi || rocm-smi\"",
        )
    if reason:  # a person's note: for maintenance, or in words of their own
        words = "planned work" if PLANNED.search(reason) else "a note of the operators"
        return _finding(
            node, state, "info", f"the reason is {words}", "ask the person who set it", "scontrol show node {node:host}"
        )
    severity: Severity = "info" if not (node.silent or "down" in out or "fail" in out) else "warning"
    return _finding(
        node, state, severity, "no reason is shown", "look up the reason", "scontrol show node {node:host}; sinfo -R"
    )


def _gpus(node: SlurmNode, state: str, counted: re.Match[str]) -> Finding:
    have, want = counted[2], counted[3]
    what = "GPU" if counted[1] == "gpu" else counted[1]
    if have is None:
        meaning, cause = f"slurmd found fewer {what}s than slurm.conf says", "gpu-hardware-fault"
    elif have == "0":
        meaning = f"slurmd found none of its {want} {what}s: the driver did not start, or gres.conf names other devices"
        cause = "kernel-module-not-loaded"
    else:
        lost = int(want) - int(have)
        meaning = (
            f"slurmd found {have} of {want} {what}s: {lost} {'is' if lost == 1 else 'are'} gone (fell off the bus, "
        )
        meaning += "or its driver did not start), or gres.conf is wrong"
        cause = "gpu-hardware-fault"
    look = "count the GPUs on the bus and in the driver, and read the kernel log to see which address is missing"
    command = (
        'ssh {node:host} "lspci -d ::0302; lspci -d ::0380; lspci -d ::1200; nvidia-smi -L || rocm-smi -i; '
        "sudo dmesg | grep -iE 'xid|fallen off|amdgpu|ras'\""
    )
    if what != "GPU":
        return _finding(node, state, "error", meaning, "see which devices are missing", "ssh {node:host} slurmd -G")
    return _finding(node, state, "error", meaning, look, command, cause, "possible")


def _finding(
    node: SlurmNode,
    state: str,
    severity: Severity,
    meaning: str,
    look: str,
    command: LiteralString,
    cause: str = "",
    confidence: Confidence = "certain",
) -> Finding:
    first = node.names.partition(",")[0] if "[" not in node.names else node.names
    shown = quote(node.source, f"{node.names} {state}: {node.reason or 'no reason shown'}")
    by = f", set by {node.set_by}" if node.set_by and node.set_by not in ("root", "slurm") else ""
    fix = Fix(
        f"Look at node {node.names}: {look}; when it is repaired: "
        + shell("scontrol update NodeName={node:host} State=RESUME", node=first),
        command=shell(command, node=first),
        safety="manual",
        verify=shell("sinfo -N -l -n {node:host}", node=first),
    )
    return finding(
        severity,
        f"Slurm has node {node.names} out of service ({state}{by}): {meaning}.",
        evidence=[shown],
        fix=_WAIT if severity == "info" else fix,
        cause=cause,
        confidence=confidence,
    )
