"""Values that stand in the lines below their name: ``tokens: [``, ``key = |``, ``--password`` and the next line.

Pure: text in, text out; every line stays at its place. What a line opens is kept, since logs repeat themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

from rocdoctor.host.masking.cells import LONGEST_HEAD
from rocdoctor.host.masking.chosen import harmless, looks_chosen
from rocdoctor.host.masking.documents import is_aligned_head, is_head, mask_aligned, mask_columns
from rocdoctor.host.masking.rules import VALUE_TOKEN, MaskingTables, line_spans, load_tables
from rocdoctor.host.masking.telling import VALUE_NAMES, looks_random, placeholder, strongest_kind
from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.alike_lines import alike

Note = Callable[[str, str], None]

# A line that ends with a name and opens a value below it: "token:", "tokens: [", "--password", "key = |", "key = <<E".
_OPENS = regex(
    r"(?P<i>[ \t]{0,80})(?P<d>- )?(?P<q>[\"']?)(?P<f>--?)?(?P<n>[A-Za-z][\w .-]{0,60}?)(?P=q)(?P<c>,?)"
    r"[ \t]{0,8}(?P<o>(?:=>|[:?]?=|:)?[ \t]{0,8}(?:[!&][\w.:/!-]{1,60}[ \t]{1,8})?"
    r"(?:[|>](?:[+-]\d?|\d[+-]?)?|[\[{(]|\"{3}|'{3}|"
    r"(?:\$\(cat[ \t]{1,4})?<<[-~]?[\"']?(?P<w>\w{1,40})[\"']?)?)[ \t]{0,8}\\?\r?"
)
_INDICATORS = regex(r"(?<=[|>])[+-]?\d?[+-]?\Z")  # of a text in YAML: how its lines end, how far they stand in
_ENTRY = regex(
    r"(?P<i>[ \t]{0,80})(?P<d>-[ \t]{1,8})?(?:(?P<k>[\"']?[\w.-]{1,60}[\"']?)[ \t]{0,4}:[ \t]{1,8})?"
    r"(?P<q>[\"']?)(?P<s>[^\s\"']{1,4000})(?P=q)(?:\"{3}|'{3})?,?[ \t]{0,8}\r?"
)
# A name that ends its line, whose value is a literal in the next ones, as pprint breaks long lines.
_BREAKS = regex(
    r"[\"'](?P<n>[A-Za-z][\w .-]{0,60})[\"'][ \t]{0,4}:[ \t]{0,4}\(?"
    r"(?:[urbf]{0,2}[\"'][^\"'\n]{1,400}[\"'])?[ \t]{0,4}\r?\Z"
)
# The same for an option at the end of a line of a list of arguments.
_FLAG_BREAKS = regex(r"[\[,( \t][\"'](?P<n>--?[A-Za-z][\w-]{0,60})[\"'],[ \t]{0,4}\r?\Z")
_LITERAL = regex(r"[ \t]{1,120}[urbf]{0,2}(?P<q>[\"'])(?P<s>[^\"'\n]{1,4000})(?P=q)(?P<e>[ \t,)\]}]{0,40})\r?")
# A name with fields of its own below it, one of which is the value: Terraform, GitLab, add_argument.
_HAS_FIELDS = regex(
    r"[\"'](?P<n>-{0,2}[A-Za-z][\w.-]{0,80})[\"'][ \t]{0,4}(?:,|:?[ \t]{0,4}\{)[ \t]{0,4}\r?\Z|"
    r"\A[ \t]{0,80}(?:- )?(?P<m>[A-Za-z][\w.-]{0,80})(?::|[ \t]{1,4}\{)[ \t]{0,4}\r?\Z|"
    r"\A(?:[a-z]{1,20}[ \t]{1,4}\"(?P<r>[\w.-]{1,80})\"[ \t]{1,4}\"[\w.-]{1,80}\"[ \t]{1,4}\{|"
    r"\[(?P<x>[A-Za-z][\w .-]{0,60})\])[ \t]{0,4}\r?\Z"
)
_FIELD = regex(
    r"[ \t]{0,120}[\"']?(?P<k>[A-Za-z]{1,20})[\"']?[ \t]{0,40}(?:=>|[:=])[ \t]{0,40}"
    r"(?:\"(?P<a>[^\"\n]{1,4000})\"|'(?P<b>[^'\n]{1,4000})'|(?P<c>[^\s\"'#,{}\[\]()<|>][^\s,]{0,4000})).{0,200}",
)
# What such lines end with.
_BREAKING = frozenset(":(\"',")
_HOLDING = frozenset(",{:]")
_PATH_NAME = regex(r".{0,80}(?:path|file|dir|folder|directory)")
_MOST_LINES = 40
_MOST_FIELDS = 12
_LONGEST_LINE = 200
_WORD = regex(r"[A-Za-z0-9][\w!#$%^&*?+.-]{5,60}")
_PHRASE_WORD = regex(r"[A-Za-z][A-Za-z0-9!#$%&*?+-]{2,30}")
_LEAST_WORDS, _MOST_WORDS = 2, 12
# What sentences hold, and what answers of programs begin with.
_SENTENCE = frozenset(
    (
        *("the", "and", "are", "was", "were", "has", "have", "had", "not", "for", "from", "with", "without", "this"),
        *("that", "your", "you", "our", "its", "will", "can", "cannot", "must", "may", "should", "please", "sorry"),
        *("enter", "type", "press", "wait", "try", "use", "uses", "using", "see", "bad", "wrong", "last", "login"),
        *("welcome", "hello", "error", "warning", "invalid", "permission", "access", "connection", "failed", "only"),
        *("when", "where", "which", "how", "what", "who", "why", "all", "any", "but", "than", "then", "into", "over"),
    )
)
_AROUND = 20_000
_MOST_BEHIND = 20  # signs of a name behind the word that tells
_NOWHERE = (0, 0)


class _Opening(NamedTuple):
    indent: int
    kind: str
    opener: str
    flag: bool
    dash: bool
    word: str  # which ends a here-document
    path: bool


def mask_values_below(text: str, spans: list[tuple[int, int]], tables: MaskingTables, note: Note) -> str:
    """``spans``: the lines in which a word tells of a secret."""
    out: list[str] = []
    position = 0
    if heads := [span for span in spans if span[1] - span[0] <= LONGEST_HEAD and is_head(text, *span)]:
        made = mask_columns(text, heads, tables, note)
        text, spans = made, spans if made == text else list(line_spans(made, tables.stems))
    aligned = [one for one in spans if one[1] - one[0] <= LONGEST_HEAD and is_aligned_head(text[one[0] : one[1]])]
    if aligned and (made := mask_aligned(text, aligned, tables, note)) != text:
        text, spans = made, list(line_spans(made, tables.stems))
    shapes = alike(text) if spans else text
    for start, end in spans:
        if start < position or end - start > _LONGEST_LINE or end >= len(text):
            continue
        line = text[start : end - 1]
        shape = line if "<<" in line else shapes[start : end - 1]  # what it opens, its digits do not tell
        opening, broken, named = _opening(shape), _broken(shape), _named(shape)
        for found in (
            _values(text, end, opening) if opening else (),
            _literals(text, end, broken) if broken else (),
            _fields(text, end, *named) if named else (),
        ):
            for begin, stop in found:
                if begin < position or text[begin:stop] in tables.inert:
                    continue
                note("secret-value", text[begin:stop])
                out.append(text[position:begin] + VALUE_TOKEN)
                position = stop
    out.append(text[position:])
    return "".join(out)


def _line_end(text: str, at: int) -> int:
    stop = text.find("\n", at, at + 5000)
    return stop if stop >= 0 else min(len(text), at + 5000)


@lru_cache(maxsize=4096)
def _opening(line: str) -> _Opening | None:
    """What a line opens."""
    opens = _OPENS.fullmatch(line)
    if opens is None or "masked-" in opens["n"] or (opens["c"] and not (opens["f"] and opens["q"])):
        return None
    kind = strongest_kind(opens["n"].removesuffix(" value"), load_tables(), _MOST_BEHIND)
    opener = _INDICATORS.sub("", opens["o"].strip())
    if kind is None or not (opener or opens["f"] or kind == "strong"):
        return None
    path = _PATH_NAME.fullmatch(opens["n"].lower()) is not None
    return _Opening(len(opens["i"]), kind, opener, bool(opens["f"]), bool(opens["d"]), opens["w"] or "", path)


def _values(text: str, at: int, opening: _Opening) -> Iterator[tuple[int, int]]:
    """Where secrets stand in the lines below a name."""
    if (alone := _alone(text, at, opening)) is not None:
        yield alone
        return
    for number in range(_MOST_LINES):
        stop = _line_end(text, at)
        span = _below(text[at:stop], opening, first=number == 0)
        if span is None:
            break
        if span != _NOWHERE:
            yield at + span[0], at + span[1]
        at = stop + 1
        if at > len(text):
            break


def _alone(text: str, at: int, opening: _Opening) -> tuple[int, int] | None:
    """Where one word stands by itself below ``password:``, before nothing, an empty line or another name."""
    if opening.kind != "strong" or opening.opener != ":" or opening.flag or opening.path:
        return None
    stop = _line_end(text, at)
    if not text[at:stop].strip():  # one empty line
        at, stop = stop + 1, _line_end(text, stop + 1)
    after = text[stop + 1 : _line_end(text, stop + 1)].strip()
    word = text[at:stop].strip()
    one = _WORD.fullmatch(word) and not harmless(word)
    if not (one or _phrase(word)) or (after and not after.endswith(":")):
        return None
    begin = text.index(word, at)
    # What is found is replaced wherever it stands: a word that the text needs elsewhere may be a technical one.
    end = begin + len(word)
    if not looks_chosen(word) and (
        text.find(word, max(0, begin - _AROUND), begin) >= 0 or text.find(word, end, end + _AROUND) >= 0
    ):
        return None
    return begin, end


def _phrase(line: str) -> bool:
    """Whether a line is some words as a passphrase has them: no sentence, no answer of a program."""
    words = line.split(" ")
    if not (_LEAST_WORDS <= len(words) <= _MOST_WORDS and all(map(_PHRASE_WORD.fullmatch, words))):
        return False
    if not _SENTENCE.isdisjoint(word.lower() for word in words):
        return False
    if any(map(looks_chosen, words)):
        return True
    return all(word.islower() for word in words) and not (harmless(words[-1]) or words[-1].endswith(("ed", "ing")))


@lru_cache(maxsize=4096)
def _below(line: str, opening: _Opening, first: bool) -> tuple[int, int] | None:
    """Where the secret stands in a line below a name; None where the value has ended."""
    if opening.word:
        inside = line.strip()
        if inside == opening.word or placeholder(inside) or inside.startswith("masked-"):
            return None if inside == opening.word else _NOWHERE
        begin = line.index(inside[0]) if inside else 0
        sure = opening.kind in ("strong", "medium") and opening.opener[:1] in (":", "=", "?")
        return (begin, begin + len(inside)) if sure or looks_random(inside) else _NOWHERE
    entry = _ENTRY.fullmatch(line)
    if entry is None:
        return None
    opener, value = opening.opener, entry["s"]
    quoted = opener[-3:] in ('"""', "'''")
    within = quoted or opener[-1:] in ("[", "{", "(", "|", ">")
    item = bool(entry["d"]) and len(entry["i"]) >= opening.indent
    deeper = len(entry["i"]) > opening.indent or item
    alone = not deeper and not within
    if within and not quoted and opener[-1:] in ("|", ">") and not deeper:
        return None  # the text has ended
    if (alone and not first) or value in ("]", "}", ")", "],", "},") or not (deeper or within or first):
        return None
    if opening.flag:
        if not (first and (alone or (item and opening.dash))):
            return None
        # The next argument of a list, one a line.
        sure = opening.kind == "strong" and not opener and not value.startswith("-") and not opening.path
        return entry.span("s") if (sure and not placeholder(value)) or looks_random(value) else _NOWHERE
    if value in ("[", "{", "(", "|", ">", "|-", ">-"):
        return None  # another name with its own values
    sure = opening.kind == "strong" and not entry["k"] and (deeper or quoted) and bool(opener)
    sure = sure and strongest_kind(value, load_tables(), 0) is None  # the name of a secret
    sure = sure or (opening.kind == "medium" and deeper and opener[-1:] in ("|", ">"))
    if value.startswith("masked-") or placeholder(value):
        return _NOWHERE
    if not (sure or looks_random(value)) or value.endswith(":"):
        return _NOWHERE
    return entry.span("s")


