"""What the NVIDIA kernel module says of itself: /proc/driver/nvidia/version and /proc/driver/nvidia/params."""

from __future__ import annotations

from dataclasses import dataclass

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import lines_of

_VERSION = regex(r"(?<![\d.])(\d{3}\.\d{1,4}(?:\.\d{1,4})?)(?![\d.])")
_PARAMETER = regex(r"([A-Za-z][A-Za-z0-9_]{1,80}):[ \t]*(?![ \t])(.*)\Z")


@dataclass(frozen=True, slots=True)
class NvidiaModule:
    """The loaded module."""

    version: str
    line: int


def parse_nvidia_version(text: str) -> NvidiaModule | None:
    """Reads the line "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  ..."; None without it."""
    for line, raw in enumerate(lines_of(text, 50), 1):
        stripped = raw.strip()[:500]
        if not stripped.startswith("NVRM version:"):
            continue
        match = _VERSION.search(stripped)
        return NvidiaModule(match.group(1), line) if match else None
    return None


def parse_nvidia_params(text: str) -> dict[str, str]:
    """Reads "Name: value" lines; text values lose their quotes."""
    found: dict[str, str] = {}
    for raw in lines_of(text, 1000):
        match = _PARAMETER.match(raw.strip()[:2000])
        if match:
            found.setdefault(match.group(1), match.group(2).strip().strip('"'))
    return found
