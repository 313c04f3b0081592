"""Error counts, retired pages and firmware versions of an amdgpu device.

Formats: amdgpu_ras.c, amdgpu_kms.c and amdgpu_ucode.c of the kernel (Linux 5.1 to 7.1). On most GPUs reading a count
also clears it in the hardware, and the driver keeps the sum: a count is since the driver was loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import hex_int, lines_of, to_int, value_of

_MAX_PAGES = 100_000

# Bit number of each block in the feature mask (ras_block_string in amdgpu_ras.c).
RAS_BLOCKS = (
    "umc", "sdma", "gfx", "mmhub", "athub", "pcie_bif", "hdp", "xgmi_wafl", "df", "smn", "sem", "mp0", "mp1", "fuse",
    "mca", "vcn", "jpeg", "ih", "mpio", "mmsch",
)  # fmt: skip

_MASK = regex(r"feature mask:\s{0,4}0x([0-9a-fA-F]{1,8})")
_COUNT = regex(r"\s{0,4}(ue|ce|de)\s{0,4}:\s{0,4}([0-9]{1,20})\s{0,4}\Z")
_PAGE = regex(r"\s{0,4}0x([0-9a-fA-F]{1,16})\s{0,4}:\s{0,4}0x([0-9a-fA-F]{1,16})\s{0,4}:\s{0,4}([RPF])\s{0,4}\Z")
_FIRMWARE = regex(
    r"(\S{1,20}(?: \S{1,30})?) feature version: (0x[0-9a-fA-F]{1,8}|[0-9]{1,10}),"
    r"(?: program: (-?[0-9]{1,10}),)? firmware version: 0x([0-9a-fA-F]{1,16})(?: \(([0-9.]{1,40})\))?"
)
_PAGE_STATES = {"R": "reserved", "P": "pending", "F": "unreservable"}


@dataclass(frozen=True, slots=True)
class RasCount:
    """Errors of one block: uncorrectable, correctable, deferred (newer kernels, memory only)."""

    uncorrectable: int | None
    correctable: int | None
    deferred: int | None
    lines: dict[str, int]


@dataclass(frozen=True, slots=True)
class RasFeatures:
    """The blocks with error reporting on, by the kernel's names; bits without a name are "bit 25"."""

    mask: int
    blocks: tuple[str, ...]


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


def parse_ras_features(text: str) -> RasFeatures | None:
    """ras/features: "feature mask: 0x5f"."""
    match = _MASK.search(text[:4096])
    if match is None:
        return None
    mask = int(match.group(1), 16)
    names = [
        RAS_BLOCKS[bit] if bit < len(RAS_BLOCKS) else f"bit {bit}"
        for bit in range(mask.bit_length())
        if mask >> bit & 1
    ]
    return RasFeatures(mask, tuple(names))


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


def parse_firmware_info(text: str) -> tuple[dict[str, Firmware], str | None]:
    """debugfs amdgpu_firmware_info: firmware by lower-case name ("mec", "ta xgmi", "sdma0"), and the VBIOS version."""
    found: dict[str, Firmware] = {}
    vbios = None
    for number, line in enumerate(lines_of(text, 1000), start=1):
        head = line.strip()[:300]
        if head.startswith("VBIOS version:"):
            vbios = value_of(head.partition(":")[2])
        elif match := _FIRMWARE.match(head):
            name, feature, _program, version, printed = match.groups()
            key = name.lower()
            # An image that is not there has the version 0; "(0.0.0)" behind it says no more.
            shown = printed if int(version, 16) else None
            found.setdefault(key, Firmware(key, to_int(feature), int(version, 16), shown, number))
    return found, vbios
