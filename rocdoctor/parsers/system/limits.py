"""Limits of a process (/proc/PID/limits, `ulimit -a`) and of a control group (memory.max, pids.max, v1 kin)."""

from __future__ import annotations

from dataclasses import dataclass

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import lines_of, to_int

# cgroup v1 writes "no limit" as the largest multiple of a page below 2**63; 64 KiB is the largest page in use.
_V1_UNLIMITED = 2**63 - 65536

_PROC = regex(r"(Max [a-z -]{3,24}?)[ \t]{2,}(\S{1,24})[ \t]+(\S{1,24})(?:[ \t]+([a-z]{1,12}))?[ \t]*\Z")
_ULIMIT = regex(r"([a-z][a-z -]{2,40}?)[ \t]*\(([^()]{0,24}?),? ?-([a-zA-Z])\)[ \t]+(\S{1,24})[ \t]*\Z")

# `ulimit -a` option letters and the names of /proc/PID/limits that they stand for.
_ULIMIT_NAMES = {
    "l": "memlock",
    "n": "nofile",
    "u": "nproc",
    "s": "stack",
    "v": "as",
    "m": "rss",
    "c": "core",
    "d": "data",
    "f": "fsize",
    "t": "cpu",
    "x": "locks",
    "i": "sigpending",
    "q": "msgqueue",
    "e": "nice",
    "r": "rtprio",
}
_PROC_NAMES = {
    "Max locked memory": "memlock",
    "Max open files": "nofile",
    "Max processes": "nproc",
    "Max stack size": "stack",
    "Max address space": "as",
    "Max resident set": "rss",
    "Max core file size": "core",
    "Max data size": "data",
    "Max file size": "fsize",
    "Max cpu time": "cpu",
    "Max file locks": "locks",
    "Max pending signals": "sigpending",
    "Max msgqueue size": "msgqueue",
    "Max nice priority": "nice",
    "Max realtime priority": "rtprio",
    "Max realtime timeout": "rttime",
}
_ULIMIT_UNITS = {"kbytes": 1024, "512 bytes": 512, "blocks": 512, "bytes": 1}


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit: ``value`` in bytes or as a count, None where ``unlimited``."""

    value: int | None
    unlimited: bool = False


@dataclass(frozen=True, slots=True)
class ResourceLimit:
    """The soft limit of one resource of a process."""

    soft: Limit | None
    line: int


def parse_limit(text: str) -> Limit | None:
    """The content of a limit file: "max", "unlimited" and "-1" are unlimited, as are v1's numbers just below 2**63."""
    word = text.strip().strip("\x00").lower()
    if word in ("max", "unlimited", "infinity", "-1"):
        return Limit(None, True)
    value = to_int(word)
    if value is None or value < 0:
        return None
    return Limit(None, True) if value >= _V1_UNLIMITED else Limit(value)


def parse_limits(text: str) -> dict[str, ResourceLimit]:
    """Limits by the names of getrlimit(2): "memlock", "nofile", "nproc", "stack" ... in bytes or counts.

    Reads /proc/PID/limits and the `ulimit -a` of bash, whose kbytes and 512-byte blocks become bytes.
    """
    found: dict[str, ResourceLimit] = {}
    for line, raw in enumerate(lines_of(text, 2000), 1):
        stripped = raw.strip()[:200]
        proc = _PROC.match(stripped)
        if proc and proc.group(1) in _PROC_NAMES:
            name = _PROC_NAMES[proc.group(1)]
            entry = ResourceLimit(parse_limit(proc.group(2)), line)
            found.setdefault(name, entry)
            continue
        shell = _ULIMIT.match(stripped)
        if shell and shell.group(3) in _ULIMIT_NAMES:
            name = _ULIMIT_NAMES[shell.group(3)]
            limit = parse_limit(shell.group(4))
            factor = _ULIMIT_UNITS.get(shell.group(2).strip(), 1)
            if limit is not None and limit.value is not None:
                limit = Limit(limit.value * factor)
            found.setdefault(name, ResourceLimit(limit, line))
    return found
