"""GPUs, network cards and NUMA nodes in few words, as the drawing and the details name them."""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.judging.subjects import number_ranges
from rocdoctor.model.evidence import Fact, Known, value_or
from rocdoctor.model.facts import Gpu, Machine, Nic, NumaNode
from rocdoctor.model.printable import one_line
from rocdoctor.model.units import binary_size
from rocdoctor.report.machine.summary import gpu_words

NO_AFFINITY = "no affinity"
NOT_KNOWN = "not known"
Place = int | str

_KINDS = {"infiniband": "InfiniBand", "roce": "RoCE", "ethernet": "Ethernet", "rdma": "RDMA"}


def place_of(fact: Fact[int | None], nodes: Sequence[NumaNode]) -> Place:
    """The NUMA node of a device: what the firmware states, else the only one there is, else one of the two words."""
    stated = value_or(fact, None)
    if stated is not None:
        return stated
    if len(nodes) == 1:
        return nodes[0].node
    return NO_AFFINITY if isinstance(fact, Known) else NOT_KNOWN


def distance(nodes: Sequence[NumaNode], a: Place, b: Place) -> int | None:
    """The NUMA distance from one node to another; None where it is not known."""
    ordered = [node.node for node in nodes]
    own = next((node for node in nodes if node.node == a), None)
    if own is None or b not in ordered or not isinstance(own.distances, Known):
        return None
    row = own.distances.value
    return row[ordered.index(int(b))] if len(row) == len(ordered) else None


def distance_words(nodes: Sequence[NumaNode], node: NumaNode) -> str:
    """``distance 10 to itself, 32 to nodes 1-3``; empty for the only node of a machine."""
    if len(nodes) < 2:
        return ""
    by_distance: dict[int, list[int]] = {}
    for other in nodes:
        found = distance(nodes, node.node, other.node)
        if found is None:
            return "distances not known"
        if other.node != node.node:
            by_distance.setdefault(found, []).append(other.node)
    own = distance(nodes, node.node, node.node)
    others = [
        f"{far} to node{'s' if len(numbers) > 1 else ''} {number_ranges(numbers)}"
        for far, numbers in sorted(by_distance.items())
    ]
    return ", ".join([f"distance {own} to itself", *others])


def cpus_words(node: NumaNode) -> str:
    """The processors of a node."""
    if not isinstance(node.cpulist, Known):
        return "CPUs not known"
    listed = one_line(node.cpulist.value)
    return f"CPUs {listed}" if listed else "no CPUs"


def memory_words(node: NumaNode) -> str:
    """The memory of a node."""
    if not isinstance(node.memory_bytes, Known):
        return "memory not known"
    return binary_size(node.memory_bytes.value) if node.memory_bytes.value else "no memory"


def address(gpu: Gpu) -> str:
    """The PCI address."""
    return one_line(gpu.bdf.value) if isinstance(gpu.bdf, Known) else "(address not known)"


def gpu_facts(machine: Machine, gpu: Gpu) -> str:
    """Name, target, memory, partition modes, and what is out of the ordinary."""
    parts = [one_line(gpu_words(gpu, machine.drivers))]
    if not isinstance(gpu.vram_bytes, Known):
        parts.append("memory not known")
    if value_or(gpu.shared_memory, False):
        parts.append("shares the CPU's memory")
    if value_or(gpu.pcie.removable, "") == "removable":
        parts.append("external (Thunderbolt or USB4)")
    if value_or(gpu.runtime_status, "") == "suspended":
        parts.append("asleep")
    return ", ".join(part for part in parts if part)


def smi_name(gpu: Gpu) -> str:
    """The tool whose number ``smi_index`` is."""
    return "nvidia-smi" if gpu.vendor == "nvidia" else "smi"


def other_numbers(machine: Machine, gpu: Gpu) -> str:
    """The numbers by which HIP, torch and the tools call a GPU where these differ from ours; all of its partitions."""
    tools = (("HIP", gpu.hip_index), ("torch", gpu.torch_index), (smi_name(gpu), gpu.smi_index))
    count = len(gpu.compute_nodes)
    if count < 2:
        return ", ".join(
            f"{name} {fact.value}" for name, fact in tools if isinstance(fact, Known) and fact.value != gpu.index
        )
    sizes = {value_or(node.vram_bytes, 0) for node in gpu.compute_nodes}
    each = f" of {binary_size(size)}" if len(sizes) == 1 and (size := sizes.pop()) > 0 else ""
    hip = partition_numbers(machine).get(gpu.index, [])
    said = [f"HIP {number_ranges(hip)}"] if hip else []
    first: dict[int, list[str]] = {}
    for name, fact in tools[len(said) :]:
        if isinstance(fact, Known):
            first.setdefault(fact.value, []).append(name)
    said += [f"{' and '.join(names)} from {number}" for number, names in first.items()]
    return f"{count} partitions{each}" + (f": {', '.join(said)}" if said else "")


def partition_numbers(machine: Machine) -> dict[int, list[int]]:
    """HIP's numbers of the parts of each GPU, by its index: the order of their KFD nodes, as far as that is certain.

    Empty where the number that HIP gives a GPU is not known or does not follow that order.
    """
    nodes = {
        gpu.index: [node.kfd_node.value for node in gpu.compute_nodes if isinstance(node.kfd_node, Known)]
        for gpu in machine.gpus
        if gpu.compute_nodes
    }
    place = {number: at for at, number in enumerate(sorted(one for numbers in nodes.values() for one in numbers))}
    found: dict[int, list[int]] = {}
    for gpu in machine.gpus:
        numbers = sorted(place[one] for one in nodes.get(gpu.index, []))
        if len(numbers) != len(gpu.compute_nodes) or (numbers and numbers[0] != value_or(gpu.hip_index, -1)):
            return {}
        found[gpu.index] = numbers
    return found


def nic_facts(nic: Nic) -> str:
    """Kind, speed, state and the names of its interfaces."""
    kind = _KINDS.get(nic.kind, one_line(nic.kind))
    speed = f"{nic.speed_gbit_s.value:g} Gb/s" if isinstance(nic.speed_gbit_s, Known) else "speed not known"
    state = one_line(nic.state.value) if isinstance(nic.state, Known) else "state not known"
    names = [one_line(name) for name in nic.interfaces if name != nic.name]
    return ", ".join([kind, speed, state, *names])
