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
from rocdoctor.parsers.amd.smi_links import LinkTable, SmiLink
from rocdoctor.parsers.formats.gpu_reading import BlockErrors, GpuReading
from rocdoctor.parsers.formats.json_text import JsonText, load_json
from rocdoctor.parsers.formats.text import lines_of, value_of

MAX_GPUS = 1024


@dataclass(frozen=True, slots=True)
class RocmSmi:
    """What one run of rocm-smi said.

    The index of a GPU is the tool's own (cardN, GPU[N]), ordered by PCI address. Of a GPU beside what are facts as they
    stand: ``gpu_id``, that of KFD; ``numa`` and ``numa_affinity``, -1 where the tool says that there is none;
    ``temps_c``, a value a sensor (edge, junction, memory, hbm 0, ...); ``blocks``, error counts by block.
    """

    form: str  # "table", "sections", "json" or "none"
    gpus: tuple[GpuReading, ...] = ()
    links: tuple[SmiLink, ...] = ()
    driver_version: str | None = None
    complete: bool = False
    lines: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Reading:
    gpus: dict[int, GpuReading] = field(default_factory=dict)
    links: LinkTable = field(default_factory=LinkTable)
    top: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def gpu(self, index: int, line: int) -> GpuReading | None:
        if index not in self.gpus:
            if len(self.gpus) >= MAX_GPUS or index < 0:
                return None
            self.gpus[index] = GpuReading(line, index)
        return self.gpus[index]

    def put(self, gpu: GpuReading, fields: dict[str, Any], line: int) -> None:
        for name, value in fields.items():
            gpu.put(name, value, line)


_GPU_LINE = regex(r"\s*GPU\[(\d{1,4})\]\s{0,40}:\s{0,10}(.*)\Z")
_TITLE = regex(r"[=_ -]{2,}\s{0,3}([A-Za-z%][^=]{0,80}?)\s{0,3}=+\s*\Z")
_PAIR = regex(r"(.{1,80}?) between (?:DRM devices|two GPUs) (\d{1,4}) and (\d{1,4})\Z")
# Titles of link tables, and what of a link they tell where it is read.
_LINK_TITLES = {
    "weight": "weight",
    "hops": "hops",
    "link type": "type",
    "link accessibility": "",
    "bandwidth": "",
    "min-max bandwidth": "",
}


def parse_rocm_smi(text: str) -> RocmSmi:
    """Everything in one output of rocm-smi (table, sections with --show..., or --json); nothing in it is all None."""
    reading = _Reading()
    found = load_json(text)
    if found is not None and _is_rocm_smi_json(found):
        _read_json(found, reading)
        form, complete = "json", found.complete
    else:
        form, complete = _read_text(lines_of(text), reading)
    gpus = tuple(gpu for _, gpu in sorted(reading.gpus.items()))
    return RocmSmi(
        form,
        gpus,
        reading.links.links(),
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
        if match is not None:
            reading.gpu(int(match.group(1)), found.line_of(card))


def _system(key: str, value: str, line: int, reading: _Reading) -> None:
    pair = _PAIR.match(key)
    if pair:
        kind = pair.group(1).removeprefix("(Topology)").strip().lower()
        if _LINK_TITLES.get(kind):
            reading.links.add(int(pair.group(2)), int(pair.group(3)), _LINK_TITLES[kind], value, line)
    elif key.lower() == "driver version" and (version := value_of(value)):
        reading.top.setdefault("driver_version", version)
        reading.lines.setdefault("driver_version", line)


def _read_text(lines: list[str], reading: _Reading) -> tuple[str, bool]:
    title, form, complete = "", "none", False
    columns: list[str] | None = None
    table_gpu: GpuReading | None = None
    ras_gpu: GpuReading | None = None
    for number, line in enumerate(lines, 1):
        match = _GPU_LINE.match(line)
        if match:
            gpu = reading.gpu(int(match.group(1)), number)
            if "PAGES INFO" in match.group(2) or "RAS INFO" in match.group(2):
                ras_gpu = gpu
            elif gpu is not None:
                form = "sections"
                key, separator, value = match.group(2).partition(": ")
                if separator and not title.startswith("supported clock"):
                    reading.put(gpu, read_key(key, value), number)
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
            ras_gpu.put("blocks", {block[0]: BlockErrors(number, block[1], block[2])}, number)
            continue
        if line.lower().startswith("driver version:"):
            _system("driver version", line.partition(":")[2], number, reading)
    return form, complete
