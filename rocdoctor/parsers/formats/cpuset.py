"""Sets of CPU or node numbers: hexadecimal masks of hwloc and sysfs, and list text such as "0-15,128-143".

All functions take any input and never raise; what cannot be read is None.
"""

from __future__ import annotations

from collections.abc import Iterable

from rocdoctor.model.lazy_re import regex

# The kernel's largest NR_CPUS is 8192 (arch/x86/Kconfig, MAXSMP); a mask beyond that is noise.
MAX_NUMBER = 8192
_WORD = regex(r"(?:0x)?([0-9a-f]{1,8})\Z")
_RANGE = regex(r"(\d{1,6})(?:-(\d{1,6})(?::(\d{1,6})/(\d{1,6}))?)?\Z")


def mask_to_set(text: str | None) -> frozenset[int] | None:
    """The numbers in a mask of comma-separated 32-bit words, highest first: "0000ffff,00000000", "0x3,,0x0".

    hwloc leaves words of zero empty. Its endless sets ("0xf...f,0x0": every number from some place on) are None.
    """
    if text is None or not text.strip():
        return None
    words = text.strip().lower().split(",")
    if len(words) > MAX_NUMBER // 32:
        return None
    mask = 0
    for word in words:
        match = _WORD.match(word.strip())
        if match is None and word.strip():
            return None
        mask = mask << 32 | (int(match.group(1), 16) if match else 0)
    return frozenset(at for at, bit in enumerate(reversed(f"{mask:b}")) if bit == "1")


def list_to_set(text: str | None) -> frozenset[int] | None:
    """The numbers in a list such as "0-15,128-143"; the empty text is the empty set.

    Strides ("0-31:2/4", two of each four) are what the kernel takes on its command line (isolcpus=).
    """
    if text is None:
        return None
    numbers: set[int] = set()
    word = text.strip().strip("\x00")
    for part in word.split(",", MAX_NUMBER) if word else []:
        match = _RANGE.match(part.strip())
        if match is None:
            return None
        first, last = int(match.group(1)), int(match.group(2) or match.group(1))
        used, group = int(match.group(3) or 1), int(match.group(4) or 1)
        if not first <= last < MAX_NUMBER or not 0 < used <= group:
            return None
        numbers.update(number for number in range(first, last + 1) if (number - first) % group < used)
    return frozenset(numbers)


def canonical_list(text: str | None) -> str | None:
    """The canonical form of a list text; None where it is none or empty."""
    numbers = list_to_set(text)
    return set_to_list(numbers) if numbers else None


def set_to_list(numbers: Iterable[int]) -> str:
    """List text of a set of numbers: "0-15,128-143"; "" for the empty set."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def mask_to_list(text: str | None) -> str | None:
    """List text of a mask: "0-15" from "0000ffff"."""
    numbers = mask_to_set(text)
    return None if numbers is None else set_to_list(numbers)
