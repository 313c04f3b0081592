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


_COUNT = regex(r"\s{0,4}(ue|ce)\s{0,4}:\s{0,4}([0-9]{1,20})\s{0,4}\Z")
_PAGE = regex(r"\s{0,4}0x[0-9a-fA-F]{1,16}\s{0,4}:\s{0,4}0x[0-9a-fA-F]{1,16}\s{0,4}:\s{0,4}[RPF]\s{0,4}\Z")


@dataclass(frozen=True, slots=True)
class RasCount:
    """Errors of one block: uncorrectable and correctable."""

    uncorrectable: int | None
    correctable: int | None
    lines: dict[str, int]


def parse_err_count(text: str) -> RasCount | None:
    """A ras/*_err_count file: "ue: 0", "ce: 0"; "Query currently inaccessible" is None."""
    counts: dict[str, int] = {}
    lines: dict[str, int] = {}
    names = {"ue": "uncorrectable", "ce": "correctable"}
    for number, line in enumerate(lines_of(text, 100), start=1):
        if (match := _COUNT.match(line)) and names[match.group(1)] not in counts:
            counts[names[match.group(1)]] = int(match.group(2))
            lines[names[match.group(1)]] = number
    if not counts:
        return None
    return RasCount(counts.get("uncorrectable"), counts.get("correctable"), lines)


def parse_bad_pages(text: str) -> int | None:
    """How many pages ras/gpu_vram_bad_pages lists ("0x00000001 : 0x00001000 : R" a page); None for another text.

    R is taken out of use, P will be at the next chance, F could not be (amdgpu_ras.c). An empty file means that no page
    was retired, provided that it was read whole.
    """
    text = text.strip("\x00")
    count = sum(_PAGE.match(line) is not None for line in lines_of(text, _MAX_PAGES))
    return count if count or not text.strip() else None


def parse_fw_version(files: Mapping[str, str]) -> dict[str, int]:
    """Versions by name from the files of fw_version/ ("mec_fw_version" -> "mec"); unreadable ones are left out."""
    found: dict[str, int] = {}
    for file_name, text in list(files.items())[:200]:
        number = hex_int(value_of(text) or "")
        name = file_name.rpartition("/")[2].removesuffix("_fw_version").lower()
        if number is not None and 0 <= number < 1 << 64 and name:
            found[name] = number
    return found
