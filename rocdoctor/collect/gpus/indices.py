"""The numbers by which HIP and torch call a GPU: people mask and drain by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rocdoctor.collect.gpus.kfd import KfdTopology
from rocdoctor.model.evidence import Fact, Known, Source, Unknown, value_or
from rocdoctor.model.facts import Environment, Gpu, TorchBuild

_MASKS = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")


def with_indices(
    gpus: Sequence[Gpu], topology: KfdTopology, environment: Environment, torch: TorchBuild
) -> tuple[Gpu, ...]:
    """GPUs with the HIP index from the order of their KFD nodes, and the torch index by PCI address.

    ROCr lists its agents in the order of KFD's nodes (rocr-runtime, topology.c); a mask in the environment or a node
    that this process may not read changes the numbers, so nothing is said then.
    """
    orders = _hip_order(gpus, topology, environment)
    told = by_address(torch)
    found: list[Gpu] = []
    for gpu in gpus:
        hip: Fact[int] = gpu.hip_index if isinstance(gpu.hip_index, Known) else orders.get(gpu.index, gpu.hip_index)
        found.append(replace(gpu, hip_index=hip, torch_index=torch_index(gpu, told)))
    return tuple(found)


def by_address(torch: TorchBuild) -> Mapping[str, Known[int]]:
    """The numbers by which torch calls devices. Partitions share an address: the first one names the GPU."""
    return {
        one.bdf.value: Known(one.index, one.bdf.source) for one in reversed(torch.devices) if isinstance(one.bdf, Known)
    }


def torch_index(gpu: Gpu, told: Mapping[str, Known[int]]) -> Fact[int]:
    """The number by which torch calls a GPU, where torch tells its address."""
    bdf = value_or(gpu.bdf, None)
    return told.get(bdf, gpu.torch_index) if bdf else gpu.torch_index


def _hip_order(gpus: Sequence[Gpu], topology: KfdTopology, environment: Environment) -> dict[int, Fact[int]]:
    amd = [gpu for gpu in gpus if gpu.vendor == "amd" and gpu.compute_nodes]
    masks = [name for name in _MASKS if name in environment.variables]
    if masks:
        why = Unknown(f"{masks[0]} is set, which renumbers the devices", "not-asked")
        return {gpu.index: why for gpu in amd}
    whole = topology.complete and value_or(topology.hidden, 0) == 0 and environment.complete
    if not whole:
        return {}
    numbers = {
        gpu.index: sorted(node.kfd_node.value for node in gpu.compute_nodes if isinstance(node.kfd_node, Known))
        for gpu in amd
    }
    order = sorted(number for nodes in numbers.values() for number in nodes)
    source = Source("list /sys/class/kfd/kfd/topology/nodes/*")
    return {index: Known(order.index(nodes[0]), source) for index, nodes in numbers.items() if nodes}
