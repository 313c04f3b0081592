"""The version of NVIDIA's driver libraries, from lists of packages, logs of package managers and names of files.

The module on the disk (modinfo nvidia) comes with the libraries, so its version tells too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import lines_of

# Debian and Ubuntu, Fedora and RHEL (CUDA repository and RPM Fusion), SUSE, Arch. Ubuntu's nvidia-driver-N depends on
# libraries of exactly its version.
_PACKAGE = regex(
    r"(?<![\w./-])(?:libnvidia-(?:compute|gl|ml1|cfg1)|libcuda1|nvidia-(?:compute-)?utils|nvidia-driver(?:-cuda)?-libs|"
    r"nvidia-driver-cuda|xorg-x11-drv-nvidia(?:-cuda)?-libs|nvidia-compute-G0\d|nvidia-libs|nvidia-driver)"
    r"(?:-\d{3})?(?:-server)?(?:-open)?(?::\w{1,10})?(?=[\s(]|-\d:?|-\d{3}\.)"
)
_FILE = regex(r"\blib(?:cuda|nvidia-ml|nvidia-ptxjitcompiler)\.so\.(\d{3}\.\d{2,4}(?:\.\d{1,3})?)(?![\d.]*\d)")
_VERSION = regex(r"(?<![\d.])(\d{3}\.\d{2,4}(?:\.\d{1,3})?)(?![\d.]*\d)")
_REMOVED = regex(
    r"\s{0,12}(?:rc|un|pn|pc)\s|.{0,60}\b(?:remove[d]?|purge[d]?|erase[d]?|uninstall\w*)[: ]", re.IGNORECASE
)
_CHANGED = regex(
    r".{0,60}\b(?:upgrade[d]?|downgrade[d]?|install(?:ed)?|reinstall\w*|status|unpack\w*|setting up)[: ]", re.IGNORECASE
)
_LIST_ROW = regex(r"\s{0,12}[ih]i\s")
_WINDOW = 160
_MODULE_FILE = regex(r"\s{0,12}filename:\s{1,20}/\S{1,300}/nvidia\.ko")
_MODULE_VERSION = regex(r"\s{0,12}version:\s{1,20}(\d{3}\.\d{2,4}(?:\.\d{1,3})?)\s*\Z")
_LINES_OF_MODULE = 40


@dataclass(frozen=True, slots=True)
class DriverLibraries:
    """The libraries of the driver as they lie on the disk, with the line (from 1) that tells."""

    version: str
    line: int


def parse_driver_libraries(text: str) -> DriverLibraries | None:
    """The installed version: of lists and file names the newest, else the last one that a log of changes names."""
    listed: list[DriverLibraries] = []
    changed: list[DriverLibraries] = []
    module = 0  # the line of the name of the module's file
    for line, raw in enumerate(lines_of(text), 1):
        if module and line - module < _LINES_OF_MODULE and (said := _MODULE_VERSION.match(raw[:200])):
            listed.append(DriverLibraries(said[1], line))
            module = 0
        if "nvidia" not in raw and "libcuda" not in raw:
            continue
        row = raw[:4000]
        module = line if _MODULE_FILE.match(row) else module
        listed += [DriverLibraries(one[1], line) for one in _FILE.finditer(row)]
        if _REMOVED.match(row):
            continue
        log = not _LIST_ROW.match(row) and _CHANGED.match(row)
        for name in _PACKAGE.finditer(row):
            rest = row[name.end() : name.end() + _WINDOW]
            # "name (old, new), next (old, new)": what stands in the brackets is of this package.
            rest = rest[: rest.index(")")] if rest.lstrip()[:1] == "(" and ")" in rest else rest
            versions = _VERSION.findall(rest)
            if versions:
                (changed if log else listed).append(DriverLibraries(versions[-1] if log else versions[0], line))
    if listed:
        return max(listed, key=lambda one: tuple(map(int, one.version.split("."))))
    return changed[-1] if changed else None
