"""Names and values under keys of their own: ``name: DB_PASSWORD`` and ``value: ...``, ``{"k": "token", "v": ...}``.

Pure: text in, text out; every line stays at its place. The two may stand in either order and in different lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from rocdoctor.host.masking.rules import VALUE_TOKEN, MaskingTables
from rocdoctor.host.masking.telling import looks_random, placeholder, strongest_kind
from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.alike_lines import alike

Note = Callable[[str, str], None]

_QUOTE = r"\\{0,3}[\"']?"
_SIGN = r"[ \t]{0,3}(?:=>|[:=])[ \t]{0,3}"
# "name", "Key", "ParameterKey", "variable_name", "k", with the name behind it.
_NAMED = regex(
    rf"(?<![A-Za-z0-9])(?:[A-Za-z]{{2,20}}[_-]?(?=(?i:key|name|field|id)\b))?"
    rf"(?i:name|key|k|n|variable|var|field|option|setting|property|attribute|parameter|param|label|id|title)"
    rf"{_QUOTE}{_SIGN}{_QUOTE}(?P<n>-{{0,2}}[A-Za-z_][\w.-]{{1,80}})(?![\w.-])"
)
_VALUED = regex(
    rf"(?<![A-Za-z0-9])(?:[A-Za-z]{{2,20}}[_-]?(?=(?i:value)\b))?"
    rf"(?i:value|val|v|default|content|contents|plaintext|secretstring)"
    rf"{_QUOTE}{_SIGN}(?:[&!][\w.:/!-]{{1,60}}[ \t]{{1,8}})?"
    rf"(?:(?P<q>\\{{0,3}}[\"'])(?P<a>[^\"'\n]{{1,4000}}?)(?=(?P=q))|(?P<b>[^\s\"'\\,}}<>\[({{][^\s\"'\\,}}<>]{{0,4000}}))"
)
# A value in the lines below: "value: >-", '"value":' at the end of a line. The group o is there where it may be many.
_VALUED_BELOW = regex(
    rf"(?P<k>(?<![A-Za-z0-9])(?:[A-Za-z]{{2,20}}[_-]?(?=(?i:value)\b))?"
    rf"(?i:value|val|v|default|content|contents|plaintext|secretstring)){_QUOTE}{_SIGN}"
    rf"(?:[&!][\w.:/!-]{{1,60}}[ \t]{{1,8}})?(?P<o>[|>](?:[+-]\d?|\d[+-]?)?)?[ \t]{{0,8}}(?:[ \t]#[^\n]{{0,80}})?\r?\n"
)
_BELOW = regex(r"(?P<i>[ \t]{0,80})(?P<s>[^\s][^\n]{0,4000}?)[ \t\r]{0,8}(?:\n|\Z)|[ \t\r]{0,80}\n")
_SCALAR = regex(
    r"(?:(?P<q>[\"'])(?P<a>[^\"'\n]{1,4000})(?P=q)|(?P<s>[^\s\"',{}\[\]]{1,4000}))"
    r"[,;)}\]]{0,8}(?:[ \t]{1,8}[,;)}\]]{1,8}){0,4}(?:[ \t]{1,8}#[^\n]{0,4000})?"
)
# No value, or one in the lines below.
_NOTHING = regex(r"(?i:null|none|nil|~|#|\|[-+\d]{0,2})")
# Where what belongs together ends: the next object, the next entry of a list, an empty line.
_ENDS = regex(r"[{}]|\n[ \t\r]{0,80}(?:\n|- )|</|/>")
# What is a key of something that is kept secret: SECRET_KEY of Django, ENCRYPTION_KEY.
_KEY_OF = regex(r"(?i:\w{0,40}(?:secret|encryption|signing|private|master)_?key)\Z")
_FARTHEST = 400
_MOST_LINES = 5
_MOST_BELOW = 40
_MOST_BEHIND = 3  # signs of a name behind the word that tells: DB_PASSWORD_2


def mask_pairs(text: str, spans: list[tuple[int, int]], tables: MaskingTables, note: Note) -> str:
    """The text without values whose names stand under another key beside them.

    ``spans``: the lines in which a word tells of a secret.
    """
    out: list[str] = []
    position = before = 0
    valued: bool | None = None  # whether there is any value; looked for behind the first name
    shapes = alike(text) if spans else text
    for name in (one for span in spans if _names(shapes[slice(*span)]) for one in _NAMED.finditer(text, *span)):
        kind = strongest_kind(name["n"], tables, _MOST_BEHIND)
        since, before = before, name.end()
        hidden = kind in ("strong", "medium")
        if (not hidden and not (kind == "weak" and _KEY_OF.match(name["n"]))) or name["n"] in tables.inert:
            continue
        if valued is None and not (valued := bool(_VALUED.search(text) or _VALUED_BELOW.search(text))):
            return text
        for start, end in _values(text, name, since):
            value = text[start:end]
            if start < position or value.split(" ", 1)[0] in tables.inert or "masked-" in value:
                continue
            if placeholder(value) and not (kind == "strong" and value.isdigit() and len(value) > 3):
                continue
            telling = kind == "strong" or (hidden and tables.keyword.match(name["n"].lstrip("-")) is None)
            if telling or looks_random(value):
                note("secret-value", value)
                out.append(text[position:start] + VALUE_TOKEN)
                position = end
    return "".join([*out, text[position:]]) if out else text


_LONG = 400  # signs of a line: longer ones repeat themselves less, and are not kept


def _names(shape: str) -> bool:
    """Whether a name may stand under a key in a line of this shape; logs repeat themselves but for their digits."""
    return len(shape) > _LONG or _names_in(shape)


@lru_cache(maxsize=4096)
def _names_in(shape: str) -> bool:
    return _NAMED.search(shape) is not None


def _values(text: str, name: re.Match[str], since: int) -> Iterator[tuple[int, int]]:
    """Where the value of a name stands: behind it, or else before it; ``since`` is the end of the name before it."""
    end = min(len(text), name.end() + _FARTHEST)
    following = _NAMED.search(text, name.end(), end)
    end = following.start() if following else end
    stops = _ENDS.search(text, name.end(), end)
    stop = stops.start() if stops else end
    found = next(_inline(text, name.end(), stop), None)
    for below in _VALUED_BELOW.finditer(text, name.end(), min(len(text), stop + 1)):
        if found is not None and found.start() < below.start():
            break
        if text.count("\n", name.start(), below.start()) > _MOST_LINES:
            break
        if lines := list(_lines_below(text, below)):
            yield from lines
            return  # a key with nothing below it, "default:", leaves the word to the others
    if found is None:
        start = max(since, name.start() - _FARTHEST)
        for stops in _ENDS.finditer(text, start, name.start()):
            start = stops.end()
        before = list(_inline(text, start, name.start()))
        found = before[-1] if before else None
    if found is not None and text.count("\n", min(name.start(), found.start()), found.end()) <= _MOST_LINES:
        yield found.span("a" if found["a"] else "b")


def _inline(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    return (one for one in _VALUED.finditer(text, start, end) if not _NOTHING.fullmatch(one["b"] or one["a"]))


def _lines_below(text: str, key: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The lines of a value below its key: of a text in YAML all that stand further in than the key, else one word."""
    column = key.start() - text.rfind("\n", 0, key.start()) - 1
    if text.endswith(('"', "'"), 0, key.start()):
        column -= 1
    at = key.end()
    for _ in range(_MOST_BELOW if key["o"] else _MOST_LINES):
        line = _BELOW.match(text, at)
        if line is None or (line["s"] and len(line["i"]) <= column):
            return
        if line["s"] and key["o"]:
            yield line.span("s")
        elif line["s"] and not line["s"].startswith("#"):
            one = _SCALAR.fullmatch(line["s"])
            if one and not (one["s"] or "").endswith(":"):
                start, end = one.span("a" if one["a"] else "s")
                yield line.start("s") + start, line.start("s") + end
            return
        at = line.end()
        if at >= len(text):
            return