@lru_cache(maxsize=4096)
def _broken(line: str) -> str | None:
    """How telling the name is that ends a line, if its value goes on below."""
    last = line.rstrip(" \t\r")[-1:]
    if last not in _BREAKING:
        return None
    breaks = _FLAG_BREAKS.search(line) if last == "," else _BREAKS.search(line)
    if breaks is None or breaks["n"].endswith(("-stdin", "-file", "-fd", "-prompt")):
        return None
    return strongest_kind(breaks["n"], load_tables(), _MOST_BEHIND)


def _literals(text: str, at: int, kind: str) -> Iterator[tuple[int, int]]:
    """Where the parts of a literal stand in the lines below its name."""
    for _ in range(_MOST_LINES):
        stop = _line_end(text, at)
        literal = _LITERAL.fullmatch(text, at, stop)
        if literal is None:
            break
        if (kind == "strong" and not placeholder(literal["s"])) or looks_random(literal["s"]):
            yield literal.span("s")
        if literal["e"].strip():
            break
        at = stop + 1


@lru_cache(maxsize=4096)
def _named(line: str) -> tuple[str, int] | None:
    """How telling the name is that has fields in the lines below, and how far these are indented at least."""
    found = _HAS_FIELDS.search(line) if line.rstrip(" \t\r")[-1:] in _HOLDING else None
    if found is None:
        return None
    name = found["n"] or found["m"] or found["r"] or found["x"]
    kind = strongest_kind(name, load_tables(), _MOST_BEHIND)
    if kind is None:
        return None
    section = line.rstrip(" \t\r").endswith((",", "]"))  # its fields need not stand further in
    indent = len(line) - len(line.lstrip(" \t")) + (not section)
    return "strong" if kind == "medium" and (name.startswith("-") or name.isupper()) else kind, indent


def _fields(text: str, at: int, kind: str, indent: int) -> Iterator[tuple[int, int]]:
    """Where the value of a name stands among its fields."""
    for _ in range(_MOST_FIELDS):
        stop = _line_end(text, at)
        line = text[at:stop]
        inner = line.lstrip(" \t")
        if not inner.strip() or inner[0] in ")}]" or len(line) - len(inner) < indent:
            break
        field = _FIELD.fullmatch(line.rstrip("\r"))
        if field and (field["k"].lower() in VALUE_NAMES or field["k"] == "result"):
            group = "a" if field["a"] else "b" if field["b"] else "c"
            value = field[group]
            if not placeholder(value) and not value.startswith("masked-") and (kind == "strong" or looks_random(value)):
                yield at + field.start(group), at + field.end(group)
            break
        at = stop + 1
        if at > len(text):
            break
