"""One GPU of ``nvidia-smi -q`` or ``-q -x``, from its element of the tree."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocdoctor.parsers.formats.gpu_reading import GpuReading
from rocdoctor.parsers.formats.text import is_no_value, pci_address
from rocdoctor.parsers.formats.xml import Element
from rocdoctor.parsers.nvidia.nvidia_fields import FIELDS, read_count, read_mib, yes_no
from rocdoctor.parsers.nvidia.nvidia_records import NvidiaProcess

_MAX_PROCESSES = 4096
_MAX_MIG = 256


def read_gpu(gpu: Element, index: int | None) -> GpuReading:
    """One GPU from its element; ``index`` is given by the caller, who knows whether all GPUs are listed."""
    found = GpuReading(gpu.line, index)
    found.put("bdf", pci_address(gpu.get("id")), gpu.line)
    for name, reader, paths in FIELDS:
        for path in paths:
            if found.get(name) is None and (element := gpu.find(path)) is not None:
                found.put(name, reader(element.text), element.line)
    for name, when, kind in (
        ("ecc_volatile_corrected", "volatile", "corrected"),
        ("ecc_volatile_uncorrected", "volatile", "uncorrected"),
        ("ecc_aggregate_corrected", "aggregate", "corrected"),
        ("ecc_aggregate_uncorrected", "aggregate", "uncorrected"),
    ):
        counted = [
            (count, one.line) for one in _ecc_counts(gpu, when, kind) if (count := read_count(one.text)) is not None
        ]
        if counted:
            found.put(name, sum(count for count, _ in counted), counted[0][1])
    section = gpu.child("clocks_event_reasons", "clocks_throttle_reasons")
    if section is not None:
        found.put("throttle", _active_reasons(section), section.line)
    processes = gpu.child("processes", "compute_processes")
    if processes is not None:
        found.put("process_list", _processes(processes), processes.line)
    mig = min(len([*gpu.find_all("mig_devices/mig_device"), *gpu.find_all("mig_device")]), _MAX_MIG)
    found.put("mig_instances", mig, found.line_of("mig"))
    return found


def _ecc_counts(gpu: Element, when: str, kind: str) -> Iterator[Element]:
    section = gpu.find(f"ecc_errors/{when}")
    if section is None:
        return
    old = section.child("single_bit" if kind == "corrected" else "double_bit")
    if old is not None:
        total = old.child("total")
        if total is not None and read_count(total.text) is not None:
            yield total
        else:
            yield from old.children
        return
    ending = "_correctable" if kind == "corrected" else "_uncorrectable"
    for one in section.children:
        # sram_uncorrectable_parity and sram_uncorrectable_secded are the two halves of sram_uncorrectable.
        if one.tag.startswith((f"sram{ending}", f"dram{ending}")):
            yield one


def _active_reasons(section: Element) -> tuple[str, ...] | None:
    known = False
    active: list[str] = []
    for one in section.walk():
        state = yes_no(one.text)
        if one is section or state is None:
            continue
        known = True
        name = re.sub(r"^clocks_(?:event|throttle)_reasons?_", "", one.tag)
        name = {"idle": "gpu_idle", "display_clock_setting": "display_clocks_setting"}.get(name, name)
        if state and name not in active:
            active.append(name)
    return tuple(active) if known else None


def _processes(section: Element) -> tuple[NvidiaProcess, ...] | None:
    if not section.children:
        return () if section.text in ("", "None") or not is_no_value(section.text) else None
    found: list[NvidiaProcess] = []
    for one in section.children:
        pid_element = one if one.tag == "process_id" else one.child("pid") if one.tag == "process_info" else None
        pid = None if pid_element is None else read_count(pid_element.text)
        if pid is None or len(found) >= _MAX_PROCESSES:
            continue
        used = one.child("used_memory", "used_gpu_memory")
        found.append(NvidiaProcess(None if used is None else read_mib(used.text), one.line, pid))
    return tuple(found)
