"""The tables of amd-smi's text output: the overview of release 7, topology, partitions, xGMI link states."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import gfx_name, number, pci_address, to_int, value_of

_BDF = r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
_BDF_HEADER = regex(rf"\s+{_BDF}(?:\s+{_BDF})*\s*\Z")
_BDF_ROW = regex(rf"\s*({_BDF})\s+(\S.*)\Z")
_TITLE = regex(r"\s*([A-Z][A-Z_ -]{2,40}?)(?: TABLE)?:\s*\Z")
# Titles of link tables, and what of a link they tell where it is read.
_LINK_TITLES = {
    "ACCESS": "",
    "NUMA BW": "",
    "WEIGHT": "weight",
    "HOPS": "hops",
    "LINK TYPE": "type",
}
_XGMI = regex(
    rf"\s*GPU(\d{{1,4}})\s+({_BDF})\s+"
    r"(?:\d{1,5} Gb/s\s+\d{1,6} Gb/s|(?:(?:U|D|X|R|SELF|N/A)\s*){1,64}\Z)"
)
_TOP_FIRST = regex(rf"\|\s*({_BDF})\s{{1,60}}([^|]{{1,60}}?)\s{{0,60}}\|([^|]{{1,80}})\|")
_TOP_SECOND = regex(
    r"\|\s*(\d{1,4})\s+(\d{1,4}|N/A)\s+(\d{1,4}|N/A)\s+(?:N/A|([A-Z]{2,4}[0-9]{0,2})(?:/(\w{2,6}|N/A))?)\s*"
    r"\|([^|]{1,80})\|"
)
_TOP_PROCESS = regex(r"\|\s*(\d{1,4})\s+(\d{1,10})\s+(\S{1,100})\s+([0-9.]{1,12} ?[KMGT]?B)\s+([0-9.]{1,12} ?[KMGT]?B)")

# What the tables give: ("gpu", index, fields), ("link", (a, b), {field: cell}), ("process", gpu, fields)
Entry = tuple[str, Any, dict[str, Any], int]


def read_tables(lines: list[str]) -> Iterator[Entry]:
    """Every row of a known table, with its 1-based line."""
    title = ""
    columns: list[str] = []
    order: dict[str, int] = {}
    first: tuple[dict[str, Any], int] | None = None
    for number_, line in enumerate(lines, 1):
        if len(line) > 20_000 or not line.strip():
            continue
        if line.lstrip().startswith("|"):
            yield from _overview_process(line, number_)
            if match := _TOP_FIRST.match(line.strip()):
                first = (_overview_first(match), number_)
            elif first and (second := _TOP_SECOND.match(line.strip())):
                yield "gpu", int(second.group(1)), {**first[0], **_overview_second(second)}, first[1]
                first = None
            continue
        if match := _TITLE.match(line):
            title, columns = match.group(1).strip(), []
            continue
        if line.split()[0] in ("GPU_ID", "GPU_ID,"):
            columns = [name.lower() for name in line.split()]
            continue
        if columns and columns[0] == "gpu_id":
            yield from _partition_row(line, columns, number_)
            continue
        if title in _LINK_TITLES and _BDF_HEADER.match(line):
            columns = [pci_address(word) or word for word in line.split()]
            for place, address in enumerate(columns):
                if order.setdefault(address, place) == place:
                    yield "gpu", place, {"bdf": address}, number_
            continue
        if title in _LINK_TITLES and columns and (match := _BDF_ROW.match(line)):
            row = order.get(pci_address(match.group(1)) or "")
            for address, cell in zip(columns, match.group(2).split(), strict=False):
                if row is not None and _LINK_TITLES[title]:
                    yield "link", (row, order[address]), {_LINK_TITLES[title]: cell}, number_
            continue
        if match := _XGMI.match(line):
            yield "gpu", int(match.group(1)), {"bdf": pci_address(match.group(2))}, number_


def _partition_row(line: str, columns: list[str], number_: int) -> Iterator[Entry]:
    cells = line.split()
    index = to_int(cells[0])
    if index is None or len(cells) != len(columns):
        return
    row = dict(zip(columns, cells, strict=True))
    names = {
        "memory": "partition.memory",
        "current_memory_partition": "partition.memory",
        "accelerator_type": "partition.compute",
    }
    yield "gpu", index, {name: value_of(row[column]) for column, name in names.items() if column in row}, number_


def _overview_first(match: re.Match[str]) -> dict[str, Any]:
    """``BDF  GPU-Name | Mem-Uti  Temp  UEC  Power-Usage`` of release 7."""
    fields: dict[str, Any] = {"bdf": pci_address(match.group(1)), "name": value_of(match.group(2))}
    right = match.group(3)
    # The sensor behind "Temp" differs with the GPU (edge, else hotspot), so it has no sensor's name here.
    if degrees := re.search(r"([0-9.]{1,8}) ?°?C\b", right):
        fields["temps_c"] = {"shown": number(degrees.group(1))}
    if power := re.search(r"([0-9.]{1,8}|N/A)/([0-9.]{1,8}|N/A) ?W\b", right):
        fields["power.now_w"] = None if power.group(1) == "N/A" else number(power.group(1))
        fields["power.cap_w"] = None if power.group(2) == "N/A" else number(power.group(2))
    return fields


def _overview_second(match: re.Match[str]) -> dict[str, Any]:
    """``GPU  HIP-ID  OAM-ID  Partition-Mode | GFX-Uti  Fan  Mem-Usage`` of release 7."""
    right = match.group(6)
    fields: dict[str, Any] = {
        "hip_index": to_int(match.group(2)),
        "partition.compute": value_of(match.group(4)),
        "partition.memory": value_of(match.group(5)),
    }
    if memory := re.search(r"([0-9]{1,9})/([0-9]{1,9}) ?MB\b", right):
        fields["vram_used_bytes"] = int(memory.group(1)) << 20
        fields["vram_bytes"] = int(memory.group(2)) << 20
    return fields


def _overview_process(line: str, number_: int) -> Iterator[Entry]:
    match = _TOP_PROCESS.match(line.strip())
    if match and gfx_name(match.group(3)) is None:
        fields = {"vram": match.group(5)}
        yield "process", int(match.group(1)), fields, number_
