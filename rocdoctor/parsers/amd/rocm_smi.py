"""The output of ``rocm-smi`` in its three forms: the concise table, "GPU[0] : ..." sections, and JSON.

One reader for all releases: each form is brought to (GPU, key, value) and the keys to one spelling.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.amd import rocm_smi_tables as tables
from rocdoctor.parsers.amd.rocm_smi_keys import read_key
from rocdoctor.parsers.amd.rocm_smi_records import RasBlock, RocmSmi, RocmSmiGpu, SmiProcess
from rocdoctor.parsers.amd.smi_links import LinkTable
from rocdoctor.parsers.formats.json_text import JsonText, load_json
from rocdoctor.parsers.formats.text import lines_of, to_bytes, to_int, value_of

__all__ = ["RasBlock", "RocmSmi", "RocmSmiGpu", "SmiProcess", "parse_rocm_smi"]

MAX_GPUS = 1024
MAX_MESSAGES = 200


@dataclass(slots=True)
class _Reading:
    gpus: dict[int, dict[str, Any]] = field(default_factory=dict)
    links: LinkTable = field(default_factory=LinkTable)
    processes: list[SmiProcess] = field(default_factory=list)
    top: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def gpu(self, index: int, line: int) -> dict[str, Any] | None:
        if index not in self.gpus:
            if len(self.gpus) >= MAX_GPUS or index < 0:
                return None
            self.gpus[index] = {"index": index, "line": line, "lines": {}}
        return self.gpus[index]

    def put(self, gpu: dict[str, Any], fields: dict[str, Any], line: int) -> None:
        for name, value in fields.items():
            if isinstance(value, dict):
                known = gpu.setdefault(name, {})
                if len(known) < 256:
                    known.update({key: entry for key, entry in value.items() if key not in known})
            elif value is None or name in gpu:
                continue
            else:
                gpu[name] = value
            gpu["lines"].setdefault(name, line)


_GPU_LINE = regex(r"\s*GPU\[(\d{1,4})\]\s{0,40}:\s{0,10}(.*)\Z")
_TITLE = regex(r"[=_ -]{2,}\s{0,3}([A-Za-z%][^=]{0,80}?)\s{0,3}=+\s*\Z")
_PAIR = regex(r"(.{1,80}?) between (?:DRM devices|two GPUs) (\d{1,4}) and (\d{1,4})\Z")
_WARNING = regex(r"\s*(?:WARNING|WARN)\b", re.IGNORECASE)
_ERROR = regex(r"\s*(?:ERROR\b|rsmi_\w{1,60}\(|Unable to |No AMD GPUs|cat: /sys/module/amdgpu|Exception caught)")
_NO_DRIVER = regex(r"driver not initialized|amdgpu not found in modules|/sys/module/amdgpu/initstate: No such file")
_LINK_TITLES = {
    "weight": "weight",
    "hops": "hops",
    "link type": "type",
    "link accessibility": "accessible",
    "bandwidth": "bandwidth",
    "min-max bandwidth": "bandwidth",
}


def parse_rocm_smi(text: str) -> RocmSmi:
    """Everything in one output of rocm-smi (table, sections with --show..., or --json); nothing in it is all None."""
    reading = _Reading()
    found = load_json(text)
    if found is not None and _is_rocm_smi_json(found):
        _read_json(found, reading)
        form, complete = "json", found.complete
        for number, entry in enumerate((*found.before, *found.after), 1):
            _message(entry, number, reading)
    else:
        form, complete = _read_text(lines_of(text), reading)
    if reading.gpus:
        reading.top.setdefault("driver_loaded", True)
    gpus = tuple(RocmSmiGpu(**values) for _, values in sorted(reading.gpus.items()))
    return RocmSmi(
        form,
        gpus,
        reading.links.links(),
        tuple(reading.processes),
        warnings=tuple(reading.warnings),
        errors=tuple(reading.errors),
        complete=complete,
        lines=reading.lines,
        **reading.top,
    )


def _is_rocm_smi_json(found: JsonText) -> bool:
    return isinstance(found.value, dict) and any(re.match(r"(?:card\d{1,4}|system)\Z", key) for key in found.value)


def _read_json(found: JsonText, reading: _Reading) -> None:
    cards = found.value if isinstance(found.value, dict) else {}
    for card, values in cards.items():
        if not isinstance(values, dict):
            continue
        match = re.match(r"card(\d{1,4})\Z", card)
        for key, value in values.items():
            line = found.line_of(card, key)
            word = (
                value
                if isinstance(value, str)
                else ("" if value is None or isinstance(value, (dict, list)) else str(value))
            )
            if match is None:
                _system(key, word, line, reading)
            elif (gpu := reading.gpu(int(match.group(1)), found.line_of(card))) is not None:
                reading.put(gpu, read_key(key, word), line)
                _level(gpu, key, word, line)
        if match is not None:
            reading.gpu(int(match.group(1)), found.line_of(card))


def _system(key: str, value: str, line: int, reading: _Reading) -> None:
    pair = _PAIR.match(key)
    if pair:
        kind = pair.group(1).removeprefix("(Topology)").strip().lower()
        if kind in _LINK_TITLES:
            reading.links.add(int(pair.group(2)), int(pair.group(3)), _LINK_TITLES[kind], value, line)
    elif key.lower() == "driver version" and (version := value_of(value)):
        reading.top.setdefault("driver_version", version)
        reading.lines.setdefault("driver_version", line)
    elif match := re.match(r"PID(\d{1,10})\Z", key):
        cells = [cell.strip() for cell in value.split(",")]
        _process([match.group(1), *cells], line, reading)


def _level(gpu: dict[str, Any], key: str, value: str, line: int) -> None:
    """The PCIe levels stand under bare numbers ("1": "16.0GT/s x16 *"), which clocks of other kinds may overwrite."""
    match = re.match(r"([0-9.]{1,6})GT/s,? x(\d{1,2})", value.strip()) if re.match(r"\d{1,2}\Z", key) else None
    if match and len(gpu.get("pcie_levels", ())) < 16:
        try:
            level = (float(match.group(1)), int(match.group(2)))
        except ValueError:
            return
        gpu["pcie_levels"] = (*gpu.get("pcie_levels", ()), level)
        gpu["lines"].setdefault("pcie_levels", line)


def _read_text(lines: list[str], reading: _Reading) -> tuple[str, bool]:
    title, form, complete = "", "none", False
    columns: list[str] | None = None
    table_gpu: dict[str, Any] | None = None
    ras_gpu: dict[str, Any] | None = None
    for number, line in enumerate(lines, 1):
        match = _GPU_LINE.match(line)
        if match:
            gpu = reading.gpu(int(match.group(1)), number)
            if "PAGES INFO" in match.group(2) or "RAS INFO" in match.group(2):
                ras_gpu = gpu
            elif gpu is not None:
                form = "sections"
                _section_line(gpu, title, match.group(2), number, reading)
            continue
        heading = _TITLE.match(line)
        if heading:
            title = heading.group(1).strip().lower()
            complete = complete or title.startswith("end of rocm smi log")
            columns = table_gpu = None
            continue
        if not line.strip():
            continue
        header = tables.header_of(line)
        if header:
            columns, title = header, "concise"
            continue
        if columns is not None:
            row = tables.row_of(line, columns)
            if row is not None:
                table_gpu = reading.gpu(row[0], number)
                if table_gpu is not None:
                    form = "table" if form == "none" else form
                    reading.put(table_gpu, row[1], number)
                continue
            if table_gpu is None:
                tables.refine_header(line, columns)
            elif "[model" in columns and line[:1] in " \t" and (name := value_of(line)) and len(name) < 100:
                reading.put(table_gpu, {"name": name}, number)
                continue
        kind = next((name for start, name in _LINK_TITLES.items() if title.startswith(start)), None)
        if kind and (cells := tables.matrix_row(line)):
            for other, cell in enumerate(cells[1]):
                reading.links.add(cells[0], other, kind, cell, number)
            continue
        if title == "ras info" and ras_gpu is not None and (block := tables.ras_row(line)):
            state = RasBlock(block[1], number, block[2], block[3])
            reading.put(ras_gpu, {"ras": {block[0]: state}}, number)
            continue
        if title.startswith("kfd processes") and re.match(r"\s*\d{1,10}\s", line):
            _process([cell for cell in re.split(r"\t| {2,}", line.strip()) if cell.strip()], number, reading)
            continue
        if line.startswith("No KFD PIDs"):
            reading.top["no_processes"] = True
        if line.lower().startswith("driver version:"):
            _system("driver version", line.partition(":")[2], number, reading)
            continue
        _message(line, number, reading)
    return form, complete


def _section_line(gpu: dict[str, Any], title: str, rest: str, line: int, reading: _Reading) -> None:
    key, separator, value = rest.partition(": ")
    if title.startswith("supported clock"):
        _level(gpu, key.strip(), value, line)
    elif separator:
        reading.put(gpu, read_key(key, value), line)


def _process(cells: list[str], line: int, reading: _Reading) -> None:
    pid = to_int(cells[0]) if cells else None
    if pid is None or len(reading.processes) >= 10_000:
        return
    rest = [value_of(cell) for cell in cells[1:]] + [None] * 4
    gpus = to_int(rest[1]) if rest[1] else None
    reading.processes.append(SmiProcess(pid, line, rest[0], gpus, to_bytes(rest[2]) if rest[2] else None))


def _message(line: str, number: int, reading: _Reading) -> None:
    word = line.strip()[:500]
    if _NO_DRIVER.search(word):
        reading.top.setdefault("driver_loaded", False)
        reading.lines.setdefault("driver_loaded", number)
    if _WARNING.match(word):
        if len(reading.warnings) < MAX_MESSAGES:
            reading.warnings.append(word)
        if "low-power state" in word:
            reading.top["low_power"] = True
    elif _ERROR.match(word) and len(reading.errors) < MAX_MESSAGES:
        reading.errors.append(word)
