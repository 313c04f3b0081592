"""Small helpers that every parser shares: words for "no value", numbers with units, PCI addresses.

All of them take any input and never raise; what cannot be read is None.
"""

from __future__ import annotations

import math
import re

from rocdoctor.model.lazy_re import regex

MAX_LINES = 100_000
# Longer than any name that a tool prints for one value; a longer field is not a value but noise.
MAX_FIELD = 4096

_ANSI = regex(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])|[\x00\x07\x08\x0e\x0f]")
_NUMBER = regex(r"[-+]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][-+]?[0-9]{1,3})?")
_MOST_INT = 2**64 - 1
_PLAIN_INT = regex(r"[-+]?[0-9]{1,40}\Z")
_KERNEL_INT = regex(r"[-+]?(?:0[xX][0-9a-fA-F]{1,16}|0[0-7]{0,22}|[1-9][0-9]{0,19})\Z")
_HEX_INT = regex(r"0[xX][0-9a-fA-F]{1,32}\Z")
_UNIT = regex(r"\s*\(?([A-Za-z%°µ/]{1,12})")
_PCI = regex(
    r"(?<![0-9a-fA-F])(?<![0-9a-fA-F][:.])(?:([0-9a-fA-F]{1,8}):)?([0-9a-fA-F]{1,2}):([0-9a-fA-F]{1,2})\.([0-7])"
    r"(?![0-9a-fA-F]|[:.][0-9a-fA-F])"
)
_GFX = regex(r"(?<![A-Za-z0-9])gfx([0-9]{1,4}[0-9a-f]?)(?![0-9A-Za-z])", re.IGNORECASE)

_NO_VALUE = frozenset(
    {
        "",
        "-",
        "--",
        "---",
        "n/a",
        "na",
        "n.a.",
        "none",
        "null",
        "nil",
        "unknown",
        "undefined",
        "unspecified",
        "nan",
        "not supported",
        "unsupported",
        "not available",
        "unavailable",
        "not applicable",
        "not specified",
        "not found",
        "not readable",
        "no data",
        "unknown error",
        "error",
        "unknown amd gpu id",
        "amdgpu not found",
        "not supported on the given system",
        "not supported on the device",
        "to be filled by o.e.m.",
        "insufficient permissions",
        "gpu requires reset",
        "gpu is lost",
        "function not found",
        "<unknown>",
        "<none>",
        "?",
        "n/s",
        "redacted",
        "dropped",
    }
)

# The GPU tools and the kernel count memory in powers of 1024 whatever they write behind the number.
_BINARY_EXPONENT = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}

# Transfer rate per lane of each PCI Express generation, GT/s (PCI Express Base Specification 6.0, table 1-2).
PCIE_GEN_GT_S = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}


def strip_ansi(text: str) -> str:
    """The text without terminal escape sequences and without control characters that no tool means."""
    return _ANSI.sub("", text) if "\x1b" in text or "\x00" in text or "\x07" in text or "\x08" in text else text


def lines_of(text: str, limit: int = MAX_LINES) -> list[str]:
    """At most ``limit`` lines without their ends and escape sequences; index 0 is line 1 (only \\n ends a line)."""
    lines = strip_ansi(text).split("\n", limit)[:limit]
    if "\r" not in text:
        return lines
    return [line[:-1] if line.endswith("\r") else line for line in lines]


def value_of(text: str | None) -> str | None:
    """The trimmed text, or None where it is one of the tools' words for "no value" (N/A, [Not Supported], ...)."""
    if text is None:
        return None
    value = text.strip().strip("\x00").strip()
    if len(value) > MAX_FIELD or is_no_value(value):
        return None
    return value


def is_no_value(text: str) -> bool:
    """True for the words that tools print where they have no value."""
    word = text.strip().strip('"').strip()
    if len(word) > 60:
        return False
    if word[:1] in "[(<" and word[-1:] in "])>":
        word = word[1:-1].strip()
    return word.lower().rstrip(".") in _NO_VALUE


def to_int(text: object) -> int | None:
    """A whole number written in decimal or as 0x hexadecimal, with nothing around it but blanks.

    None for one of more than 64 bits: no counter of a kernel or of a vendor's tool holds one, so it is nonsense.
    """
    found: int | None = None
    if isinstance(text, str):
        word = text.strip()
        if _PLAIN_INT.match(word):
            found = int(word)
        elif _HEX_INT.match(word):
            found = int(word, 16)
    elif isinstance(text, float):
        found = int(text) if math.isfinite(text) and text == int(text) else None
    elif isinstance(text, int) and not isinstance(text, bool):
        found = text
    return found if found is not None and -_MOST_INT <= found <= _MOST_INT else None


