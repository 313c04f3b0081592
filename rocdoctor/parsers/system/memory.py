"""Memory: /proc/meminfo, swap areas, huge page settings, control groups, and the size of file systems."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import lines_of, to_bytes, to_int, whole_number

_MEMINFO = regex(r"([A-Za-z][A-Za-z0-9_()]{1,40}):[ \t]+(\d{1,20})(?:[ \t]+(kB))?[ \t]*\Z")
_CHOICE = regex(r"\[([A-Za-z0-9_+-]{1,40})\]")
_DF_PERCENT = regex(r"(\d{1,3})%\Z|-\Z")


@dataclass(frozen=True, slots=True)
class Meminfo:
    """/proc/meminfo: sizes in bytes and page counts by the kernel's names, 1-based ``lines`` by the same names."""

    sizes_bytes: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Swap:
    """One swap area: its size, and what of it is in use."""

    size_bytes: int
    used_bytes: int


@dataclass(frozen=True, slots=True)
class Cgroups:
    """/proc/PID/cgroup: the path in the v2 tree, and the path of each v1 controller ("memory", "cpuset", ...).

    ``version`` is 2 where only the unified tree is used, 1 where controllers are mounted the old way.
    """

    version: int | None = None
    unified_path: str | None = None
    controller_paths: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileSystemSize:
    """Size of a file system, bytes: ``available_bytes`` is what an ordinary user may still write."""

    size_bytes: int | None = None
    available_bytes: int | None = None
    mount_point: str | None = None
    line: int = 1


def parse_meminfo(text: str) -> Meminfo:
    """Reads /proc/meminfo; its kB are 1024 bytes, HugePages_* have no unit and are counts."""
    sizes: dict[str, int] = {}
    counts: dict[str, int] = {}
    lines: dict[str, int] = {}
    for line, raw in enumerate(lines_of(text, 1000), 1):
        match = _MEMINFO.match(raw.strip())
        if match is None or match.group(1) in lines:
            continue
        lines[match.group(1)] = line
        if match.group(3):
            sizes[match.group(1)] = int(match.group(2)) * 1024
        else:
            counts[match.group(1)] = int(match.group(2))
    return Meminfo(sizes, counts, lines)


def parse_swaps(text: str) -> tuple[Swap, ...] | None:
    """Reads /proc/swaps (sizes in KiB); () for its heading alone, None where there is not even that."""
    swaps: list[Swap] = []
    heading = False
    for raw in lines_of(text, 1000):
        words = raw.split()
        if words[:3] == ["Filename", "Type", "Size"]:
            heading = True
            continue
        if len(words) < 4 or words[-4] not in ("partition", "file"):
            continue
        size, used = to_int(words[-3]), to_int(words[-2])
        if size is not None and used is not None:
            swaps.append(Swap(size * 1024, used * 1024))
    return tuple(swaps) if swaps or heading else None


def selected_choice(text: str) -> str | None:
    """The chosen word of a file such as "always [madvise] never" or "[none] integrity confidentiality"."""
    match = _CHOICE.search(text[:4096])
    if match:
        return match.group(1)
    word = text.strip()
    return word if re.match(r"[a-z_]{2,20}\Z", word) else None


def parse_cgroup(text: str) -> Cgroups:
    """Reads /proc/PID/cgroup, lines "ID:controllers:path" (cgroups(7))."""
    unified: str | None = None
    paths: dict[str, str] = {}
    for raw in lines_of(text, 1000):
        parts = raw.strip().split(":", 2)
        if len(parts) != 3 or whole_number(parts[0]) is None or not parts[2].startswith("/"):
            continue
        if parts[0] == "0" and not parts[1]:
            unified = parts[2]
        else:
            for controller in parts[1].split(",")[:50]:
                paths.setdefault(controller, parts[2])
    controllers = [name for name in paths if not name.startswith("name=")]
    version = 1 if controllers else 2 if unified is not None else 1 if paths else None
    return Cgroups(version, unified, paths)


def parse_df(text: str) -> tuple[FileSystemSize, ...]:
    """Reads `df` with -k, -h, -T, -P or -B; without a heading, and for inodes (-i), nothing is said."""
    rows: list[FileSystemSize] = []
    unit: str | None = None
    has_type = False
    for line, raw in enumerate(lines_of(text, 5000), 1):
        words = raw.split()
        if words[:1] == ["Filesystem"] and len(words) > 4:
            has_type = words[1] == "Type"
            unit = _df_unit(words[2 if has_type else 1])
            continue
        first = 2 if has_type else 1
        if unit is None or len(words) < first + 5 or not _DF_PERCENT.match(words[first + 3]):
            continue
        size, available = (to_bytes(words[first + index], unit) for index in (0, 2))
        mount_point = " ".join(words[first + 4 :])
        rows.append(FileSystemSize(size, available, mount_point, line))
    return tuple(rows)


def _df_unit(heading: str) -> str | None:
    match = re.match(r"(1K|1024|1M|1G|512|1B|1)-blocks\Z", heading)
    if match:
        return {"1K": "K", "1024": "K", "1M": "M", "1G": "G", "1B": "B", "1": "B"}.get(match.group(1))
    return "B" if heading == "Size" else None
