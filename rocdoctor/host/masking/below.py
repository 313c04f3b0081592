"""Values that stand in the lines below their name: ``tokens: [``, ``key = |``, ``--password`` and the next line.

Pure: text in, text out; every line stays at its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rocdoctor.host.masking.cells import LONGEST_HEAD
from rocdoctor.host.masking.documents import is_head, mask_columns
from rocdoctor.host.masking.rules import VALUE_TOKEN, MaskingTables, line_spans
from rocdoctor.host.masking.telling import looks_random, placeholder, strongest_kind
from rocdoctor.model.lazy_re import regex

Note = Callable[[str, str], None]

# A line that ends with a name and opens a value below it: "token:", "tokens: [", "--password", "key = |".
_OPENS = regex(
    r"(?P<i>[ \t]{0,80})(?:- )?(?P<q>[\"']?)(?P<f>--?)?(?P<n>[A-Za-z][\w .-]{0,60}?)(?P=q)"
    r"[ \t]{0,8}(?P<o>(?:=>|:=|[:=])?[ \t]{0,8}(?:[|>][+-]?\d?|[\[{(]|\"{3}|'{3})?)[ \t]{0,8}\\?\r?"
)
_ENTRY = regex(
    r"(?P<i>[ \t]{0,80})(?P<d>-[ \t]{1,8})?(?:(?P<k>[\"']?[\w.-]{1,60}[\"']?)[ \t]{0,4}:[ \t]{1,8})?"
    r"(?P<q>[\"']?)(?P<s>[^\s\"']{1,4000})(?P=q),?[ \t]{0,8}\r?"
)
_MOST_LINES = 40
_MOST_BEHIND = 20  # signs of a name behind the word that tells


def mask_values_below(text: str, spans: list[tuple[int, int]], tables: MaskingTables, note: Note) -> str:
    """``spans``: the lines in which a word tells of a secret."""
    out: list[str] = []
    position = 0
    if heads := [span for span in spans if span[1] - span[0] <= LONGEST_HEAD and is_head(text, *span)]:
        text = mask_columns(text, heads, tables, note)
        spans = list(line_spans(text, tables.stems))
    for start, end in spans:
        if start < position or end - start > 200:
            continue
        opens = _OPENS.fullmatch(text, start, end - 1 if text[end - 1] == "\n" else end)
        kind = strongest_kind(opens["n"], tables, _MOST_BEHIND) if opens else None
        if (
            opens is None
            or kind is None
            or "masked-" in opens["n"]
            or not (opens["o"].strip() or opens["f"] or kind == "strong")
        ):
            continue
        at = end
        for number in range(_MOST_LINES):
            stop = text.find("\n", at, at + 5000)
            stop = stop if stop >= 0 else min(len(text), at + 5000)
            span = _below(text, at, stop, opens, kind, tables, first=number == 0)
            if span is None:
                break
            if span[1] > span[0]:
                note("secret-value", text[span[0] : span[1]])
                out.append(text[position : span[0]] + VALUE_TOKEN)
                position = span[1]
            at = stop + 1
            if at > len(text):
                break
    out.append(text[position:])
    return "".join(out)


def _below(
    text: str, at: int, stop: int, opens: re.Match[str], kind: str, tables: MaskingTables, first: bool
) -> tuple[int, int] | None:
    """Where the secret stands in a line below a name (start = end: nowhere); None where the value has ended."""
    entry = _ENTRY.fullmatch(text, at, stop)
    if entry is None:
        return None
    opener = opens["o"].strip()
    quoted = opener[-3:] in ('"""', "'''")
    inside = quoted or opener[-1:] in ("[", "{", "(", "|", ">")
    deeper = len(entry["i"]) > len(opens["i"]) or (bool(entry["d"]) and len(entry["i"]) >= len(opens["i"]))
    alone = not deeper and not inside
    if (alone and not first) or (entry["s"] in ("]", "}", ")", "],", "},")) or not (deeper or inside or first):
        return None
    if opens["f"] and not (alone and first):
        return None
    value = entry["s"]
    if value in ("[", "{", "(", "|", ">", "|-", ">-"):
        return None  # another name with its own values
    sure = kind == "strong" and not entry["k"] and (deeper or quoted) and bool(opener)
    sure = sure or (kind == "medium" and deeper and opener[-1:] in ("|", ">"))
    if value.startswith("masked-") or value in tables.inert or placeholder(value):
        return at, at
    if not (sure or looks_random(value)) or value.endswith(":"):
        return at, at
    return entry.span("s")