def whole_number(text: str | None, limit: int = 2**63 - 1) -> int | None:
    """A number of ASCII digits alone, up to a limit; None for anything else, also for one of thousands of digits."""
    word = (text or "").strip()
    if not word.isascii() or not word.isdecimal():
        return None
    word = word.lstrip("0") or "0"
    value = int(word) if len(word) <= len(str(limit)) else limit + 1
    return value if value <= limit else None


def kernel_int(text: str) -> int | None:
    """A whole number as the kernel reads that of a parameter: decimal, 0x hexadecimal, or octal after a leading 0."""
    word = text.strip()
    if not _KERNEL_INT.match(word):
        return None
    digits = word.lstrip("+-")
    value = int(digits, 16 if digits[1:2] in ("x", "X") else 8 if digits[0] == "0" else 10)
    return -value if word[0] == "-" else value


def hex_int(text: object) -> int | None:
    """A whole number written in hexadecimal, with or without 0x."""
    if not isinstance(text, str):
        return to_int(text)
    word = text.strip().lower().removeprefix("0x")
    return int(word, 16) if re.match(r"[0-9a-f]{1,32}\Z", word) else None


def number(text: object) -> float | None:
    """The first decimal number in the text, e.g. 53.0 from "53.0c", "53 W" or "(53Mhz)"; finite or None."""
    found = quantity(text)
    return found[0] if found else None


def quantity(text: object) -> tuple[float, str] | None:
    """The first number and the unit that follows it ("" without one): (40.0, "C") from "40 C" or {"value", "unit"}."""
    if isinstance(text, bool) or text is None:
        return None
    if isinstance(text, (int, float)):
        value = _finite(text)
        return None if value is None else (value, "")
    if isinstance(text, dict):
        inner = quantity(text.get("value"))
        unit = text.get("unit")
        return None if inner is None else (inner[0], unit.strip() if isinstance(unit, str) and unit else inner[1])
    if not isinstance(text, str) or len(text) > MAX_FIELD:
        return None
    found = _NUMBER.search(text)
    if found is None:
        return None
    value = _finite(float(found.group()))
    if value is None:
        return None
    unit_match = _UNIT.match(text, found.end())
    return value, unit_match.group(1) if unit_match else ""


def _finite(value: int | float) -> float | None:
    try:
        as_float = float(value)
    except OverflowError:
        return None
    return as_float if math.isfinite(as_float) else None


def to_bytes(text: object, default_unit: str = "B", decimal: bool = False) -> int | None:
    """Bytes from "64 GB", "65520 MB", "16384 KiB", "17163091968" or {"value", "unit"}.

    KB, MB, GB count in powers of 1024 as the GPU tools mean them, unless ``decimal``; KiB, MiB, GiB always do.
    ``default_unit`` is that of a bare number. Negative amounts, those past a float, and unknown units are None.
    """
    if isinstance(text, str) and (whole := to_int(text)) is not None:
        value: float | int = whole
        unit = ""
    elif isinstance(text, int) and not isinstance(text, bool):
        value, unit = text, ""
    else:
        found = quantity(text)
        if found is None:
            return None
        value, unit = found
    factor = _byte_factor(unit or default_unit, decimal)
    if factor is None or value < 0:
        return None
    amount = value * factor
    return round(amount) if isinstance(amount, int) or math.isfinite(amount) else None


def _byte_factor(unit: str, decimal: bool) -> int | None:
    word = unit.strip().lower()
    if word in ("b", "byte", "bytes"):
        return 1
    match = re.match(r"([kmgtp])(i?)(?:b|bytes?)?\Z", word)
    if match is None:
        return None
    exponent = _BINARY_EXPONENT[match.group(1).upper()]
    base = 1000 if decimal and not match.group(2) else 1024
    return int(base**exponent)


def to_watts(text: object, default_unit: str = "W") -> float | None:
    """Watts from "220W", "220.0 W", "35000 mW", "220000000 uW" or a number in ``default_unit``."""
    return _scaled(text, default_unit, {"w": 1.0, "watt": 1.0, "watts": 1.0, "mw": 1e-3, "uw": 1e-6, "µw": 1e-6})


