"""Secrets that reach over line ends: private key blocks, values below their names, wrapped base64.

Pure: text in, text out. Runs on whole answers, before their lines are masked one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rocdoctor.host.masking.cells import LONGEST_HEAD
from rocdoctor.host.masking.documents import is_head, mask_columns, mask_documents
from rocdoctor.host.masking.encoded import holds_secret
from rocdoctor.host.masking.rules import CODED_TOKEN, PRIVATE_KEY_TOKEN, VALUE_TOKEN, MaskingTables, line_spans
from rocdoctor.host.masking.secrets import apply_rule, mask_secrets
from rocdoctor.host.masking.telling import looks_random, placeholder, strongest_kind
from rocdoctor.model.lazy_re import regex

Note = Callable[[str, str], None]

_BEGIN = regex(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END = regex(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_LINE = regex(
    r"[\s>|#\"'+,\\nr]{0,40}(?:(?:Proc-Type|DEK-Info|Version|Comment): .{0,200}|[A-Za-z0-9+/=\\]{16,})[\"'\\+,]{0,8}\s*"
)
_KEY_TAIL = regex(r"[\s>|#]{0,40}[A-Za-z0-9+/=]{1,80}\s*")

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
# A letter or digit that JSON writes as an escape, as nobody does but to hide a word.
_LETTER = regex(r"\\u00(3[0-9]|[46][1-9a-fA-F]|[57][0-9aA])")
# A word that goes on in the next line: its end, the backslash, the line end and its rest.
_BROKEN = regex(r"(?<=[^\s\\])\\\r?\n[ \t]{0,40}(?P<s>[^\s\\]{1,400})")
_MOST_BROKEN = 2000
# What stands before each of several lines: ranks, names of containers, quotes of mails, comments.
_PREFIX = r"\[[^\]\n\[]{1,40}\]:?|[\w.-]{1,30} {0,20}\||>{1,3}|[#+;]|//"
_PREFIX_OF = regex(_PREFIX)
_PREFIXED = regex(rf"^(?P<p>{_PREFIX})[^\n]*\n(?P=p)", re.M)
_PREFIX_SIGNS = ("|", "\n[", "\n>", "\n#", "\n+", "\n;", "\n//")
_MOST_PREFIXES = 2
_MOST_BEHIND = 20  # signs of a name behind the word that tells
_WRAPPED = regex(
    r"^(?P<i>[ \t]{0,40})[A-Za-z0-9+/_-]{40,200}\n(?:(?P=i)[A-Za-z0-9+/_-]{40,200}\n){0,400}"
    r"(?:(?P=i)[A-Za-z0-9+/_-]{1,200}={0,2}(?:\n|\Z))?",
    re.M,
)


def mask_blocks(text: str, tables: MaskingTables, note: Note, prefixes: int = 0) -> str:
    """The text without secrets that stand on several lines; every line that is kept stays at its place."""
    if "PRIVATE KEY" in text:
        text = _private_keys(text, note)
    if "\\u00" in text:
        text = _LETTER.sub(lambda match: chr(int(match[1], 16)), text)
    rules = tables.rules_for(text, span=True)
    spans = list(line_spans(text, tables.stems)) if "\n" in text else []
    before = text
    if (spans or rules) and prefixes < _MOST_PREFIXES and any(sign in text for sign in _PREFIX_SIGNS):
        text = _behind_prefixes(text, tables, note, prefixes + 1)
    for rule in rules:
        text = apply_rule(rule, text, tables.inert, note)
    text = mask_documents(text, tables, note)
    if "\n" not in text:
        return text
    if "\\\n" in text or "\\\r\n" in text:
        text = _broken(text, tables, note)
    if spans:
        text = _values_below(text, spans if text is before else list(line_spans(text, tables.stems)), tables, note)
    return _WRAPPED.sub(lambda match: _wrapped(match, tables, note), text)


def _behind_prefixes(text: str, tables: MaskingTables, note: Note, prefixes: int) -> str:
    """The text with each run of lines masked that begin with the same prefix, as if it were not there."""
    if not _PREFIXED.search(text):
        return text
    out: list[str] = []
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        found = _PREFIX_OF.match(lines[at])
        prefix = found.group() if found is not None else ""
        end = at + 1
        while prefix and end < len(lines) and lines[end].startswith(prefix):
            end += 1
        if end - at > 1:
            inner = "\n".join(line[len(prefix) :] for line in lines[at:end])
            low = inner.lower()
            if any(stem in low for stem in tables.stems) or any(word in low for word, _ in tables.span_literals):
                masked = mask_blocks(inner, tables, note, prefixes)
                out += [prefix + line for line in masked.split("\n")]
                at = end
                continue
        out += lines[at:end]
        at = end
    return "\n".join(out)


def _broken(text: str, tables: MaskingTables, note: Note) -> str:
    """The text with secrets masked that a backslash at the end of a line cuts in two; the lines stay."""
    out: list[str] = []
    position = 0
    for count, match in enumerate(_BROKEN.finditer(text)):
        start = max(position, text.rfind("\n", max(position, match.start() - 4000), match.start()) + 1)
        if count >= _MOST_BROKEN or start > match.start():
            break
        whole = text[start : match.start()] + match["s"]
        masked = mask_secrets(whole, tables, note)
        # Whether it reaches over the cut: the rest alone would be left as it is.
        if masked == whole or masked.endswith(match["s"]):
            continue
        out += [text[position:start], masked, text[match.start() : match.start("s")], VALUE_TOKEN]
        position = match.end()
    return "".join([*out, text[position:]]) if out else text


def _wrapped(match: re.Match[str], tables: MaskingTables, note: Note) -> str:
    block = match.group()
    if not holds_secret("".join(block.split()), tables):
        return block
    note("coded-secret", block)
    return "\n".join(match["i"] + CODED_TOKEN if line else "" for line in block.split("\n"))


def _values_below(text: str, spans: list[tuple[int, int]], tables: MaskingTables, note: Note) -> str:
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


def _private_keys(text: str, note: Note) -> str:
    out: list[str] = []
    position = 0
    for begin in _BEGIN.finditer(text):
        if begin.start() < position:
            continue
        out.append(_key_before_end(text[position : begin.start()], note))
        end = _END.search(text, begin.end(), begin.end() + 20000)
        following = _BEGIN.search(text, begin.end(), end.start()) if end else None
        stop = end.end() if end and not following else _truncated(text, begin.end())
        note("private-key", text[begin.start() : stop])
        out.append(PRIVATE_KEY_TOKEN + ("\n" if text[stop - 1 : stop] == "\n" else ""))
        position = stop
    out.append(_key_before_end(text[position:], note))
    return "".join(out)


def _truncated(text: str, start: int) -> int:
    """Where a block without an end line stops: after the last line that looks like base64."""
    stop = start
    first = True
    while stop < len(text):
        end = text.find("\n", stop) + 1 or len(text)
        line = text[stop:end]
        if line.strip() and not _KEY_LINE.fullmatch(line) and not (_KEY_TAIL.fullmatch(line) and not first):
            cut = re.match(r"[A-Za-z0-9+/=\\\s]{0,8000}", line)
            return stop + (cut.end() if cut and first else 0)
        first = first and not line.strip()
        stop = end
    return stop


def _key_before_end(text: str, note: Note) -> str:
    """Text with the lines before an end line that has no begin line (a key whose head was cut off) masked."""
    out: list[str] = []
    position = 0
    for end in _END.finditer(text):
        start = end.start()
        while start > position:
            previous = max(position, text.rfind("\n", position, start - 1) + 1)
            line = text[previous:start]
            if not (_KEY_LINE.fullmatch(line) or _KEY_TAIL.fullmatch(line)):
                break
            start = previous
        note("private-key", text[start : end.end()])
        out.append(text[position:start] + PRIVATE_KEY_TOKEN)
        position = end.end()
    out.append(text[position:])
    return "".join(out)
