"""What is still unknown, and the one command that would tell."""

from __future__ import annotations

from rocdoctor.diagnose import NextStep
from rocdoctor.evidence import Unknown
from rocdoctor.facts import Machine


def next_steps(machine: Machine) -> tuple[NextStep, ...]:
    """At most a handful of commands, the most telling first."""
    steps: list[NextStep] = []
    log = machine.kernel.log
    gpus = any(gpu.vendor in ("amd", "nvidia") for gpu in machine.gpus)
    if isinstance(log, Unknown) and log.reason == "denied":
        why = "the kernel log needs root; it would show driver failures, resets and memory errors"
        steps.append(NextStep("sudo dmesg | rocdoctor check --add -", why))
    torch = machine.torch
    if gpus and isinstance(torch.version, Unknown) and torch.version.reason == "absent":
        why = "no Python interpreter was found; name the one that runs your training"
        steps.append(NextStep("rocdoctor check --python /path/to/venv/bin/python", why))
    return tuple(steps)
