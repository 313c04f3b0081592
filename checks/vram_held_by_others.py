"""More than half of the GPU's memory is in use although the GPU is idle.

Why
  Memory that an idle GPU holds belongs to another job, to a server that keeps its model loaded, or to a process left
  over from a crashed run (it may belong to another container or user and not be listed). A new job then ends with "out
  of memory" although the card is big enough. A few hundred MB of a desktop session are healthy.

Fix
  Find the process that uses it, and end it if it is yours: `sudo fuser -v /dev/kfd /dev/dri/renderD*` or `sudo fuser -v
  /dev/nvidia*`. Another container shows only on the host. If no process uses it, reset the GPU.

References
  https://rocm.docs.amd.com/projects/amdsmi/en/latest/how-to/amdsmi-cli-tool.html (amd-smi process)
  https://docs.nvidia.com/deploy/nvidia-smi/index.html (Processes)
"""

from __future__ import annotations

from rocdoctor.insight.gpus.access import RENDER, render_minors
from rocdoctor.insight.texts.log_events import duration
from rocdoctor.judging.check import Evidence, Fix, Outcome, check, cite, each_discrete_gpu, info, warning
from rocdoctor.model.evidence import Fact, Known, known, value_or
from rocdoctor.model.facts import Gpu, GpuHolder, GpuHolders, Machine
from rocdoctor.model.shell_command import CommandText

_CAUSE = "out-of-memory"
_IDLE_PERCENT = 5
_SHARE = 0.5


@check(each_discrete_gpu)
def vram_held_by_others(machine: Machine, gpu: Gpu) -> Outcome:
    used: Fact[int]
    if isinstance(gpu.vram_used_bytes, Known):
        total = known(gpu.vram_bytes)
        used, share = gpu.vram_used_bytes, gpu.vram_used_bytes.value / total if total else 0.0
        amount = f"{gpu.vram_used_bytes.value / 2**30:.3g} of {total / 2**30:.3g} GiB of GPU memory"
    else:
        used, share = gpu.vram_used_percent, known(gpu.vram_used_percent) / 100
        amount = f"{round(share * 100)} % of the GPU memory (VRAM)"
    if share <= _SHARE:
        return None
    busy = known(gpu.busy_percent)
    if busy > _IDLE_PERCENT:
        return None
    evidence = [cite(used, f"{amount} used"), cite(gpu.busy_percent, f"{busy} % busy")]
    held = _holders(machine, gpu)
    evidence += [_evidence(machine, one) for one in held[:4]]
    who = "one process has" if len(held) == 1 else f"{len(held)} processes have"
    opened = f"; {who} it open" if held else ""
    command: CommandText = "sudo fuser -v /dev/kfd /dev/dri/renderD*"
    if gpu.vendor == "nvidia":
        command = "sudo fuser -v /dev/nvidia*"
    fix = Fix(
        "Find the process that holds the memory (also in other containers and of other users) and end it if it is "
        "yours",
        command=command,
        safety="safe",
    )
    if not isinstance(gpu.processes, Known):
        return info(f"{amount} is in use although the GPU is idle ({busy} % busy){opened}.", evidence=evidence, fix=fix)
    listed = sum(value_or(process.vram_bytes, 0) for process in gpu.processes.value)
    if gpu.processes.value:
        count = len(gpu.processes.value)
        holders = "one process" if count == 1 else f"{count} processes"
        known_part = f", {listed / 2**30:.3g} GiB of them" if listed else ""
        return info(
            f"{amount} is in use although the GPU is idle ({busy} % busy); {holders} listed{known_part}.",
            evidence=[*evidence, cite(gpu.processes, f"{count} listed")],
            fix=fix,
        )
    if held:
        return info(
            f"{amount} is in use although the GPU is idle ({busy} % busy); the tools list no process{opened}.",
            evidence=[*evidence, cite(gpu.processes, "no process listed")],
            fix=fix,
        )
    # Inside of a container, and on Windows, the list is empty whatever runs.
    hidden = value_or(machine.container.kind, "none") != "none"
    # AMD's tools show a plain user only processes of its own; on superchips the kernel keeps files in GPU memory.
    hidden = hidden or (gpu.vendor == "amd" and value_or(machine.user.uid, 1) != 0)
    hidden = hidden or value_or(machine.cpus.arch, "") == "aarch64"
    make = info if hidden else warning
    return make(
        f"{amount} is in use although the GPU is idle ({busy} % busy) and no process is listed: a "
        "leftover or hidden process occupies it.",
        evidence=[*evidence, cite(gpu.processes, "no process listed")],
        fix=fix,
        cause="" if hidden else "out-of-memory",
        confidence="likely",
    )


def _holders(machine: Machine, gpu: Gpu) -> list[GpuHolder]:
    """The processes that have this GPU's own node open, the oldest first."""
    nodes = {f"{RENDER}{minor}" for minor in render_minors(gpu)}
    alone = sum(other.vendor == gpu.vendor for other in machine.gpus) == 1
    if gpu.vendor == "nvidia" and alone:  # which number of /dev/nvidiaN is which GPU's is not known
        nodes = {node for one in value_or(machine.holders, GpuHolders()).processes for node in one.nodes}
        nodes = {node for node in nodes if node.startswith("/dev/nvidia")}
    found = [one for one in value_or(machine.holders, GpuHolders()).processes if nodes & set(one.nodes)]
    return sorted(found, key=lambda one: -one.age_s)


def _evidence(machine: Machine, holder: GpuHolder) -> Evidence:
    return cite(
        machine.holders, f"process {holder.pid} ({holder.name}) has it open, running for {duration(holder.age_s)}"
    )
