"""The command that starts a job without some GPUs, where their numbers are sure.

HIP counts GPUs in the order of KFD's nodes (``collect/gpus/indices.py``). CUDA counts by speed, by PCI address where
CUDA_DEVICE_ORDER says so (knowledge/tables/env_vars.yaml, from NVIDIA's programming guide). A partition is a device of
its own, and a variable that selects GPUs already renumbers them: then nothing is said.
"""

from __future__ import annotations

from collections.abc import Collection

from rocdoctor.insight.gpus.presence import VISIBLE_AMD, VISIBLE_NVIDIA, is_driven, is_integrated, of_vendor
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import Gpu, Machine
from rocdoctor.model.shell_command import CommandText, shell
from rocdoctor.model.subject import Subject


def command_without(machine: Machine, sick: Collection[Subject]) -> CommandText:
    """What to type before a job so that it runs on the others; "" where that is not sure, or none is left."""
    vendors = {gpu.vendor for gpu in machine.gpus if gpu.subject in sick}
    if len(vendors) != 1 or not machine.gpus_complete or not machine.environment.complete:
        return ""
    (vendor,) = vendors
    if any(name in machine.environment.variables for name in (*VISIBLE_AMD, *VISIBLE_NVIDIA)):
        return ""
    order = {"amd": _of_hip, "nvidia": _of_cuda}[vendor](machine) if vendor in ("amd", "nvidia") else {}
    if not {*sick} <= {gpu.subject for gpu in order.values()}:
        return ""
    small = not all(map(is_integrated, order.values()))  # the GPU of a processor is no stand-in for a card
    out = {gpu.subject for gpu in order.values() if gpu.subject in sick or (small and is_integrated(gpu))}
    fit = [number for number, gpu in sorted(order.items()) if gpu.subject not in out]
    if not fit:
        return ""
    left = ",".join(map(str, fit))
    if vendor == "amd":
        return shell("export HIP_VISIBLE_DEVICES={left:numbers}", left=left)
    return shell("export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES={left:numbers}", left=left)


def _of_hip(machine: Machine) -> dict[int, Gpu]:
    """The GPUs by the numbers of HIP; none where one of them is not sure."""
    each = [gpu for gpu in of_vendor(machine, "amd") if gpu.compute_nodes]
    numbers = {gpu.hip_index.value: gpu for gpu in each if isinstance(gpu.hip_index, Known)}
    whole = all(len(gpu.compute_nodes) == 1 for gpu in each)
    return numbers if whole and sorted(numbers) == list(range(len(each))) else {}


def _of_cuda(machine: Machine) -> dict[int, Gpu]:
    """The GPUs by the numbers of CUDA in the order of their addresses; none where one of them is not sure."""
    each = of_vendor(machine, "nvidia")
    places = {gpu.bdf.value: gpu for gpu in each if isinstance(gpu.bdf, Known)}
    parted = any(value_or(gpu.mig, False) for gpu in each)
    if parted or len(places) != len(each) or not all(is_driven(gpu) is True for gpu in each):
        return {}
    return dict(enumerate(places[one] for one in sorted(places)))
