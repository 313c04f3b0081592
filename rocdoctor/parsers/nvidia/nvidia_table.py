"""The default table of ``nvidia-smi`` and the list of ``nvidia-smi -L``.

The table had two rows a GPU until 2020 and three since (MIG), and three widths; cells are told by their contents, so
that cut, wrapped, quoted and indented copies are read as far as they go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.gpu_reading import GpuReading
from rocdoctor.parsers.formats.text import lines_of, pci_address, to_bytes, value_of, whole_number
from rocdoctor.parsers.nvidia.nvidia_fields import yes_no
from rocdoctor.parsers.nvidia.nvidia_records import NvidiaProcess, NvidiaSmi, parse_failures

_MAX_GPUS = 512
_MAX_ROWS = 4096
_MAX_LINE = 500
_HEADER = regex(r"NVIDIA-SMI +(\d[\w.]{0,30})")
_DRIVER = regex(r"(?:Driver|KMD) Version: {0,20}(\d{1,5}(?:\.\d{1,5}){1,3})(?=\s)")
_CUDA = regex(r"CUDA(?: UMD)? Version: {0,20}(\d{1,3}\.\d{1,3})(?=\s)")
_BUS = regex(r"(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]")
_GPU_CELL = regex(r" {0,8}(\d{1,4})\.? {1,8}(\S.*)")
_TEMP = regex(r"(?<!\S)(\d{1,3})C(?!\S)")
_STATE = regex(r"(?<!\S)(P\d{1,2})(?!\S)")
_POWER = regex(r"(\d{1,4}(?=W)|N/A|Off|ERR!|Unknown Error)W? {0,8}/ {0,8}(\d{1,4}(?=W)|N/A|Off|ERR!|Unknown Error|)")
_MEMORY = regex(r"(\d{1,9})(Mi?B) {0,12}/ {0,12}(\d{1,9})(Mi?B)")
_PERCENT = regex(r"(?<!\S)(\d{1,3})%")
_MIG_ROW = regex(r" {0,8}(\d{1,4}) {1,8}(\d{1,4}) {1,8}(\d{1,4}) {1,8}(\d{1,4})(?!\S)")
_LIST_GPU = regex(r"GPU (\d{1,4}): (.{1,200}?) \((?:S/N: [^)]{0,60}\) \()?UUID: (GPU-[0-9A-Fa-f-]{1,60}|[^)\s]{1,80})")
_LIST_MIG = regex(r"MIG (\S{1,40}) {1,40}Device {1,20}(\d{1,4}): \(UUID: ([^)\s]{1,120})")


@dataclass(slots=True)
class _Gpu(GpuReading):
    row: int = 0
    mig: int = 0
    processes: list[NvidiaProcess] = field(default_factory=list)


def is_table(text: str) -> bool:
    """True where the text holds the table, or a piece of it."""
    return _HEADER.search(text) is not None or any(_first_row(cells) for _, cells in _rows(text))


def is_list(text: str) -> bool:
    """True where the text holds lines of ``nvidia-smi -L``."""
    return _LIST_GPU.search(text) is not None


def parse_list(text: str) -> NvidiaSmi:
    """``nvidia-smi -L``: numbers, names and UUIDs of GPUs and of their MIG devices."""
    gpus: list[_Gpu] = []
    for at, line in enumerate(lines_of(text), 1):
        line = line[:_MAX_LINE]
        if match := _LIST_GPU.search(line):
            if len(gpus) >= _MAX_GPUS:
                break
            gpu = _Gpu(at, int(match.group(1)))
            gpu.put("name", value_of(match.group(2)), at)
            gpu.put("unique_id", match.group(3), at)
            gpus.append(gpu)
        elif gpus and gpus[-1].mig < _MAX_ROWS and _LIST_MIG.search(line):
            gpus[-1].mig += 1
    return NvidiaSmi(gpus=tuple(_finish(gpu) for gpu in gpus), failures=parse_failures(text))


def parse_table(text: str) -> NvidiaSmi:
    """The default table; ``process_list`` is None where the table of processes was cut off.

    Names longer than their cell end in dots in the table: they are given without them as ``cut_name``.
    """
    driver = cuda = None
    lines: dict[str, int] = {}
    gpus: list[_Gpu] = []
    section = "gpus"
    complete = False
    for at, cells in _rows(text):
        whole = "|".join(cells)
        if _HEADER.search(whole):
            driver_match, cuda_match = _DRIVER.search(whole), _CUDA.search(whole)
            driver = driver_match.group(1) if driver_match else None
            cuda = cuda_match.group(1) if cuda_match else None
            lines |= {name: at for name, value in (("driver_version", driver), ("cuda_version", cuda)) if value}
        elif "MIG devices:" in whole:
            section = "mig"
        elif "rocesses:" in whole:
            section = "processes"
        elif section == "processes":
            complete = _process_row(at, cells[0], gpus) or complete
        elif section == "mig":
            _mig_row(cells, gpus)
        else:
            _gpu_row(at, cells, gpus)
    found = tuple(_finish(gpu, section == "processes" and complete) for gpu in gpus)
    cut = bool(gpus) and ("vram_bytes" not in gpus[-1].lines or not complete)
    return NvidiaSmi(driver, cuda, None, found, parse_failures(text), cut, lines)


def _finish(gpu: _Gpu, processes_known: bool = False) -> GpuReading:
    if processes_known:
        gpu.put("process_list", tuple(gpu.processes), gpu.line)
    gpu.put("mig_instances", gpu.mig, gpu.line_of("mig"))
    return GpuReading(gpu.line, gpu.index, gpu.values, gpu.lines)


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Rows of the table as cells, with the line of their start; a row broken by a narrow terminal is put together.

    A row that is closed has an empty cell behind its last bar; without it, the last cell may be cut.
    """
    pending: tuple[int, str] | None = None
    for at, raw in enumerate(lines_of(text), 1):
        line = raw[:_MAX_LINE].lstrip().lstrip("> ").rstrip()
        if pending is not None:
            if line.endswith("|") and (line == "|" or not line.startswith(("|", "+"))):
                # Joined as it stands: the blanks at the break belong to the row.
                pending = (pending[0], (pending[1] + raw[:_MAX_LINE].rstrip())[: 2 * _MAX_LINE])
                continue
            yield pending[0], _cells(pending[1])
        pending = (at, line) if line.startswith("|") else None
    if pending is not None:
        yield pending[0], _cells(pending[1])


