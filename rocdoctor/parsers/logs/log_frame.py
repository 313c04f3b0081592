"""What surrounds the messages of a kernel log: boots, suspend and resume, how far it reaches back, what was lost."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Literal

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.logs.log_lines import LogLine

# The smallest boot logs seen (a virtual machine without devices) have about 150 lines; an excerpt has fewer.
_WHOLE_LINES = 100
_MAX_BOOTS = 200

_DROPPED = regex(r"(?:\*\* (\d{1,9}) printk messages dropped|Missed (\d{1,9}) kernel messages)")
_NEW_BOOT = regex(r"-- (?:Boot [0-9a-f]{8,32}|Reboot) --")

Extent = Literal["boot", "tail", "excerpt"]


@dataclass(frozen=True, slots=True)
class SuspendRange:
    """Lines from "suspend entry" to "suspend exit"; an end of None: the log stops before it."""

    first_line: int
    last_line: int | None


def boots(lines: list[LogLine], other: list[tuple[int, str]]) -> list[int]:
    """The line numbers where boots begin: the first line, and each later place where a kernel says its first words."""
    if not lines:
        return []
    starts = [lines[0].number]
    early = lines[0].number
    for index, line in enumerate(lines):
        begins = (
            line.text.startswith(("Linux version ", "Booting Linux on physical CPU")) and (line.time_s or 0.0) < 1.0
        )
        if begins and line.stamped and index > 0 and line.number - early > 5:
            starts.append(line.number)
            early = line.number
        elif begins:
            early = line.number
    numbers = [line.number for line in lines]
    marks = [number for number, text in other if _NEW_BOOT.match(text)]
    for mark in marks[:_MAX_BOOTS]:
        place = bisect_right(numbers, mark)
        if place < len(numbers) and not any(abs(numbers[place] - start) <= 5 for start in starts[:_MAX_BOOTS]):
            starts.append(numbers[place])
    return sorted(starts)


def suspends(lines: list[LogLine]) -> tuple[SuspendRange, ...]:
    """From each "suspend entry" to its "suspend exit", hibernation too; in the order of the log."""
    ranges: list[SuspendRange] = []
    start: LogLine | None = None
    for line in lines:
        text = line.text
        if not text.startswith("PM: "):
            continue
        if "suspend entry" in text or "hibernation entry" in text:
            start = line
        elif "suspend exit" in text or "hibernation exit" in text:
            first = start or lines[0]
            ranges.append(SuspendRange(first.number, line.number))
            start = None
    if start is not None:
        ranges.append(SuspendRange(start.number, None))
    return tuple(ranges)


def within(ranges: tuple[SuspendRange, ...], number: int) -> bool:
    """True when the line stands between the entry and the exit of a suspend."""
    place = bisect_right(ranges, number, key=lambda one: one.first_line) - 1
    if place < 0:
        return False
    last = ranges[place].last_line
    return last is None or number <= last


def extent(lines: list[LogLine], boots: list[int]) -> Extent:
    """How far the last boot's messages reach back; a selection of lines that kept the first one counts by its size."""
    if not lines:
        return "excerpt"
    last = [line for line in lines if line.number >= boots[-1]]
    whole = len(last) >= _WHOLE_LINES
    if whole and any(line.text.startswith("Linux version ") for line in last[:5]):
        return "boot"
    return "tail" if whole and sum(line.stamped for line in last) * 10 >= len(last) * 9 else "excerpt"


def age(line: LogLine, end: LogLine | None, same_boot: bool) -> float | None:
    """Seconds from the line to the end of the log; across boots only the wall clock can tell."""
    if end is None:
        return None
    if same_boot and line.time_s is not None and end.time_s is not None:
        return round(max(end.time_s - line.time_s, 0.0), 6)
    if line.clock_s is not None and end.clock_s is not None:
        age = end.clock_s - line.clock_s
        # Stamps without a year wrap at New Year (the stand-in year has 366 days).
        return round(age if age >= 0 else age + 366 * 86400 if age < -86400 else 0.0, 6)
    return None


def dropped(lines: list[LogLine], other: list[tuple[int, str]]) -> int:
    """How many messages the kernel or the journal says it lost."""
    total = 0
    for text in (*(line.text for line in lines), *(text for _, text in other)):
        if ("dropped" in text or "Missed" in text) and (found := _DROPPED.search(text)):
            total += int(found.group(1) or found.group(2))
    return total
