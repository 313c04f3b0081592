"""Lines of a kernel log without what the printing tool put before them: time stamps, levels, host names, quotes.

Known prefixes: dmesg (plain, -T, -H, -x, -r, -d, --time-format iso), journalctl (short, short-precise, short-iso,
short-full, short-unix, short-monotonic), syslog files, printk's caller id, "> " of quoted mail, "12:" of grep -n.
Sources: dmesg(1) of util-linux 2.41, journalctl(1) of systemd 257, Documentation/core-api/printk of linux 6.12.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timezone

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import MAX_LINES, lines_of, pci_address, strip_ansi

# Longer than any record of the kernel (LOG_LINE_MAX is 1 KiB) with its prefix.
MAX_LINE = 2048

_MONTHS = {"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6} | {
    "jul": 7,
    "aug": 8,
    "sep": 9,
    "oct": 10,
    "nov": 11,
    "dec": 12,
}
_CONTROL = dict.fromkeys([*range(9), *range(11, 32), *range(127, 160)])
_HAS_CONTROL = regex(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_QUOTE = regex(r"\s{0,40}(?:>\s?){0,20}(?:\d{1,6}[:-](?=[\[<]))?(?:[|│] )?")
_PRIORITY = regex(r"<\d{1,3}>")
_LEVEL = regex(r"(kern|user|mail|daemon|auth|syslog|lpr|news|local\d)\s{0,4}:(\w{3,6}) {0,4}: ?")
_BOOT = regex(r"\[ {0,12}(\d{1,10}\.\d{1,9})(?: {0,3}<[ +]{0,12}\d{1,10}\.\d{1,9}>)?\](?:\[ {0,8}[TC]\d{1,10}\])? ?")
_DELTA = regex(r"\[ {0,12}([+<][ +]{0,12}(\d{1,10}\.\d{1,9}))>?\] ?")
_HUMAN = regex(r"\[([A-Z][a-z]{2}) {0,2}(\d{1,2}) (\d\d):(\d\d)(?::(\d\d))?\] ?")
_CTIME = regex(r"\[\S{2,6} ([A-Z][a-z]{2})\S{0,3} {1,2}(\d{1,2}) (\d\d):(\d\d):(\d\d) (\d{4})\] ?")
_ISO = regex(
    r"(?:\S{2,4} )?(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?"
    r"(?:(Z)|([+-])(\d\d):?(\d\d)| [A-Z]{2,5}(?= ))?(?: |$)"
)
_SYSLOG = regex(r"([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))? ")
_UNIX = regex(r"(\d{9,11})\.(\d{3,9}) (?=\S{1,255} kernel:)")
_IDENT = regex(r"(?:(\S{1,255}) )?([\w.@/\-]{1,64})(?:\[\d{1,10}\])?: ?")
_SUBSYSTEM = regex(r"([A-Za-z][\w./-]{0,40})(?:\[\d{1,10}\])?(?: \S{1,60})?:(?:\s|$)")
_BRACKET = regex(r"\[([a-z]\w{1,20})[\]:]")
_DEVICE = regex(r"[A-Za-z][\w-]{0,30} ([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])\b")


@dataclass(frozen=True, slots=True)
class LogLine:
    """One message of the kernel: ``time_s`` since boot, ``clock_s`` by the wall clock (seconds, for differences only).

    ``wall`` is the wall-clock time as written; ``level`` is that of ``dmesg -x``; ``number`` counts from 1.
    """

    number: int
    text: str
    time_s: float | None = None
    wall: str | None = None
    clock_s: float | None = None
    level: str | None = None

    @property
    def stamped(self) -> bool:
        """True when a tool that prints logs put a time before the message."""
        return self.time_s is not None or self.wall is not None

    @property
    def subsystem(self) -> str | None:
        """The part of the kernel that speaks ("amdgpu", "drm", "pcieport", "NVRM"), where the message says so."""
        found = _BRACKET.match(self.text) or _SUBSYSTEM.match(self.text)
        return found.group(1) if found else None


def bdf_of(text: str) -> str | None:
    """The address that the message begins with ("amdgpu 0000:03:00.0: ..."), else the first one in it."""
    start = _DEVICE.match(text)
    return pci_address(start.group(1) if start else text)


def split(text: str, limit: int = MAX_LINES) -> tuple[list[LogLine], list[tuple[int, str]]]:
    """The messages of the kernel, and the other lines (number, text): what tools, services and journals added."""
    kernel: list[LogLine] = []
    other: list[tuple[int, str]] = []
    human: float | None = None  # wall clock of the latest full stamp of dmesg -H, which writes differences after it
    text = strip_ansi(text)
    if _HAS_CONTROL.search(text) or "\r" in text:
        text = text.translate(_CONTROL)
    for number, raw in enumerate(lines_of(text, limit), 1):
        if not raw or raw.isspace():
            continue
        line, is_kernel, delta = _line(number, raw[:MAX_LINE])
        if line is None or not is_kernel:
            other.append((number, line.text if line else raw[:MAX_LINE]))
            continue
        if delta is not None:
            human = None if human is None else human + delta
            line = LogLine(number, line.text, None, line.wall, human, line.level)
        elif line.clock_s is not None:
            human = line.clock_s
        kernel.append(line)
    return kernel, other


def _line(number: int, raw: str) -> tuple[LogLine | None, bool, float | None]:
    """The line, whether the kernel wrote it, and the seconds since the line before (dmesg -H)."""
    # The plain form is by far the commonest: try it before everything else.
    if found := _BOOT.match(raw):
        text, is_kernel = _host(raw[found.end() :])
        return LogLine(number, text, float(found.group(1))), is_kernel, None
    rest = raw[_quote_end(raw) :]
    if found := _PRIORITY.match(rest):
        rest = rest[found.end() :]
    level = None
    if found := _LEVEL.match(rest):
        level, rest = found.group(2), rest[found.end() :]
    if rest.startswith("-- ") and rest.rstrip().endswith("--"):
        return LogLine(number, rest), False, None
    time_s = wall = clock_s = delta = None
    is_kernel = True
    if rest.startswith("["):
        if found := _BOOT.match(rest):
            time_s = float(found.group(1))
        elif found := _DELTA.match(rest):
            wall, delta = found.group(1), float(found.group(2))
        elif found := _CTIME.match(rest):
            month, day, hour, minute, second, year = found.groups()
            wall, clock_s = found.group()[1:].rstrip("] "), _clock(year, month, day, hour, minute, second)
        elif found := _HUMAN.match(rest):
            month, day, hour, minute, second = found.groups()
            wall, clock_s = found.group()[1:].rstrip("] "), _clock(None, month, day, hour, minute, second or "0")
    elif found := _ISO.match(rest):
        wall, clock_s = found.group().rstrip(), _iso(found)
    elif found := _SYSLOG.match(rest):
        month, day, hour, minute, second, fraction = found.groups()
        wall, clock_s = found.group().rstrip(), _clock(None, month, day, hour, minute, second, fraction)
    elif found := _UNIX.match(rest):
        wall, clock_s = found.group().rstrip(), float(f"{found.group(1)}.{found.group(2)}")
    if found is not None and (time_s is not None or wall is not None):
        rest = rest[found.end() :]
        # dmesg --time-format iso has no host; journals and syslog have one, and the program's name after it.
        rest, is_kernel = _host(rest)
        if time_s is None and delta is None and (inner := _BOOT.match(rest)):
            time_s, rest = float(inner.group(1)), rest[inner.end() :]
    return (
        LogLine(number, rest.strip("\t") if rest.startswith("\t") else rest, time_s, wall, clock_s, level),
        is_kernel,
        delta,
    )


def _quote_end(raw: str) -> int:
    found = _QUOTE.match(raw)
    return found.end() if found else 0


def _host(text: str) -> tuple[str, bool]:
    """The text after "HOST kernel: "; False when another program than the kernel wrote it."""
    at = text.find("kernel: ", 0, 300)
    if at == 0:
        return text[8:], True
    if at > 0 and text[at - 1] == " " and " " not in text[: at - 1]:
        return text[at + 8 :], True
    # "host systemd[1]: ..." is a journal line; "amdgpu 0000:03:00.0: ..." is the kernel.
    found = _IDENT.match(text) if "]: " in text else None
    if found and found.group(1) and "[" in text[: found.end()] and ":" not in found.group(1):
        return text[found.end() :], found.group(1).endswith("]") or _looks_like_kernel(text)
    return text, True


def _looks_like_kernel(text: str) -> bool:
    """Kernel messages that look like "word word[1]: ": crash lines name the process like that."""
    return "segfault at" in text or " trap " in text or text.startswith(("traps:", "audit:"))


def _clock(
    year: str | None, month: str, day: str, hour: str, minute: str, second: str, fraction: str | None = None
) -> float | None:
    """Seconds on a scale of their own; without a year a leap year stands in, which keeps differences within it."""
    number = _MONTHS.get(month.lower())
    if number is None:
        return None
    return _seconds(int(year or "2024"), number, int(day), int(hour), int(minute), int(second), fraction)


def _iso(found: re.Match[str]) -> float | None:
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    clock = _seconds(year, month, day, hour, minute, second, found.group(7))
    if clock is None or found.group(9) is None:
        return clock
    offset = int(found.group(10)) * 3600 + int(found.group(11)) * 60
    return clock - offset if found.group(9) == "+" else clock + offset


def _seconds(
    year: int, month: int, day: int, hour: int, minute: int, second: int, fraction: str | None
) -> float | None:
    try:
        moment = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=timezone.utc)
        return moment.timestamp() + float(f"0.{fraction or '0'}")
    except (ValueError, OverflowError):
        return None
