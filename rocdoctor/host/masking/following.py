"""Secrets in the lines behind a name that says it all: sums, forms, dialogues, cells and values of an INSERT.

Pure: text in, text out; every line stays at its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from rocdoctor.host.masking.chosen import harmless, looks_chosen
from rocdoctor.host.masking.rows import in_cells, inserted
from rocdoctor.host.masking.rules import VALUE_TOKEN, MaskingTables, load_tables
from rocdoctor.host.masking.telling import strongest_kind
from rocdoctor.model.lazy_re import regex

Note = Callable[[str, str], None]
Span = tuple[int, int]

_LONGEST_LINE = 400
_WINDOW = 4000
_LONGEST_INSERT = 20_000
_MOST_LINES = 20
_MOST_BEHIND = 3
# A value that goes on in the next line: password = "a" + \
_GOES_ON = regex(
    r"(?P<n>[A-Za-z_$@][\w.$-]{0,60})[\"'\]]{0,2}(?::[ \t]{0,4}[\w&<>\[\], |'?]{1,60}|"
    r"[ \t]{1,4}[Aa]s[ \t]{1,4}\w{1,30})?"
    r"[ \t]{0,8}[:+|?]{0,2}=[ \t]{0,8}\(?[ \t]{0,4}"
    r"(?:(?:[urbf]{0,2}(?:\"[^\"\n]{0,400}\"|'[^'\n]{0,400}')|masked-value)[ \t]{0,8})?"
    r"[(]?[ \t]{0,4}(?P<o>[+.&]|\|\||\?\?)?[ \t]{0,4}\\?[ \t]{0,8}\r?\Z"
)
_MORE = frozenset("=(+.&|?\\\"'")  # what a line ends with whose value goes on
_PART = regex(
    r"[ \t]{0,120}(?P<o>[+.&]|\|\||\?\?)?[ \t]{0,8}[urbf]{0,2}(?P<q>[\"'])(?P<s>[^\"'\n]{1,400})(?P=q)"
    r"(?P<e>[ \t]{0,8}(?:[+.&]|\|\||\?\?)?[ \t]{0,8}\\?)[ \t;,)]{0,8}\r?"
)
_IN_BRACKETS = regex(r"=[ \t]{0,8}\(")  # strings side by side are one there
_COMMENT = regex(r"[ \t]{0,120}(?://|#|--)[ \t]")
# The names of an INSERT, and the first argument of a call that sets a name, in lines of their own.
_COLUMNS = regex(r"[ \t]{0,80}\([^()\n]{1,400}\)[ \t]{0,8}\r?")
_INTO = regex(r"(?i:\binto)[ \t\r\n]{1,20}[^\s;]{1,120}[ \t\r\n]{0,40}\Z")
_ARGUMENT = regex(r"[ \t]{0,120}[\"'](?P<n>[\w.-]{1,80})[\"'],[ \t]{0,8}\r?")
_CALL = regex(
    r"(?i:\b(?:put|set|add|define|setenv|putenv|append|insert|update|property|field|option|with|register|"
    r"store)\w{0,20})\([ \t]{0,8}\r?\n\Z"
)
_SETTER = regex(r"(?i:\bset_?\w{0,20}(?:passw(?:or)?d|passphrase|secret))\([ \t]{0,8}\r?")
_ASKED = regex(r"[ \t]{0,40}\?[ \t]{1,4}[\"']?(?P<n>[\w.-]{1,80})[\"']?[ \t]{0,8}\r?")
_ANSWER = regex(r"[ \t]{0,40}:[ \t]{1,4}[\"']?(?P<s>[^\s\"'][^\n\"']{0,400}?)[\"']?[ \t]{0,8}\r?")
_FORM = regex(r"(?i:content-disposition:[^\n]{0,100}\bname=)\"?(?P<n>[\w.\[\]-]{1,80})\"?")
_PROMPT = regex(r"[ \t]{0,40}(?P<n>[A-Za-z][\w -]{0,60}):[ \t]{0,8}\r?")
_ALONE = regex(r"[ \t]{0,40}(?P<s>[^\s]{1,400})[ \t]{0,8}\r?")
_SENDS = regex(
    r"\b(?:send(?:line|_line|user|text|keys)?|write(?:line)?)"
    r"\b[ \t(]{1,4}(?:-{1,2}[ \t]{1,4})?[bru]?\"(?P<s>[^\"\n]{1,400})\"|"
    r"\bsend(?:line)?\b[ \t(]{1,4}[bru]?'(?P<t>[^'\n]{1,400})'"
)
_LINE_END = regex(r"(?:\\[rn]){1,4}\Z")


def mask_following(text: str, spans: list[Span], tables: MaskingTables, note: Note) -> str:
    """``spans``: the lines in which a word tells of a secret."""
    found: list[Span] = []
    looked = 0
    for start, end in spans:
        if end >= len(text) or end - start > _LONGEST_LINE:
            continue
        line = text[start : end - 1]
        kind = _opens(line)
        if not kind:
            continue
        if kind == "columns":
            into = _INTO.search(text, max(0, start - 200), start)
            window = text[start - len(into.group()) : start + _LONGEST_INSERT] if into is not None else ""
            window = window.partition(";")[0]
            shift = start - len(into.group()) if into is not None else 0
            found += [(shift + begin, shift + last) for begin, last in inserted(window, tables)]
        elif kind == "argument":
            if _CALL.search(text, max(0, start - 80), start):
                found += _sum(text, end, "=")
        elif kind == "sum":
            found += _sum(text, end, line)
        elif kind == "answer":
            found += _single(text, end, 0)
        elif kind in ("form", "prompt"):
            found += _below_blank(text, end, kind)
        elif kind == "dialogue":
            found += _sent(text, end)
        elif start >= looked:
            stop = min(len(text), start + (_LONGEST_INSERT if kind == "insert" else _WINDOW))
            looked = end
            window = text[start:stop]
            if kind == "insert":
                values = window.find(";")
                window = window if values < 0 else window[:values]
                looked = start + len(window)
            told = inserted(window, tables) if kind == "insert" else in_cells(window, tables)
            found += [(start + begin, start + last) for begin, last in told]
    out: list[str] = []
    position = 0
    for start, end in sorted(found):
        value = text[start:end]
        if start < position or "masked-" in value or harmless(value) or value in tables.inert:
            continue
        note("secret-value", value)
        out.append(text[position:start] + VALUE_TOKEN)
        position = end
    return "".join([*out, text[position:]]) if out else text


def _tells(name: str) -> bool:
    return strongest_kind(name, load_tables(), _MOST_BEHIND) == "strong"


@lru_cache(maxsize=4096)
def _opens(line: str) -> str:
    """How the value of a strong name goes on in the lines below this one, if it may."""
    shape = _shape(line)
    return shape if shape and strongest_kind(line, load_tables()) == "strong" else ""


def _shape(line: str) -> str:
    low = line.lower()
    asked = _ASKED.fullmatch(line) if "?" in line else None
    if asked is not None:
        return "answer" if _tells(asked["n"]) else ""
    if "</t" in low or "</d" in low:
        return "cells"
    if "into" in low and "(" in low:
        return "insert"
    if "form-data" in low:
        form = _FORM.search(line)
        return "form" if form is not None and _tells(form["n"]) else ""
    if "expect" in low or "waitfor" in low or "read_until" in low:
        return "dialogue"
    last = line.rstrip(" \t\r")[-1:]
    if last == ")":
        return "columns" if _COLUMNS.fullmatch(line) else ""
    if last == ",":
        argument = _ARGUMENT.fullmatch(line)
        return "argument" if argument is not None and _tells(argument["n"]) else ""
    if last == "(" and _SETTER.search(line):
        return "sum"
    if last == ":":
        prompt = _PROMPT.fullmatch(line)
        return "prompt" if prompt is not None and _tells(prompt["n"]) else ""
    if "=" not in line or not (last in _MORE or line.endswith("masked-value")):
        return ""
    sums = _GOES_ON.search(line)
    return "sum" if sums is not None and _tells(sums["n"]) else ""


def _line(text: str, at: int) -> int:
    stop = text.find("\n", at, at + 2000)
    return stop if stop >= 0 else min(len(text), at + 2000)


def _sum(text: str, at: int, line: str) -> Iterator[Span]:
    """The parts of a sum in the lines below."""
    head = line.rstrip(" \t\r\\")
    more = head[-1:] in ("+", ".", "&", "=", "|", "?", "(") or line.rstrip(" \t\r").endswith("\\")
    inside = _IN_BRACKETS.search(line) is not None
    for _ in range(_MOST_LINES):
        stop = _line(text, at)
        if (more or inside) and _COMMENT.match(text, at, stop):
            at = stop + 1
            continue
        part = _PART.fullmatch(text, at, stop)
        if part is None or not (more or inside or part["o"]):
            break
        yield part.span("s")
        inside = inside and ")" not in text[part.end("s") : stop]
        more = bool(part["e"].strip())
        at = stop + 1


def _single(text: str, at: int, least: int) -> Iterator[Span]:
    stop = _line(text, at)
    answer = _ANSWER.fullmatch(text, at, stop)
    if answer is not None and len(answer["s"]) > least:
        yield answer.span("s")


def _below_blank(text: str, at: int, kind: str) -> Iterator[Span]:
    """The line below an empty one; a prompt may be answered by what looks chosen alone."""
    stop = _line(text, at)
    if text[at:stop].strip():
        return
    alone = _ALONE.fullmatch(text, stop + 1, _line(text, stop + 1))
    if alone is not None and (kind == "form" or looks_chosen(alone["s"])):
        yield alone.span("s")


def _sent(text: str, at: int) -> Iterator[Span]:
    """What is sent in one of the next two lines."""
    for _ in range(2):
        stop = _line(text, at)
        sends = _SENDS.search(text, at, stop)
        if sends is not None:
            start, end = sends.span("s" if sends["s"] is not None else "t")
            ending = _LINE_END.search(text, start, end)
            yield start, ending.start() if ending else end
            break
        at = stop + 1
