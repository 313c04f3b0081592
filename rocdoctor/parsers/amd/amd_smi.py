"""The output of ``amd-smi`` (static, metric, list, topology, partition, bad-pages, process, version, firmware, xgmi).

JSON and indented text are brought to one tree, so every release and both forms share one table of fields; tables are
read apart.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.amd.amd_smi_fields import read_fields
from rocdoctor.parsers.amd.amd_smi_tables import read_tables
from rocdoctor.parsers.amd.amd_smi_tree import read_tree
from rocdoctor.parsers.amd.smi_links import LinkTable, SmiLink
from rocdoctor.parsers.formats.gpu_reading import BlockErrors, GpuReading
from rocdoctor.parsers.formats.json_text import Json, JsonText, Path, load_json
from rocdoctor.parsers.formats.text import lines_of, to_bytes, to_int, value_of

MAX_GPUS = 1024
MAX_LIST = 10_000

_DRIVER = regex(r"amdgpu version: (\S{1,60})")


@dataclass(frozen=True, slots=True)
class AmdSmiProcess:
    """One process on one GPU, and the memory that it holds there."""

    gpu: int
    line: int
    vram_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class AmdSmi:
    """What one run of amd-smi said.

    Of a GPU (or partition) beside what are facts as they stand: ``vendor_id``, ``device_id``, ``subvendor_id`` and
    ``subdevice_id``, 4 hex digits as lspci prints them; ``gpu_id``, that of KFD; ``numa`` and ``numa_affinity``, -1
    where the tool says that there is none; ``temps_c`` and ``limit_temps_c``, a value a sensor under the kernel's names
    (edge, junction, memory); ``violations``, each throttle reason (prochot, ppt, socket_thermal, ...), True while it
    limits the GPU; ``blocks``, error counts by block.

    ``no_processes`` is True only where it said so. ``complete`` is None for text: it has no end mark.
    """

    gpus: tuple[GpuReading, ...] = ()
    links: tuple[SmiLink, ...] = ()
    processes: tuple[AmdSmiProcess, ...] = ()
    no_processes: bool = False
    driver_version: str | None = None
    complete: bool | None = None
    lines: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Reading:
    gpus: dict[int, GpuReading] = field(default_factory=dict)
    links: LinkTable = field(default_factory=LinkTable)
    processes: list[AmdSmiProcess] = field(default_factory=list)
    top: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def put(self, index: int, name: str, value: Any, line: int) -> None:
        if 0 <= index < MAX_GPUS:
            self.gpus.setdefault(index, GpuReading(line, index)).put(name, value, line)


def parse_amd_smi(text: str) -> AmdSmi:
    """Everything in one output of amd-smi, whichever sub-command and form it is; nothing in it is all None."""
    reading = _Reading()
    lines = lines_of(text)
    found = load_json(text)
    complete: bool | None = None
    if found is not None and _is_ours(found):
        complete = found.complete
        _read_tree(found, reading)
        messages = [*found.before, *found.after]
    else:
        tree = read_tree(lines)
        if tree is not None:
            _read_tree(tree, reading)
        for kind, key, values, line in read_tables(lines):
            if kind == "gpu":
                for name, value in values.items():
                    reading.put(key, name, value, line)
            elif kind == "link":
                for name, value in values.items():
                    reading.links.add(key[0], key[1], name, value, line)
            else:
                _add(reading.processes, AmdSmiProcess(key, line, to_bytes(values["vram"])))
        messages = lines
    for number, entry in enumerate(messages, 1):
        _message(entry, number, reading)
    return AmdSmi(
        tuple(gpu for _, gpu in sorted(reading.gpus.items())),
        reading.links.links(),
        tuple(reading.processes),
        complete=complete,
        lines=reading.lines,
        **reading.top,
    )


def _is_ours(found: JsonText) -> bool:
    return any(True for _ in _records(found)) or any(True for _ in _tool_records(found))


def _containers(found: JsonText) -> Iterator[tuple[Path, dict[str, Json]]]:
    """The objects at the places where releases put a record: the top, a list, or a list under a name."""
    todo: deque[tuple[Path, Json]] = deque([((), found.value)])
    while todo:
        path, value = todo.popleft()
        if isinstance(value, list):
            todo.extend(((*path, place), entry) for place, entry in enumerate(value[:MAX_LIST]))
        elif isinstance(value, dict):
            yield path, value
            if len(path) < 3 and _index(value) is None:
                todo.extend(((*path, key), entry) for key, entry in list(value.items())[:64] if isinstance(entry, list))


def _index(record: dict[str, Json]) -> int | None:
    raw = record.get("gpu", record.get("gpu_id"))
    return to_int(raw) if isinstance(raw, (int, str)) else None


def _records(found: JsonText) -> Iterator[tuple[Path, int, dict[str, Json]]]:
    for path, record in _containers(found):
        index = _index(record)
        if index is not None and 0 <= index < MAX_GPUS:
            yield path, index, record


def _tool_records(found: JsonText) -> Iterator[tuple[Path, dict[str, Json]]]:
    for path, record in _containers(found):
        if {"amdsmi_library_version", "rocm_version", "tool"} & record.keys():
            yield path, record


def _read_tree(found: JsonText, reading: _Reading) -> None:
    for path, record in _tool_records(found):
        raw = record.get("amdgpu_version")
        if isinstance(raw, str) and (version := value_of(raw)):
            reading.top.setdefault("driver_version", version)
            reading.lines.setdefault("driver_version", found.line_of(*path, "amdgpu_version"))
    for path, index, record in _records(found):
        reading.put(index, "smi_index", index, found.line_of(*path))
        for name, value, place in read_fields(record):
            line = found.line_of(*path, *place)
            if name == "blocks":
                value = {block: BlockErrors(line, *counts) for block, counts in value.items()}
            reading.put(index, name, value, line)
        _links(found, path, index, record, reading)
        _processes(found, path, index, record, reading)


def _links(found: JsonText, path: Path, index: int, record: dict[str, Json], reading: _Reading) -> None:
    links = record.get("links")
    for place, link in enumerate(links[:MAX_GPUS] if isinstance(links, list) else []):
        other = _index(link) if isinstance(link, dict) else None
        if other is None or not isinstance(link, dict):
            continue
        line = found.line_of(*path, "links", place)
        for key, name in (
            ("weight", "weight"),
            ("num_hops", "hops"),
            ("link_type", "type"),
        ):
            reading.links.add(index, other, name, link.get(key), line)


def _processes(found: JsonText, path: Path, index: int, record: dict[str, Json], reading: _Reading) -> None:
    entries: list[tuple[Path, Json]] = [
        ((key,), value)
        for key, value in list(record.items())[:MAX_LIST]
        if key.startswith(("process_info", "process info"))
    ]
    listed = record.get("process_list", record.get("processes"))
    if isinstance(listed, list):
        entries += [(("process_list", place), entry) for place, entry in enumerate(listed[:MAX_LIST])]
    for place, entry in entries:
        if isinstance(entry, dict) and "process_info" in entry:
            entry = entry["process_info"]
        if isinstance(entry, str) and "no running process" in entry.lower():
            reading.top["no_processes"] = True
        pid = to_int(entry.get("pid")) if isinstance(entry, dict) else None
        if pid is None or not isinstance(entry, dict):
            continue
        memory = entry.get("memory_usage")
        vram = memory.get("vram_mem") if isinstance(memory, dict) else None
        _add(reading.processes, AmdSmiProcess(index, found.line_of(*path, *place), to_bytes(vram)))


def _add(entries: list[Any], entry: Any) -> None:
    if len(entries) < MAX_LIST:
        entries.append(entry)


def _message(line: str, number: int, reading: _Reading) -> None:
    word = line.strip()[:500]
    if "driver_version" not in reading.top and (match := _DRIVER.search(word)):
        version = value_of(match.group(1).strip("|"))
        if version:
            reading.top["driver_version"] = version
            reading.lines.setdefault("driver_version", number)
    if re.search(r"No running processes (?:found|detected)", word):
        reading.top.setdefault("no_processes", True)
