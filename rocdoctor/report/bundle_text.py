"""The part of a bundle for people: machine, causes, versions, smoke tests, and what was masked; ready to paste."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

from rocdoctor.facts import SmokeRun
from rocdoctor.finding import Diagnosis
from rocdoctor.lazy_re import regex
from rocdoctor.parsers.text import whole_number
from rocdoctor.report.clean import one_line
from rocdoctor.report.text import render

_WIDTH = 100
_DEVICE_ID = 0x5EED0000
# What masking writes, by class: (one, several, expression). Counted in the text itself, so that a bundle that is
# bundled again says the same.
_IDS = r"(?i)(?<![0-9a-f])(?:0x)?5eed0000[0-9a-f]{8,24}\b|\b68\d{17}\b"
_MARKS = (
    ("variable without its value", "variables without their values", r"^[A-Za-z_]\w*(?==<dropped>$)"),
    ("secret", "secrets", r"\bmasked-[a-z0-9]+(?:-[a-z0-9]+)*"),
    ("host name", "host names", r"(?<![\w-])host-\d+\b"),
    ("domain", "domains", r"(?<![\w-])domain-\d+\b"),
    ("user name", "user names", r"(?<![\w-])user-\d+\b"),
    ("e-mail address", "e-mail addresses", r"(?<![\w-])email-\d+\b"),
    ("IP address", "IP addresses", r"(?<![\w-])ip-\d+\.\d+\b|\b2001:0?db8:[0-9a-f:]+|(?<=ffff:)5eed:[0-9a-f]{4}\b"),
    ("network card address", "network card addresses", r"(?i)(?<![0-9a-f])02([:-]?)5e\1ed(?:\1[0-9a-f]{2}){3}\b"),
    ("UUID", "UUIDs", r"(?i)\b[0-9a-f]{8}-5eed-4000-8000-[0-9a-f]{12}\b|\buuid-\d+\b"),
    ("id of a device or machine", "ids of devices or machines", _IDS),
    ("serial number", "serial numbers", r"(?<![\w-])(?:serial|wwn)-\d+\b"),
    ("wireless network", "wireless networks", r"(?<![\w-])ssid-\d+\b"),
)  # fmt: skip
_PATTERNS = tuple((one, several, regex(pattern, re.MULTILINE)) for one, several, pattern in _MARKS)


def masked_counts(texts: Iterable[str]) -> list[tuple[str, int, int]]:
    """(class in words, different values, places) of what was masked in the answers; only classes that occur."""
    found: dict[str, tuple[set[str], int]] = {}
    # One long text: asking thousands of short ones for a dozen expressions each costs more than all of masking.
    whole = "\n".join(texts)
    for one, _, pattern in _PATTERNS:
        marks = [match.group().lower() for match in pattern.finditer(whole) if _is_mark(match.group())]
        if marks:
            seen, places = found.get(one, (set(), 0))
            found[one] = (seen | set(marks), places + len(marks))
    counts: list[tuple[str, int, int]] = []
    for one, several, _ in _PATTERNS:
        if one in found:
            seen, places = found[one]
            counts.append((several if len(seen) > 1 else one, len(seen), places))
    return counts


def _is_mark(word: str) -> bool:
    """Whether a long decimal number is a masked id."""
    return not word.isdecimal() or (whole_number(word, 2**64) or 0) >> 32 == _DEVICE_ID


def masked_text(counts: list[tuple[str, int, int]], identity_kept: bool = False) -> str:
    """One paragraph that says what was masked."""
    if identity_kept:
        return "Nothing was masked (--include-identity): names, addresses and secrets stand in here as they are."
    if not counts:
        return "Nothing had to be masked."
    parts = [
        f"{different} {words} (in {places} place{'' if places == 1 else 's'})" for words, different, places in counts
    ]
    return f"Masked: {', '.join(parts)}. Read the file before you post it: rules find what has a known form or place."


def summary(diagnosis: Diagnosis, texts: Iterable[str], identity_kept: bool = False) -> str:
    """The whole part for people. ``texts`` are the answers of the bundle."""
    parts = [render(diagnosis, width=_WIDTH).rstrip("\n")]
    if diagnosis.causes:
        lines = ["Causes, main one first:"]
        for number, cause in enumerate(diagnosis.causes, 1):
            words = f"{number}. {cause.cause} ({cause.confidence}): {one_line(cause.message)}"
            lines += textwrap.wrap(words, _WIDTH, initial_indent="  ", subsequent_indent="     ")
        parts.append("\n".join(lines))
    parts += _smoke(diagnosis.machine.smoke)
    said = masked_text(masked_counts(texts), identity_kept)
    parts.append("\n".join(textwrap.wrap(said, _WIDTH, subsequent_indent="  ")))
    return "\n\n".join(parts)


def _smoke(runs: tuple[SmokeRun, ...]) -> list[str]:
    if not runs:
        return ["Smoke tests: not run (rocdoctor bundle --with-smoke)."]
    from rocdoctor.report.smoke_text import render as render_smoke

    return ["Smoke tests: " + render_smoke(runs, _WIDTH).rstrip("\n")]
