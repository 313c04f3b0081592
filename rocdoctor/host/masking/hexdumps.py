"""Secrets in dumps of bytes over several lines, as ``hexdump -C`` and ``xxd`` write them.

A line belongs to a dump where the number at its start grows by the bytes of the line before it. Pure: text in, text
out; every line stays at its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from rocdoctor.host.masking.continued import replaced_spans
from rocdoctor.host.masking.encoded import readable
from rocdoctor.host.masking.rules import CODED_TOKEN, MaskingTables
from rocdoctor.host.masking.secrets import mask_secrets
from rocdoctor.model.lazy_re import regex

Note = Callable[[str, str], None]

_BEGINS = regex(r"^[0-9a-fA-F]{4,16}:?[ \t]{1,3}[0-9a-fA-F]{2}", re.M)
_LINE = regex(r"(?P<o>[0-9a-fA-F]{4,16})(?P<c>:?)(?P<b>[ \t]{1,3})(?P<r>[0-9a-fA-F]{2}.{0,300})")
_HEX = regex(r"(?:[0-9a-fA-F]{2}){1,64}")


def mask_hexdumps(text: str, tables: MaskingTables, note: Note) -> str:
    """The text with the bytes of each line of a dump replaced that holds a part of a secret."""
    if "\n" not in text or not _BEGINS.search(text):
        return text
    lines = text.split("\n")
    for first, parts in _dumps(lines):
        said = readable(b"".join(parts))
        masked = mask_secrets(said, tables, _nowhere)
        if not said or masked == said:
            continue
        for (start, end), _ in replaced_spans(said, masked):
            at = 0
            for number, part in enumerate(parts, first):
                if at < end and at + len(part) > start and (found := _LINE.fullmatch(lines[number].rstrip())):
                    note("coded-secret", found["r"])
                    lines[number] = f"{found['o']}{found['c']}{found['b']}{CODED_TOKEN}"
                at += len(part)
    return "\n".join(lines)


def _dumps(lines: list[str]) -> Iterator[tuple[int, list[bytes]]]:
    """The first line of each dump, and the bytes of all its lines."""
    parts: list[bytes] = []
    follows = first = 0
    for number, line in enumerate(lines):
        found = _LINE.fullmatch(line.rstrip())
        data = _bytes(found["r"]) if found is not None else b""
        offset = int(found["o"], 16) if found is not None else -1
        if parts and (not data or offset != follows):
            if len(parts) > 1:
                yield first, parts
            parts = []
        if data:
            first = number if not parts else first
            parts.append(data)
            follows = offset + len(data)
    if len(parts) > 1:
        yield first, parts


def _bytes(rest: str) -> bytes:
    """The bytes of a line: what stands before the bar, or before the first wide gap."""
    digits = rest.partition("|")[0] if "|" in rest else rest.partition("  ")[0]
    digits = digits.replace(" ", "").replace("\t", "")
    return bytes.fromhex(digits) if _HEX.fullmatch(digits) else b""


def _nowhere(_cls: str, _value: str) -> None:
    pass
