"""The part of a bundle for people as a document: the report, causes, smoke tests, and what was masked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rocdoctor.model.finding import Diagnosis
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.printable import one_line
from rocdoctor.parsers.formats.text import whole_number
from rocdoctor.report import text
from rocdoctor.report.diagnosis.text import document as report
from rocdoctor.report.document import GAP, Block, Code, Heading, Para

_WIDTH = 100
_DEVICE_ID = 0x5EED0000
# What masking writes, by class: (one, several, what stands in each, expression). Counted in the text itself, so that a
# bundle that is bundled again says the same. Expressions that begin with plain signs are ten times as fast.
_IDS = r"(?i)(?<![0-9a-f])(?:0x)?5eed0000[0-9a-f]{8,24}\b|\b68\d{17}\b"
_MARKS = (
    ("variable without its value", "variables without their values", "<dropped>", r"^[A-Za-z_]\w*(?==<dropped>$)"),
    ("secret", "secrets", "masked-", r"masked-(?<!\wmasked-)[a-z0-9]+(?:-[a-z0-9]+)*"),
    ("host name", "host names", "host-", r"host-(?<![\w-]host-)\d+\b"),
    ("domain", "domains", "domain-", r"domain-(?<![\w-]domain-)\d+\b"),
    ("user name", "user names", "user-", r"user-(?<![\w-]user-)\d+\b"),
    ("e-mail address", "e-mail addresses", "email-", r"email-(?<![\w-]email-)\d+\b"),
    ("IP address", "IP addresses", "ip-", r"ip-(?<![\w-]ip-)\d+\.\d+\b"),
    ("IP address", "IP addresses", "db8:", r"2001:(?<!\w2001:)0?db8:[0-9a-f:]+"),
    ("IP address", "IP addresses", "ffff:5eed:", r"5eed:(?<=ffff:5eed:)[0-9a-f]{4}\b"),
    ("network card address", "network card addresses", "ed", r"(?i)(?<![0-9a-f])02([:-]?)5e\1ed(?:\1[0-9a-f]{2}){3}\b"),
    ("UUID", "UUIDs", "-5eed-4000-8000-", r"(?i)\b[0-9a-f]{8}-5eed-4000-8000-[0-9a-f]{12}\b"),
    ("UUID", "UUIDs", "uuid-", r"(?i)\buuid-\d+\b"),
    ("id of a device or machine", "ids of devices or machines", "", _IDS),
    ("serial number", "serial numbers", "serial-", r"serial-(?<![\w-]serial-)\d+\b"),
    ("serial number", "serial numbers", "wwn-", r"wwn-(?<![\w-]wwn-)\d+\b"),
    ("wireless network", "wireless networks", "ssid-", r"ssid-(?<![\w-]ssid-)\d+\b"),
)
_PATTERNS = tuple((one, several, sign, regex(pattern, re.MULTILINE)) for one, several, sign, pattern in _MARKS)


def masked_counts(texts: Iterable[str]) -> list[tuple[str, int, int]]:
    """(class in words, different values, places) of what was masked in the answers; only classes that occur."""
    found: dict[str, tuple[set[str], int]] = {}
    # One long text: asking thousands of short ones for a dozen expressions each costs more than all of masking.
    whole = "\n".join(texts)
    low = whole.lower()
    for one, _, sign, pattern in _PATTERNS:
        if sign not in low:
            continue
        marks = [match.group().lower() for match in pattern.finditer(whole) if _is_mark(match.group())]
        if marks:
            seen, places = found.get(one, (set(), 0))
            found[one] = (seen | set(marks), places + len(marks))
    counts: list[tuple[str, int, int]] = []
    for one, several, _, _ in _PATTERNS:
        if one in found:
            seen, places = found.pop(one)
            counts.append((several if len(seen) > 1 else one, len(seen), places))
    return counts


def masked_spans(text: str) -> list[tuple[int, int]]:
    """(start, end) of what was masked in a text, in order."""
    low = text.lower()
    found = {
        match.span()
        for _, _, sign, pattern in _PATTERNS
        if sign in low
        for match in pattern.finditer(text)
        if _is_mark(match.group())
    }
    return sorted(found)


def _is_mark(word: str) -> bool:
    """Whether a long decimal number is a masked id."""
    return not word.isdecimal() or (whole_number(word, 2**64) or 0) >> 32 == _DEVICE_ID


def masked_text(counts: list[tuple[str, int, int]], identity_kept: bool = False) -> str:
    """One paragraph that says what was masked."""
    if identity_kept:
        return "Nothing was masked (--include-identity): names, addresses and secrets appear here unmasked."
    if not counts:
        return "Nothing had to be masked."
    parts = [
        f"{different} {words} (in {places} place{'' if places == 1 else 's'})" for words, different, places in counts
    ]
    return f"Masked: {', '.join(parts)}. Read the file before you post it: masking finds only known forms and places."


def summary(diagnosis: Diagnosis, counts: list[tuple[str, int, int]], identity_kept: bool = False) -> str:
    """The whole part for people as it stands in a bundle. ``counts`` are those of ``masked_counts``."""
    return text.render(document(diagnosis, counts, identity_kept), _WIDTH).rstrip("\n")


def document(diagnosis: Diagnosis, counts: list[tuple[str, int, int]], identity_kept: bool = False) -> Iterator[Block]:
    """The report, its causes in their order, results of smoke tests, and what was masked."""
    yield from report(diagnosis)
    if diagnosis.causes:
        yield GAP
        yield Heading("Causes, main one first:")
        for number, cause in enumerate(diagnosis.causes, 1):
            words = f"{number}. {cause.cause} ({cause.confidence}): {one_line(cause.message)}"
            yield Para(words, "  ", "     ", item=True)
    yield GAP
    if diagnosis.machine.smoke:
        from rocdoctor.report.smoke import smoke_document as smoke

        runs = diagnosis.machine.smoke
        yield Para(f"Smoke tests: {smoke.headline(runs)}")
        yield from smoke.details(runs)
    else:
        yield Para(("Smoke tests: not run (", Code("rocdoctor bundle --with-smoke"), ")."))
    yield GAP
    yield Para(masked_text(counts, identity_kept), "", "  ")
