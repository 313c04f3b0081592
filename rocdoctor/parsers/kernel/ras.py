"""Error counts, retired pages and firmware versions of an amdgpu device.

Formats: amdgpu_ras.c, amdgpu_kms.c and amdgpu_ucode.c of the kernel (Linux 5.1 to 7.1). On most GPUs reading a count
also clears it in the hardware, and the driver keeps the sum: a count is since the driver was loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import hex_int, lines_of, value_of

_MAX_PAGES = 100_000


_COUNT = regex(r"\s{0,4}(ue|ce|de)\s{0,4}:\s{0,4}([0-9]{1,20})\s{0,4}\Z")
_PAGE = regex(r"\s{0,4}0x([0-9a-fA-F]{1,16})\s{0,4}:\s{0,4}0x([0-9a-fA-F]{1,16})\s{0,4}:\s{0,4}([RPF])\s{0,4}\Z")
_PAGE_STATES = {"R": "reserved", "P": "pending", "F": "unreservable"}


@dataclass(frozen=True, slots=True)
class RasCount:
    """Errors of one block: uncorrectable, correctable, deferred (newer kernels, memory only)."""

    uncorrectable: int | None
    correctable: int | None
    deferred: int | None
    lines: dict[str, int]


@dataclass(frozen=True, slots=True)
class BadPage:
    """A VRAM page taken out of use: "reserved", "pending" (taken at the next chance) or "unreservable" (in use)."""

    page: int
    size_bytes: int
    state: str
    line: int


@dataclass(frozen=True, slots=True)
class Firmware:
    """A firmware image: ``version`` as a number (0: none loaded), ``text`` "54.86.0" where the kernel prints it so."""

    name: str
    feature_version: int | None
    version: int
    text: str | None
    line: int | None


def parse_err_count(text: str) -> RasCount | None:
    """A ras/*_err_count file: "ue: 0", "ce: 0" and on newer kernels "de: 0"; "Query currently inaccessible" is None."""
    counts: dict[str, int] = {}
    lines: dict[str, int] = {}
    names = {"ue": "uncorrectable", "ce": "correctable", "de": "deferred"}
    for number, line in enumerate(lines_of(text, 100), start=1):
        if (match := _COUNT.match(line)) and names[match.group(1)] not in counts:
            counts[names[match.group(1)]] = int(match.group(2))
            lines[names[match.group(1)]] = number
    if not counts:
        return None
    return RasCount(counts.get("uncorrectable"), counts.get("correctable"), counts.get("deferred"), lines)


def parse_bad_pages(text: str) -> tuple[BadPage, ...] | None:
    """ras/gpu_vram_bad_pages: "0x00000001 : 0x00001000 : R" a page; empty text is () and anything else None.

    An empty file means that no page was retired, provided that it was read whole.
    """
    pages: list[BadPage] = []
    text = text.strip("\x00")
    for number, line in enumerate(lines_of(text, _MAX_PAGES), start=1):
        if match := _PAGE.match(line):
            state = _PAGE_STATES[match.group(3)]
            pages.append(BadPage(int(match.group(1), 16), int(match.group(2), 16), state, number))
    return tuple(pages) if pages or not text.strip() else None


def parse_fw_version(files: Mapping[str, str]) -> dict[str, Firmware]:
    """Firmware by name from the files of fw_version/ ("mec_fw_version" -> "mec"); unreadable ones are left out."""
    found: dict[str, Firmware] = {}
    for file_name, text in list(files.items())[:200]:
        number = hex_int(value_of(text) or "")
        name = file_name.rpartition("/")[2].removesuffix("_fw_version").lower()
        if number is not None and 0 <= number < 1 << 64 and name:
            found[name] = Firmware(name, None, number, None, None)
    return found
