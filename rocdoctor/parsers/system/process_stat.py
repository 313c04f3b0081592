"""Processes and threads of a job: lines of /proc/PID/stat, states of threads, variables of ranks."""

from __future__ import annotations

from dataclasses import dataclass, field

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import lines_of

# Ticks a second in /proc (USER_HZ), which is 100 on every architecture that has GPUs.
TICKS = 100
_STAT = regex(r"(\d{1,10}) \((.{0,64})\) ([A-Za-z])((?: -?\d{1,20}){1,60})\s*\Z")
_THREAD = regex(r"(\d{1,10}) ([A-Za-z]) (\d{1,19}) (\S{1,128})(?: (.{0,64}))?\Z")
_HOLDER = regex(r"(\d{1,10}) (\d{1,12}) (/dev/[\w/,]{1,8000}) (.{1,64})\Z")
_HIDDEN = regex(r"hidden (\d{1,10})\Z")
_RANKS = regex(r"(\d{1,10})((?: [A-Z_]{1,64}=\S{0,200}){0,40}| denied)\Z")


@dataclass(frozen=True, slots=True)
class ProcessStat:
    """One line of /proc/PID/stat (proc_pid_stat(5)); ``started_s`` counts from the boot.

    ``exit_signal`` and ``exit_status`` are those of a process that has ended and was not ended well; the kernel shows
    them to the same user alone, and as 0 to others.
    """

    pid: int
    name: str
    state: str
    parent_pid: int
    started_s: float | None
    exit_signal: int | None
    exit_status: int | None
    line: int


@dataclass(frozen=True, slots=True)
class ThreadState:
    """A thread: the kernel's letter for its state, how often it was switched, the kernel function that it waits in."""

    tid: int
    state: str
    switches: int
    wchan: str | None
    name: str
    line: int


@dataclass(frozen=True, slots=True)
class RankVariables:
    """What a launcher told a process; ``denied`` where this user may not see it."""

    pid: int
    values: dict[str, str] = field(default_factory=dict)
    denied: bool = False


@dataclass(frozen=True, slots=True)
class GpuHolderLine:
    """A process that has device nodes of a GPU open, and since when it runs."""

    pid: int
    age_s: int
    nodes: tuple[str, ...]
    name: str
    line: int


def parse_holders(text: str) -> tuple[tuple[GpuHolderLine, ...], int]:
    """Reads the answer to ``holders gpu``: (the processes, how many more nobody let us look into)."""
    found: list[GpuHolderLine] = []
    hidden = 0
    for line, raw in enumerate(lines_of(text, 10_000), 1):
        match = _HOLDER.match(raw[:9000])
        if match is not None:
            found.append(GpuHolderLine(int(match[1]), int(match[2]), tuple(match[3].split(",")), match[4], line))
        elif (count := _HIDDEN.match(raw)) is not None:
            hidden = int(count[1])
    return tuple(found), hidden


def parse_stats(text: str) -> tuple[ProcessStat, ...]:
    """Reads lines of /proc/PID/stat."""
    found: list[ProcessStat] = []
    for line, raw in enumerate(lines_of(text, 100_000), 1):
        match = _STAT.match(raw[:2000])
        if match is None:
            continue
        rest = [int(word) for word in match[4].split()]
        # The fields count from 4 (ppid): 22 is starttime, 52 exit_code.
        started = rest[18] / TICKS if len(rest) > 18 and rest[18] >= 0 else None
        code = rest[48] if len(rest) > 48 and match[3] in "ZX" else 0
        signal, status = code & 0x7F, code >> 8 & 0xFF
        found.append(
            ProcessStat(int(match[1]), match[2], match[3], rest[0], started, signal or None, status or None, line)
        )
    return tuple(found)


def parse_threads(text: str) -> tuple[ThreadState, ...]:
    """Reads lines ``tid state switches wchan name``; a wchan of "-" is not known."""
    found: list[ThreadState] = []
    for line, raw in enumerate(lines_of(text, 10_000), 1):
        match = _THREAD.match(raw[:400])
        if match:
            wchan = None if match[4] in ("-", "0") else match[4]
            found.append(ThreadState(int(match[1]), match[2], int(match[3]), wchan, match[5] or "", line))
    return tuple(found)


def parse_ranks(text: str) -> tuple[RankVariables, ...]:
    """Reads lines ``pid NAME=value ...`` and ``pid denied``."""
    found: list[RankVariables] = []
    for raw in lines_of(text, 10_000):
        match = _RANKS.match(raw[:8000])
        if match:
            words = (word.partition("=") for word in match[2].split() if "=" in word)
            values = {name: value for name, _, value in words}
            found.append(RankVariables(int(match[1]), values, match[2] == " denied"))
    return tuple(found)
