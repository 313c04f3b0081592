"""The seats of a node: which CPUs and which network card lie next to each GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Machine, Nic, NumaNode
from rocdoctor.parsers.formats.cpuset import list_to_set, set_to_list
from rocdoctor.train.recommend.fleet.machine_gpus import CountedDevice
from rocdoctor.train.recommend.plan import Seat


def numa_of(machine: Machine, device: CountedDevice) -> int | None:
    """The NUMA node of a device: what the firmware says, or the only one there is."""
    told = value_or(device.gpu.numa_node, None)
    if told is not None:
        return told
    return machine.numa_nodes[0].node if len(machine.numa_nodes) == 1 else None


def cores_of(node: NumaNode, threads_per_core: int | None) -> list[tuple[int, ...]] | None:
    """CPUs of a NUMA node core by core; None where it is not known which CPUs share a core.

    Two ranges of equal length with two threads a core (``0-31,64-95``) are the cores and their second threads in the
    same order, as Linux numbers them on servers.
    """
    numbers = list_to_set(value_or(node.cpulist, None))
    if not numbers:
        return None
    ordered = sorted(numbers)
    if threads_per_core == 1:
        return [(one,) for one in ordered]
    half = len(ordered) // 2
    first, second = ordered[:half], ordered[half:]
    gap = half > 0 and len(ordered) % 2 == 0 and second[0] - first[-1] > 1
    straight = half > 0 and all(part[-1] - part[0] == half - 1 for part in (first, second))
    if threads_per_core == 2 and gap and straight:
        return list(zip(first, second, strict=True))
    return None


def threads_per_core(machine: Machine) -> int | None:
    """Threads of a core where all cores have equally many, else None."""
    cores, threads = value_or(machine.cpus.cores, 0), value_or(machine.cpus.threads, 0)
    return threads // cores if cores and threads and threads % cores == 0 else None


def cpu_shares(machine: Machine, nodes: Sequence[int | None], notes: list[str]) -> list[str | None]:
    """The CPUs of each seat, whose NUMA node is given: whole cores, divided evenly among the seats of a node."""
    by_number: Mapping[int, NumaNode] = {one.node: one for one in machine.numa_nodes}
    usable, threads = value_or(machine.cpus.usable, None), value_or(machine.cpus.threads, None)
    if usable is not None and threads is not None and usable < threads:
        notes.append(f"this process may use {usable} of the {threads} CPUs; which ones is left to the scheduler")
        return [None] * len(nodes)
    found: list[str | None] = [None] * len(nodes)
    per_core = threads_per_core(machine)
    undivided = False
    for number in {one for one in nodes if one is not None}:
        node = by_number.get(number)
        seats = [at for at, one in enumerate(nodes) if one == number]
        if node is None or not isinstance(node.cpulist, Known):
            continue
        cores = cores_of(node, per_core)
        if len(seats) == 1 or cores is None or len(cores) < len(seats):
            undivided = undivided or len(seats) > 1
            whole = list_to_set(node.cpulist.value)
            for at in seats:
                found[at] = set_to_list(whole) if whole else None
            continue
        each = len(cores) // len(seats)
        for place, at in enumerate(seats):
            found[at] = set_to_list({cpu for core in cores[place * each : (place + 1) * each] for cpu in core})
    if undivided:
        notes.append("it is not known which CPUs share a core: GPUs of one NUMA node share all its CPUs")
    return found


def _bus(bdf: str) -> tuple[str, int]:
    domain, bus = bdf.split(":")[:2]
    return domain, int(bus, 16)


def nearest_nics(
    nics: Sequence[Nic], devices: Sequence[CountedDevice], nodes: Sequence[int | None]
) -> list[str | None]:
    """The network card of each seat: of its NUMA node, the nearest PCI bus first, each card once while they last.

    Firmware numbers the buses behind one switch in a row, so the nearest number is the shortest way.
    """
    used: dict[str, int] = {}
    found: list[str | None] = []
    of_card: dict[int, str] = {}
    for device, node in zip(devices, nodes, strict=True):
        if device.gpu.index in of_card:  # another partition of the same card
            found.append(of_card[device.gpu.index])
            continue
        near = [nic for nic in nics if node is None or value_or(nic.numa_node, node) in (node, None)]
        if not near:
            found.append(None)
            continue
        own = value_or(device.gpu.bdf, None)

        def way(nic: Nic, own: str | None = own) -> tuple[int, int, int]:
            other = value_or(nic.bdf, None)
            if own is None or other is None:
                return used.get(nic.name, 0), 1, 0
            a, b = _bus(own), _bus(other)
            return used.get(nic.name, 0), int(a[0] != b[0]), abs(a[1] - b[1])

        best = min(near, key=way)
        used[best.name] = used.get(best.name, 0) + 1
        of_card[device.gpu.index] = best.name
        found.append(best.name)
    return found


def seats_of(
    machine: Machine,
    devices: Sequence[CountedDevice],
    nics: Sequence[Nic],
    islands: Sequence[Sequence[int]],
    notes: list[str],
) -> tuple[Seat, ...]:
    """One seat a device, in the order of local ranks."""
    nodes = [numa_of(machine, one) for one in devices]
    cpus, near = cpu_shares(machine, nodes, notes), nearest_nics(nics, devices, nodes)
    island = {rank: number for number, ranks in enumerate(islands) for rank in ranks}
    return tuple(
        Seat(
            rank,
            value_or(one.gpu.name, ""),
            value_or(one.gpu.bdf, None),
            one.number,
            nodes[rank],
            cpus[rank],
            near[rank],
            island.get(rank, 0),
        )
        for rank, one in enumerate(devices)
    )