def to_celsius(text: object, default_unit: str = "C") -> float | None:
    """Degrees Celsius from "53.0c", "53 °C", "53" or millidegrees where ``default_unit`` is "mC"."""
    return _scaled(text, default_unit, {"c": 1.0, "°c": 1.0, "degc": 1.0, "°": 1.0, "celsius": 1.0, "mc": 1e-3})


def to_mhz(text: object, default_unit: str = "MHz") -> float | None:
    """MHz from "2100Mhz", "2.1 GHz", "2100000 kHz"."""
    return _scaled(text, default_unit, {"mhz": 1.0, "ghz": 1e3, "khz": 1e-3, "hz": 1e-6})


def to_gt_s(text: object) -> float | None:
    """A PCIe or xGMI transfer rate per lane in GT/s from "16.0 GT/s PCIe", "16GT/s", "16000 MT/s", "Gen 4", "Gen4".

    A bare number of 1000 and more is in MT/s, a smaller one in GT/s (amd-smi wrote both over its releases).
    """
    if isinstance(text, str):
        gen = re.search(r"\bgen(?:eration)?[ :_-]?([1-6])\b", text, re.IGNORECASE)
        if gen:
            return PCIE_GEN_GT_S[int(gen.group(1))]
    found = quantity(text)
    if found is None or found[0] <= 0:
        return None
    value, unit = found[0], found[1].lower()
    if unit in ("gt/s", "gtps", "gt", "gb/s", "gbps"):
        return value
    if unit in ("mt/s", "mtps", "mt", "mb/s"):
        return value / 1000
    if unit:
        return None
    return value / 1000 if value >= 1000 else value


def to_width(text: object) -> int | None:
    """Number of lanes from "x16", "16", 16 or "x16 (downgraded)"; 0 and 255 (no link) are None."""
    if isinstance(text, str):
        match = re.search(r"(?<![0-9.])x?([0-9]{1,3})(?![0-9.])", text)
        lanes = int(match.group(1)) if match else None
    else:
        value = number(text)
        lanes = int(value) if value is not None and value == int(value) else None
    return lanes if lanes is not None and 0 < lanes <= 32 else None


def _scaled(text: object, default_unit: str, factors: dict[str, float]) -> float | None:
    if isinstance(text, str) and is_no_value(text):
        return None
    found = quantity(text)
    if found is None:
        return None
    factor = factors.get((found[1] or default_unit).lower())
    # Rounded so that 35000 mW is 35.0, not 35.000000000000004.
    return None if factor is None else _finite(round(found[0] * factor, 9))


def pci_address(text: object) -> str | None:
    """The first PCI address in the text as "0000:03:00.0": lower case, domain added, 8-digit domains shortened."""
    if not isinstance(text, str) or len(text) > MAX_FIELD:
        return None
    match = _PCI.search(text)
    if match is None:
        return None
    domain, bus, device, function = (int(part or "0", 16) for part in match.groups())
    return format_pci(domain, bus, device, function)


def format_pci(domain: int, bus: int, device: int, function: int) -> str | None:
    """The full PCI address; None where a part is out of its range (device above 0x1f)."""
    if not (0 <= domain <= 0xFFFFFFFF and 0 <= bus <= 0xFF and 0 <= device <= 0x1F and 0 <= function <= 7):
        return None
    return f"{domain:04x}:{bus:02x}:{device:02x}.{function:x}"


def pci_from_bdfid(bdfid: int, domain: int = 0) -> str | None:
    """The PCI address of KFD's location_id, which rocminfo prints as BDFID.

    Bits 15-8 bus, 7-3 device, 2-0 function (PCI_DEVID in include/linux/pci.h); bits 31-28 are not part of it.
    """
    if bdfid < 0:
        return None
    return format_pci(domain, (bdfid >> 8) & 0xFF, (bdfid >> 3) & 0x1F, bdfid & 7)


def gfx_name(text: object) -> str | None:
    """The first processor name ("gfx90a") in the text, lower case; "gfx000" (a CPU or nothing) is None."""
    if not isinstance(text, str) or len(text) > MAX_FIELD:
        return None
    match = _GFX.search(text)
    if match is None or not match.group(1).strip("0"):
        return None
    return "gfx" + match.group(1).lower()
