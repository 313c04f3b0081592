"""What is still unknown, and the one command that would tell."""

from __future__ import annotations

from collections.abc import Iterable

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


def missing_outputs(machine: Machine, answered: Iterable[str]) -> tuple[NextStep, ...]:
    """What a pasted text lacks, with the exact command that would tell; ``answered``: the questions it answers."""
    programs = {
        question.split()[1] for question in answered if question.startswith("run ") and len(question.split()) > 1
    }
    vendors = {gpu.vendor for gpu in machine.gpus}
    amd, nvidia = "nvidia" not in vendors or "amd" in vendors, "nvidia" in vendors
    steps: list[NextStep] = []
    if not vendors:
        why = "the text names no GPU; this shows which ones the machine has and which driver holds them"
        steps.append(NextStep("lspci -nnk -d ::0300; lspci -nnk -d ::0302; lspci -nnk -d ::0380", why))
    if amd and vendors and "rocminfo" not in programs:
        steps.append(NextStep("rocminfo", "it shows which GPUs the compute driver offers, and under which gfx target"))
    if nvidia and "nvidia-smi" not in programs:
        steps.append(NextStep("nvidia-smi", "it shows the driver version, the GPUs, their memory and who uses it"))
    if isinstance(machine.kernel.log, Unknown):
        why = "the kernel log shows failures of the driver, resets and memory errors"
        steps.append(NextStep("sudo dmesg | grep -iE 'amdgpu|kfd|nvrm|xid|iommu|aer'", why))
    if isinstance(machine.torch.version, Unknown):
        why = "the build of torch, its companions and the system around them"
        steps.append(NextStep("python -m torch.utils.collect_env", why))
    if not machine.environment.variables:
        why = "variables that change what the GPU libraries do"
        steps.append(NextStep("env | grep -E '^(HSA|HIP|ROCR|ROCM|CUDA|NCCL|RCCL|PYTORCH|MIOPEN|TORCH|LD)_'", why))
    steps.append(NextStep("rocdoctor bundle", "all of this at once, in one text file that is safe to post"))
    return tuple(steps)
