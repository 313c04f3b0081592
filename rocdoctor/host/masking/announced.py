"""Secrets alone on a line below one that announces them: "the password is", a heading, "use this token:".

Pure: text in, text out; every line stays at its place. Only what nobody writes by chance is taken for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from rocdoctor.host.masking.chosen import harmless, looks_chosen
from rocdoctor.host.masking.rules import VALUE_TOKEN, MaskingTables, load_tables
from rocdoctor.host.masking.telling import looks_random, strongest_kind
from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.alike_lines import alike

Note = Callable[[str, str], None]
Span = tuple[int, int]

_LONGEST_LINE = 200
_MOST_BLANK = 2
_LEAST_WORD = 5
_FEW_WORDS = 4
_LEAST_TOKEN = 16  # signs of what a name tells less of
# What a line ends with that announces the next one.
_ENDS = regex(r"(?:[:\uff1a]|\b(?:is|are|was|use|with)[:\uff1a]?|[*_`]{1,3}[:\uff1a]?)[ \t]{0,4}\r?\Z")
_ENDING_SIGNS = frozenset(":\uff1a*_`")
_ENDING_WORDS = ("is", "are", "was", "use", "with")
_IS = regex(r"\b(?:is|are|was)[:\uff1a]?[ \t]{0,4}\r?\Z")
_HEADING = regex(r"[ \t>]{0,8}(?:#{1,6}[ \t]|\*\*|__|[-*][ \t])?[\w \t/()-]{3,60}?[*_`]{0,3}[:\uff1a]?[ \t]{0,4}\r?")
_NO_HEADING = regex(r"[^\w \t/()*_`:\uff1a>#-]|[:\uff1a].")  # a sign that no heading has
_TWO = regex(r"(?i:credentials?|log[ -]?ins?\b|user(?:name)?[ ]?[/&+,][ ]?pass)")
_FENCE = regex(r"[ \t>]{0,8}(?:`{3}|~{3})[\w+-]{0,20}[ \t]{0,4}\r?")
_ALONE = regex(r"[ \t>|]{0,40}(?:[-*\u2022][ \t]{1,4})?(?P<q>[\"'`]|\*\*|)(?P<s>[^\s\"'`]{1,200})(?P=q)[ \t]{0,8}\r?")
_PAIR = regex(r"[\w.@+-]{1,60}(?:/|:)(?P<s>[^\s/:]{5,200})")
_PROMPT = regex(r"[^\s]{0,100}[$#%>]|[\w.-]{1,40}@[\w.-]{1,80}:[^\s]{0,80}|[\w+.-]{2,20}://[^\s]{0,200}|[^\s]{0,200}:")


def mask_announced(text: str, spans: list[Span], tables: MaskingTables, note: Note) -> str:
    """``spans``: the lines in which a word tells of a secret."""
    found: list[Span] = []
    shapes = alike(text) if spans else text
    for start, end in spans:
        if end >= len(text) or end - start > _LONGEST_LINE:
            continue
        kind = _announces(shapes[start : end - 1])
        if kind:
            two = _TWO.search(text, start, end) is not None
            line = text[start : end - 1]
            found += _below(text, end, "strong" if two else kind, two, _IS.search(line) is not None, _names(line))
    out: list[str] = []
    position = 0
    for start, end in sorted(found):
        if start >= position and text[start:end] not in tables.inert:
            note("secret-value", text[start:end])
            out += [text[position:start], VALUE_TOKEN]
            position = end
    return "".join([*out, text[position:]]) if out else text


def _names(line: str) -> bool:
    """Whether a line is a telling name and nothing else."""
    return (
        strongest_kind(line.strip(" \t\r>#*_`:\uff1a"), load_tables(), 0) == "strong"
        and len(line.split()) <= _FEW_WORDS
    )


@lru_cache(maxsize=4096)
def _announces(line: str) -> str:
    """How telling a line is of what stands below it: strong, medium or ""."""
    last = line.rstrip(" \t\r")
    ends = last[-1:] in _ENDING_SIGNS or last.endswith(_ENDING_WORDS)
    if not (ends and _ENDS.search(line)) and (_NO_HEADING.search(last) or not _HEADING.fullmatch(line)):
        return ""
    if "masked-" in line:
        return ""
    kind = strongest_kind(line, load_tables())
    return kind if kind in ("strong", "medium") else ""


def _below(text: str, at: int, kind: str, two: bool, sentence: bool, bare_name: bool) -> Iterator[Span]:
    """The first word that stands alone, or the second below a line that announces two.

    ``sentence``: the line before ends with "is"; ``bare_name``: it is the name alone, as a heading. Then a word of
    letters is a secret too, below a heading if it is marked as code.
    """
    blank = seen = 0
    fenced = False
    while at < len(text) and seen < 1 + two and blank <= _MOST_BLANK:
        stop = text.find("\n", at, at + 2 * _LONGEST_LINE)
        stop = stop if stop >= 0 else min(len(text), at + 2 * _LONGEST_LINE)
        if not text[at:stop].strip(" \t\r>"):
            blank += 1
        elif not fenced and _FENCE.fullmatch(text, at, stop):
            fenced = True
        else:
            alone = _ALONE.fullmatch(text, at, stop)
            if alone is None or "masked-" in alone["s"] or _PROMPT.fullmatch(alone["s"]):
                return
            start, end = alone.span("s")
            sure_words = sentence or (bare_name and (fenced or alone["q"] != ""))
            pair = _PAIR.fullmatch(alone["s"]) if two else None
            if pair is not None:
                start, end = start + pair.start("s"), start + pair.end("s")
            value = text[start:end]
            if kind == "strong":
                told = sure_words and not harmless(value) and len(value) >= _LEAST_WORD
                sure = told or looks_chosen(value, fenced or alone["q"] != "")
            else:
                sure = len(value) >= _LEAST_TOKEN and looks_random(value)
            if sure:
                yield start, end
                return
            seen += 1
        at = stop + 1