def _cells(row: str) -> list[str]:
    return row[1:].split("|")


def _first_row(cells: list[str]) -> bool:
    return len(cells) >= 2 and _GPU_CELL.match(cells[0]) is not None and _BUS.search(cells[1]) is not None


def _gpu_row(at: int, cells: list[str], gpus: list[_Gpu]) -> None:
    if _first_row(cells):
        if len(gpus) < _MAX_GPUS:
            gpus.append(_name_row(at, cells))
        return
    if not gpus:
        return
    gpu = gpus[-1]
    gpu.row += 1
    if gpu.row == 1:
        _state_row(at, cells, gpu)
    elif gpu.row == 2 and len(cells) >= 4:
        gpu.put("mig", yes_no(cells[2]), at)


def _name_row(at: int, cells: list[str]) -> _Gpu:
    gpu = _Gpu(at)
    match = _GPU_CELL.match(cells[0])
    if match is not None:
        gpu.index = int(match.group(1))
        words = match.group(2).split()
        if len(words) > 1 and words[-1] in ("On", "Off", "N/A"):
            gpu.put("persistence", yes_no(words.pop()), at)
        name = " ".join(words)
        if name.endswith(("...", "..")):
            gpu.put("cut_name", value_of(name.rstrip(". ")), at)
        elif name.upper() != "ERR!":
            gpu.put("name", value_of(name), at)
    address = _BUS.search(cells[1])
    if address is not None:
        gpu.put("bdf", pci_address(address.group()), at)
    if len(cells) >= 4:
        count = cells[2].strip()
        if count.isascii() and count.isdigit() and len(count) <= 18:
            gpu.put("ecc_volatile_uncorrected", int(count), at)
        elif count == "Off":
            gpu.put("ecc_enabled", False, at)
    return gpu


def _state_row(at: int, cells: list[str], gpu: _Gpu) -> None:
    left = cells[0]
    if temp := _TEMP.search(left):
        gpu.put("temp_c", float(temp.group(1)), at)
    if state := _STATE.search(left):
        gpu.put("performance_level", state.group(1), at)
    if power := _POWER.search(left):
        for name, word in (("power.now_w", power.group(1)), ("power.cap_w", power.group(2))):
            if (watts := whole_number(word)) is not None:
                gpu.put(name, float(watts), at)
    if len(cells) >= 2 and (memory := _MEMORY.search(cells[1])):
        gpu.put("vram_used_bytes", to_bytes(memory.group(1) + " " + memory.group(2)), at)
        gpu.put("vram_bytes", to_bytes(memory.group(3) + " " + memory.group(4)), at)
    if len(cells) >= 3:
        words = cells[2].split()
        if used := _PERCENT.search(cells[2]):
            gpu.put("busy_percent", int(used.group(1)), at)
        if len(words) >= 2 and len(cells) >= 4:
            gpu.put("compute_mode", value_of(words[-1]), at)


def _mig_row(cells: list[str], gpus: list[_Gpu]) -> None:
    match = _MIG_ROW.match(cells[0])
    gpu = None if match is None else _by_index(gpus, int(match.group(1)))
    if gpu is not None and gpu.mig < _MAX_ROWS:
        gpu.mig += 1


def _process_row(at: int, row: str, gpus: list[_Gpu]) -> bool:
    """Reads a row of the table of processes; True where it tells that processes are listed, or that there are none."""
    if "No running" in row:
        return True
    words = row.split()
    if not words or not re.match(r"\d{1,4}\Z", words[0]):
        return False
    # GPU [GI CI] PID TYPE NAME... MEMORY; GI and CI (since 2020) are N/A without MIG.
    at_pid = 1 if len(words) > 2 and re.match(r"[CGM+]{1,5}\Z", words[2]) else 3
    if len(words) <= at_pid + 1 or not re.match(r"\d{1,10}\Z", words[at_pid]):
        return "Not Supported" in row
    gpu = _by_index(gpus, int(words[0]))
    if gpu is not None and len(gpu.processes) < _MAX_ROWS:
        memory = re.match(r"(\d{1,9}Mi?B)\Z", words[-1])
        gpu.processes.append(NvidiaProcess(to_bytes(memory.group(1)) if memory else None, at, int(words[at_pid])))
    return True


def _by_index(gpus: list[_Gpu], index: int) -> _Gpu | None:
    return next((gpu for gpu in gpus if gpu.index == index), None)
