"""The tables that rocm-smi prints: the concise overview of several releases, link matrices, error correction counts."""

from __future__ import annotations

import re
from typing import Any

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.amd.rocm_smi_keys import read_key
from rocdoctor.parsers.formats.text import number, pci_address, quantity, to_gt_s, to_int, to_width, value_of

# Names of two words first; everything else in a header is one word.
_HEADER_WORD = regex(
    r"\[Model : Revision\]|Temp \(\w{1,20}\)|SCLK OD|MCLK OD|GFX RAS|SDMA RAS|UMC RAS|GFX VER|PARTITION ID|\S{1,40}"
)
_ROW_CELL = regex(r"\[[^\]\n]{1,40}\]|[^\s,]{1,80}(?:,\s{0,12}[^\s,]{1,80}){0,3}")
_MATRIX_ROW = regex(r"\s*GPU(\d{1,4})\s+(?!GPU)(\S.*)\Z")
_RAS_ROW = regex(
    r"\s*([A-Z][A-Z0-9_]{1,24})\s+(?:ENABLED|DISABLED|NONE|PARITY|SINGLE_C|MULTI_UC|POISON|UNKNOWN ERROR)\b"
    r"(?:\s+(\d{1,18}))?(?:\s+(\d{1,18}))?\s*\Z"
)


def header_of(line: str) -> list[str] | None:
    """The column names of a concise table, in lower case, where this line is its header."""
    word = line.strip()
    if not re.match(r"(?:GPU|Device)\s", word) or len(word) > 400:
        return None
    columns = [name.lower() for name in _HEADER_WORD.findall(word)]
    known = {"temp", "avgpwr", "power", "sclk", "mclk", "perf", "pwrcap", "vbios", "bus", "did"}
    if len(columns) < 4 or not known & {re.split(r"[ (]", name)[0] for name in columns}:
        return None
    return ["[model" if name.startswith("[model") else name for name in columns]


def refine_header(line: str, columns: list[str]) -> None:
    """The second header line of release 6 and later names the sensors: "(Junction)  (Socket)"; noted in place."""
    lower = line.lower()
    for place, column in enumerate(columns):
        if column == "temp":
            sensor = re.search(r"\((junction|edge|memory|hotspot)\)", lower)
            if sensor:
                columns[place] = f"temp ({sensor.group(1)})"


def row_of(line: str, columns: list[str]) -> tuple[int, dict[str, Any]] | None:
    """The device number and fields of one row; None where the line is no row of this table."""
    if len(line) > 600 or not re.match(r"\s*\d{1,4}\s", line):
        return None
    cells = _ROW_CELL.findall(line)
    index = to_int(cells[0]) if cells else None
    if index is None:
        return None
    if len(cells) != len(columns):
        # A row of another shape: the number is sure, which cell belongs where is not.
        return (index, {}) if len(cells) > 3 else None
    fields: dict[str, Any] = {}
    for column, cell in zip(columns[1:], cells[1:], strict=True):
        for name, value in _cell(column, cell).items():
            if isinstance(value, dict):
                fields.setdefault(name, {}).update(value)
            elif value is not None:
                fields.setdefault(name, value)
    return index, fields


def _cell(column: str, cell: str) -> dict[str, Any]:
    name, _, detail = column.partition(" ")
    parts = [part.strip() for part in cell.strip("[]").split(":" if name == "[model" else ",")]
    if name == "temp":
        degrees = number(cell) if value_of(cell) else None
        # Without a name it is the edge sensor, the only one that releases before 5.6 showed here.
        sensor = {"": "edge", "(dieedge)": "edge", "(hotspot)": "junction"}.get(detail, detail.strip("()"))
        return {} if degrees is None else {"temps_c": {sensor: degrees}}
    if name in ("avgpwr", "power"):
        watts = number(cell) if value_of(cell) else None
        return {} if watts is None else {"power.now_w": watts}
    if name in ("sclk", "mclk") and not detail:
        clock = quantity(cell)
        return {f"clocks_mhz.{name}": clock[0]} if clock and clock[1].lower() == "mhz" else {}
    if name == "pclk":
        return {
            "pcie.device.speed_gt_s": to_gt_s(parts[0]),
            "pcie.device.width": to_width(parts[1]) if len(parts) > 1 else None,
        }
    if name in ("ids", "[model"):
        found = read_key("device id", parts[0])
        if len(parts) > 1 and name == "ids":
            found.update(read_key("guid", parts[1]))
        return found
    if name == "partitions":
        found = read_key("memory partition", parts[0])
        if len(parts) > 1:
            found.update(read_key("compute partition", parts[1]))
        return found
    if name == "bus":
        return {"bdf": pci_address(cell)}
    key = _CELL_KEYS.get(column)
    return read_key(key, cell) if key else {}


_CELL_KEYS = {
    "node": "node id",
    "did": "device id",
    "guid": "guid",
    "perf": "performance level",
    "pwrcap": "max graphics package power (w)",
    "vram%": "gpu memory allocated (vram%)",
    "gpu%": "gpu use (%)",
    "vbios": "vbios version",
    "gfx ver": "gfx version",
}


def matrix_row(line: str) -> tuple[int, list[str]] | None:
    """The GPU number and the cells of one row of a link table ("GPU0   0   15   15")."""
    match = _MATRIX_ROW.match(line) if len(line) < 20_000 else None
    return (int(match.group(1)), match.group(2).split()) if match else None


def ras_row(line: str) -> tuple[str, int | None, int | None] | None:
    """Block, correctable and uncorrectable count of one row of the RAS table.

    The counts are printed correctable first in every release, also where the header of early ones says the opposite
    (rocm_smi.py 5.2.3, showRasInfo).
    """
    match = _RAS_ROW.match(line) if len(line) < 300 else None
    if match is None:
        return None
    correctable, uncorrectable = (int(count) if count else None for count in match.groups()[1:])
    return match.group(1), correctable, uncorrectable
