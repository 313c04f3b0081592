"""NUMA nodes: the files of /sys/devices/system/node and `numactl --hardware`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.cpuset import set_to_list
from rocdoctor.parsers.formats.text import lines_of

MAX_NODES = 4096

_MEMINFO = regex(r"Node[ \t]+(\d{1,5})[ \t]+([A-Za-z_()0-9]{1,40}):[ \t]+(\d{1,20})(?:[ \t]+(kB))?[ \t]*\Z")
_NUMACTL = regex(r"node (\d{1,5}) (cpus|size|free):[ \t]*(?![ \t])(.*)\Z")
_DISTANCE_ROW = regex(r"(\d{1,5}):(.*)\Z")


@dataclass(frozen=True, slots=True)
class NodeMeminfo:
    """meminfo of one node: sizes in bytes by the kernel's names ("MemTotal")."""

    sizes_bytes: dict[str, int] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    @property
    def memory_bytes(self) -> int | None:
        """All memory of the node."""
        return self.sizes_bytes.get("MemTotal")


@dataclass(frozen=True, slots=True)
class NumactlNode:
    """One node of numactl: ``cpulist`` canonical ("" for a node of memory alone), ``distances`` in node order."""

    node: int
    line: int
    cpulist: str | None = None
    memory_bytes: int | None = None
    distances: tuple[int, ...] | None = None


def parse_node_meminfo(text: str) -> NodeMeminfo:
    """Reads /sys/devices/system/node/nodeN/meminfo (kB of 1024 bytes; HugePages_* are counts)."""
    sizes: dict[str, int] = {}
    lines: dict[str, int] = {}
    node: int | None = None
    for line, raw in enumerate(lines_of(text, 1000), 1):
        match = _MEMINFO.match(raw.strip())
        if match is None or (node is not None and int(match.group(1)) != node):
            continue
        node = int(match.group(1))
        name = match.group(2)
        lines.setdefault(name, line)
        if match.group(4):
            sizes.setdefault(name, int(match.group(3)) * 1024)
    return NodeMeminfo(sizes, lines)


def parse_distances(text: str) -> tuple[int, ...] | None:
    """The row of a node's distance file, in the order of the online nodes: "10 21" is (10, 21)."""
    words = text.split()[:MAX_NODES]
    if not words or any(not (word.isascii() and word.isdecimal() and len(word) < 6) for word in words):
        return None
    return tuple(int(word) for word in words)


def parse_numactl_hardware(text: str) -> tuple[NumactlNode, ...]:
    """Reads `numactl --hardware` (or -H); its MB are 1024 * 1024 bytes."""
    values: dict[int, dict[str, str]] = {}
    starts: dict[int, int] = {}
    distances: dict[int, tuple[int, ...]] = {}
    in_distances = False
    for line, raw in enumerate(lines_of(text, 20_000), 1):
        stripped = raw.strip()
        if stripped.startswith("node distances"):
            in_distances = True
            continue
        entry = _NUMACTL.match(stripped)
        if entry and len(values) < MAX_NODES:
            node = int(entry.group(1))
            values.setdefault(node, {}).setdefault(entry.group(2), entry.group(3))
            starts.setdefault(node, line)
            continue
        row = _DISTANCE_ROW.match(stripped) if in_distances else None
        if row:
            numbers = parse_distances(row.group(2))
            if numbers:
                distances.setdefault(int(row.group(1)), numbers)
    return tuple(
        NumactlNode(
            node=node,
            line=starts[node],
            cpulist=_cpus(found.get("cpus")),
            memory_bytes=_mb(found.get("size")),
            distances=distances.get(node),
        )
        for node, found in sorted(values.items())
    )


def _cpus(text: str | None) -> str | None:
    if text is None:
        return None
    words = text.split()
    if any(not (word.isascii() and word.isdecimal() and len(word) < 7) for word in words):
        return None
    return set_to_list(int(word) for word in words)


def _mb(text: str | None) -> int | None:
    match = re.match(r"(\d{1,12}) MB\Z", (text or "").strip())
    return int(match.group(1)) * 1024 * 1024 if match else None
