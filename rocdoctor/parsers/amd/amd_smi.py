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
from rocdoctor.parsers.amd.amd_smi_records import AmdSmi, AmdSmiGpu, AmdSmiProcess, BadPage, EccCount
from rocdoctor.parsers.amd.amd_smi_tables import read_tables
from rocdoctor.parsers.amd.amd_smi_tree import read_tree
from rocdoctor.parsers.amd.smi_links import LinkTable
from rocdoctor.parsers.formats.json_text import Json, JsonText, Path, load_json
from rocdoctor.parsers.formats.text import is_no_value, lines_of, to_bytes, to_int, value_of

__all__ = ["AmdSmi", "AmdSmiGpu", "AmdSmiProcess", "BadPage", "EccCount", "parse_amd_smi"]

MAX_GPUS = 1024
MAX_LIST = 10_000
MAX_MESSAGES = 200

_NO_DRIVER = regex(r"driver not initialized|amdgpu not found in modules|Unable to detect any GPU devices")
_ERROR = regex(
    r"\s*(?:ERROR\b|[\w.]{1,60}(?:Error|Exception): |AMDSMI_STATUS_\w{1,60}|Unable to |Command .{1,80} failed)"
)
_GROUPS = regex(r"missing the following required groups?:? ([\w, ]{1,100}?)(?:\.|\Z)")
_VERSIONS = {
    "tool_version": r"(?:AMDSMI Tool: |AMD-SMI )(\S{1,60})",
    "library_version": r"AMDSMI Library version: (\S{1,60})",
    "rocm_version": r"ROCm version: (\S{1,60})",
    "driver_version": r"amdgpu version: (\S{1,60})",
}
_VERSION_KEYS = {
    "version": "tool_version",
    "tool_version": "tool_version",
    "amdsmi_library_version": "library_version",
    "rocm_version": "rocm_version",
    "amdgpu_version": "driver_version",
}
_PAGE_STATES = {"retired": "retired", "pending": "pending", "un_res": "unreservable", "unreservable": "unreservable"}


@dataclass(slots=True)
class _Reading:
    gpus: dict[int, dict[str, Any]] = field(default_factory=dict)
    links: LinkTable = field(default_factory=LinkTable)
    processes: list[AmdSmiProcess] = field(default_factory=list)
    pages: list[BadPage] = field(default_factory=list)
    top: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

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
    form: str = "none"
    complete: bool | None = None
    if found is not None and _is_ours(found):
        form, complete = "json", found.complete
        _read_tree(found, reading)
        messages = [*found.before, *found.after]
    else:
        tree = read_tree(lines)
        if tree is not None:
            form = "text"
            _read_tree(tree, reading)
        for kind, key, values, line in read_tables(lines):
            form = "table" if form == "none" else form
            if kind == "gpu":
                for name, value in values.items():
                    reading.put(key, name, value, line)
            elif kind == "link":
                for name, value in values.items():
                    reading.links.add(key[0], key[1], name, value, line)
            else:
                sizes = to_bytes(values["vram"]), to_bytes(values["gtt"])
                _add(reading.processes, AmdSmiProcess(key, values["pid"], line, values["name"], *sizes))
        messages = lines
    for number, entry in enumerate(messages, 1):
        _message(entry, number, reading)
    if reading.gpus:
        reading.top.setdefault("driver_loaded", True)
    return AmdSmi(
        form,
        tuple(AmdSmiGpu(**values) for _, values in sorted(reading.gpus.items())),
        reading.links.links(),
        tuple(reading.processes),
        bad_pages=tuple(reading.pages),
        warnings=tuple(reading.warnings),
        errors=tuple(reading.errors),
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
        for key, name in _VERSION_KEYS.items():
            raw = record.get(key)
            if isinstance(raw, str) and (version := value_of(raw)):
                reading.top.setdefault(name, version)
                reading.lines.setdefault(name, found.line_of(*path, key))
    for path, index, record in _records(found):
        reading.put(index, "index", index, found.line_of(*path))
        for name, value, place in read_fields(record):
            reading.put(index, name, value, found.line_of(*path, *place))
        _links(found, path, index, record, reading)
        _processes(found, path, index, record, reading)
        _pages(found, path, index, record, reading)


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
            ("link_status", "accessible"),
            ("bandwidth", "bandwidth"),
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
        name = entry.get("name")
        memory = entry.get("memory_usage")
        memory = memory if isinstance(memory, dict) else {}
        process = AmdSmiProcess(
            index,
            pid,
            found.line_of(*path, *place),
            value_of(name) if isinstance(name, str) else None,
            to_bytes(memory.get("vram_mem")),
            to_bytes(memory.get("gtt_mem")),
        )
        _add(reading.processes, process)


def _pages(found: JsonText, path: Path, index: int, record: dict[str, Json], reading: _Reading) -> None:
    for key, state in _PAGE_STATES.items():
        pages = record.get(key)
        if isinstance(pages, str) and "no bad pages" in pages.lower():
            reading.top["no_bad_pages"] = True
        entries = list(pages.values()) if isinstance(pages, dict) else pages if isinstance(pages, list) else []
        if isinstance(pages, dict) and "page_address" in pages:
            entries = [pages]
        for place, page in enumerate(entries[:MAX_LIST]):
            address = page.get("page_address") if isinstance(page, dict) else None
            if isinstance(page, dict) and address is not None and not is_no_value(str(address)):
                line = found.line_of(*path, key, place)
                _add(reading.pages, BadPage(index, state, line, str(address)[:40], to_bytes(page.get("page_size"))))
    if reading.pages:
        # One GPU without bad pages says nothing about the next.
        reading.top.pop("no_bad_pages", None)


def _add(entries: list[Any], entry: Any) -> None:
    if len(entries) < MAX_LIST:
        entries.append(entry)


def _message(line: str, number: int, reading: _Reading) -> None:
    word = line.strip()[:500]
    for name, pattern in _VERSIONS.items():
        if "version" in word and name not in reading.top and (match := re.search(pattern, word)):
            version = value_of(match.group(1).strip("|"))
            if version:
                reading.top[name] = version
                reading.lines.setdefault(name, number)
    if _NO_DRIVER.search(word):
        reading.top.setdefault("driver_loaded", False)
        reading.lines.setdefault("driver_loaded", number)
    if match := _GROUPS.search(word):
        groups = [group.strip() for group in re.split(r",| and ", match.group(1))]
        reading.top.setdefault("missing_groups", tuple(group for group in groups if group))
    if re.search(r"No running processes (?:found|detected)", word):
        reading.top.setdefault("no_processes", True)
    if re.match(r"WARN(?:ING)?\b", word, re.IGNORECASE):
        if len(reading.warnings) < MAX_MESSAGES:
            reading.warnings.append(word)
    elif _ERROR.match(word) and len(reading.errors) < MAX_MESSAGES:
        reading.errors.append(word)
