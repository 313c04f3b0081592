"""Environment variables for a training run on this machine, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass

from rocdoctor.evidence import Known, value_or
from rocdoctor.facts import Machine


@dataclass(frozen=True, slots=True)
class Setting:
    """One variable with the reason for its value."""

    name: str
    value: str
    reason: str


def settings(machine: Machine) -> list[Setting]:
    """What helps here, and nothing that the frameworks do by themselves."""
    found: list[Setting] = []
    discrete = [gpu for gpu in machine.gpus if gpu.vendor in ("amd", "nvidia") and not value_or(gpu.integrated, False)]
    threads = value_or(machine.cpus.usable, None) or value_or(machine.cpus.threads, None)
    if threads:
        ranks = max(1, len(discrete))
        each = max(1, threads // ranks)
        words = f"{threads} CPUs for {ranks} rank" + ("s" if ranks > 1 else "")
        found.append(Setting("OMP_NUM_THREADS", str(each), f"{words}; torchrun would set 1"))
    mixed = [gpu for gpu in machine.gpus if gpu.vendor == "amd" and value_or(gpu.integrated, False)]
    order = [gpu.hip_index.value for gpu in discrete if gpu.vendor == "amd" and isinstance(gpu.hip_index, Known)]
    amd = [gpu for gpu in discrete if gpu.vendor == "amd"]
    if mixed and amd and len(order) == len(amd):
        value = ",".join(str(index) for index in order)
        found.append(Setting("HIP_VISIBLE_DEVICES", value, "leaves the integrated GPU out"))
    return found


def render(machine: Machine) -> str:
    """The settings as shell exports with their reasons as comments."""
    lines = ["# written by rocdoctor for this machine"]
    for one in settings(machine):
        lines += [f"# {one.reason}", f"export {one.name}={one.value}"]
    if len(lines) == 1:
        lines.append("# nothing is needed here: the defaults of torch fit this machine")
    return "\n".join(lines) + "\n"
