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
from rocdoctor.parsers.amd.amd_smi_records import AmdSmi, AmdSmiGpu, AmdSmiProcess
from rocdoctor.parsers.amd.amd_smi_tables import read_tables
from rocdoctor.parsers.amd.amd_smi_tree import read_tree
from rocdoctor.parsers.amd.smi_links import LinkTable
from rocdoctor.parsers.formats.json_text import Json, JsonText, Path, load_json
from rocdoctor.parsers.formats.text import lines_of, to_bytes, to_int, value_of

MAX_GPUS = 1024
MAX_LIST = 10_000

_DRIVER = regex(r"amdgpu version: (\S{1,60})")


@dataclass(slots=True)
class _Reading:
    gpus: dict[int, dict[str, Any]] = field(default_factory=dict)
    links: LinkTable = field(default_factory=LinkTable)
    processes: list[AmdSmiProcess] = field(default_factory=list)
    top: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def put(self, index: int, name: str, value: Any, line: int) -> None:
        gpu = self.gpus.get(index)
        if gpu is None:
            if not 0 <= index < MAX_GPUS:
                return
            gpu = self.gpus[index] = {"index": index, "line": line, "lines": {}}
        if isinstance(value, dict):
            known = gpu.setdefault(name, {})
            if len(known) < 256:
                known.update({key: entry for key, entry in value.items() if key not in known})
        elif value is None or name in gpu:
            return
        else:
            gpu[name] = value
        gpu["lines"].setdefault(name, line)


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
        tuple(AmdSmiGpu(**values) for _, values in sorted(reading.gpus.items())),
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
        reading.put(index, "index", index, found.line_of(*path))
        for name, value, place in read_fields(record):
            reading.put(index, name, value, found.line_of(*path, *place))
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
