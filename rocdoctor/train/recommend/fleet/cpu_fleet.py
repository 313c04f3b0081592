"""A machine without usable GPUs as a fleet: processes on its processors, which talk over gloo."""

from __future__ import annotations

from typing import Any

from rocdoctor.insight.gpus.presence import no_gpu_words
from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Machine, NumaNode
from rocdoctor.parsers.formats.cpuset import list_to_set, set_to_list
from rocdoctor.train.recommend.errors import SpecError
from rocdoctor.train.recommend.fleet.gpu_figures import GIB, read_gpu
from rocdoctor.train.recommend.fleet.machine_gpus import ChosenGpus
from rocdoctor.train.recommend.fleet.node_network import nic_gb_s, training_nics
from rocdoctor.train.recommend.memory.host_memory import main_memory, software_of
from rocdoctor.train.recommend.plan import Fleet, Seat

# The system and what else runs need the rest of main memory.
_PROGRAMS = 0.85


def cpu_fleet(machine: Machine, nodes: int, chosen: ChosenGpus) -> Fleet:
    """One process a NUMA node with processors; raises SpecError where the size of main memory is not known.

    No table has rates of processors: such a plan says what fits and nothing about speed.
    """
    memory, source = main_memory(machine)
    if memory is None:
        raise SpecError(
            "neither a GPU nor the size of main memory is in this evidence; describe what to plan for, for example "
            "--gpus 8xMI300X"
        )
    notes = [*chosen.notes, *_why(machine, chosen)]
    places = _places(machine)
    count = max(1, len(places))
    whole = _PROGRAMS * memory / count
    shares = [value_or(one.memory_bytes, None) for one in places]
    sizes = [one for one in shares if one]
    # Unequal nodes: a process stays on its node's memory.
    each = min(whole, _PROGRAMS * min(sizes)) if len(sizes) == len(places) > 1 else whole
    spec: dict[str, Any] = {
        "name": "CPU",
        "mem_gib": round(each / _PROGRAMS / GIB, 2),
        "usable_gib": round(each / GIB, 2),
        "per_node": count,
        "island": count,
        "flash": True,
    }
    nics = training_nics(machine.network)
    if nodes > 1 and (rate := nic_gb_s(nics, count)) is not None:
        spec["nic_gb_s"] = round(rate, 3)
    model = value_or(machine.cpus.model, "") or "CPU"
    seats = [Seat(rank, model, numa_node=one.node, cpus=_cpus(one)) for rank, one in enumerate(places)]
    whom = f"{count} processes on the processors use" if count > 1 else "one process on the processors uses"
    gpu = "no usable GPU" if machine.gpus_gap is None else "no GPU is known"
    notes.append(f"{gpu}: {whom} {memory / GIB:.1f} GiB of main memory; the plan cannot estimate speed")
    return Fleet(
        name=f"{nodes} x {model}" if nodes > 1 else model,
        origin="machine",
        vendor="cpu",
        nodes=nodes,
        seats=tuple(seats) or (Seat(0, model),),
        gpu=read_gpu(spec, {}, []),
        spec_gpu=spec,
        fabric="none",
        islands=(tuple(range(count)),),
        host_memory_bytes=memory,
        cpu_threads=value_or(machine.cpus.usable, None) or value_or(machine.cpus.threads, None),
        cpu_cores=value_or(machine.cpus.cores, None),
        nics=tuple(nic.name for nic in nics),
        software=software_of(machine),
        container=None
        if value_or(machine.container.kind, "none") == "none"
        else value_or(machine.container.kind, None),
        left_out=chosen.left_out,
        notes=tuple(notes),
        sources={"memory": source, "host_memory": source},
    )


def _places(machine: Machine) -> list[NumaNode]:
    """NUMA nodes with processors; none where this process may not use all of them."""
    usable, threads = value_or(machine.cpus.usable, None), value_or(machine.cpus.threads, None)
    if usable is not None and threads is not None and usable < threads:
        return []
    return [one for one in machine.numa_nodes if list_to_set(value_or(one.cpulist, None))]


def _cpus(node: NumaNode) -> str | None:
    numbers = list_to_set(value_or(node.cpulist, None))
    return set_to_list(numbers) if numbers else None


def _why(machine: Machine, chosen: ChosenGpus) -> list[str]:
    """Why there is no GPU to plan for, where that may surprise."""
    found = []
    if machine.gpus_gap is not None:
        words = no_gpu_words(machine)
        found.append(
            f"{words[0].lower()}{words[1:]}; this plan is for the processors: to plan for GPUs, "
            "describe them with --gpus"
        )
    elif chosen.left_out:
        found.append("to plan for a GPU that is left out, describe it with --gpus")
    elif value_or(machine.container.kind, "") == "wsl":
        found.append("in WSL the GPUs are not on the bus of this system; describe them with --gpus")
    elif not machine.gpus_complete:
        found.append("this evidence does not list the GPUs of the machine; describe them with --gpus")
    return found
