"""Secrets that reach over line ends: private key blocks, values below their names, wrapped base64.

Pure: text in, text out. Runs on whole answers, before their lines are masked one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rocdoctor.host.masking.announced import mask_announced
from rocdoctor.host.masking.below import mask_values_below
from rocdoctor.host.masking.continued import mask_continued, mask_hyphenated
from rocdoctor.host.masking.documents import mask_documents
from rocdoctor.host.masking.encoded import holds_secret
from rocdoctor.host.masking.following import mask_following
from rocdoctor.host.masking.hexdumps import mask_hexdumps
from rocdoctor.host.masking.pairs import mask_pairs
from rocdoctor.host.masking.rules import CODED_TOKEN, PRIVATE_KEY_TOKEN, VALUE_TOKEN, MaskingTables, line_spans
from rocdoctor.host.masking.secrets import apply_rule, mask_secrets
from rocdoctor.model.lazy_re import regex

Note = Callable[[str, str], None]

_BEGIN = regex(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END = regex(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_LINE = regex(
    r"[\s>|#\"'+,\\nr]{0,40}(?:(?:Proc-Type|DEK-Info|Version|Comment): .{0,200}|[A-Za-z0-9+/=\\]{16,})[\"'\\+,]{0,8}\s*"
)
_KEY_TAIL = regex(r"[\s>|#]{0,40}[A-Za-z0-9+/=]{1,80}\s*")

# A letter or digit that JSON writes as an escape, as nobody does but to hide a word.
_LETTER = regex(r"\\u00(3[0-9]|[46][1-9a-fA-F]|[57][0-9aA])")
# A word that goes on in the next line: its end, the backslash, the line end and its rest.
_BROKEN = regex(r"(?<=[^\s\\])\\\r?\n[ \t]{0,40}(?P<s>[^\s\\]{1,400})")
_MOST_BROKEN = 2000
_GOES_ON = tuple(f" {sign}{end}" for sign in "\\`^" for end in ("\n", "\r\n"))
# What stands before each of several lines: ranks, names of containers, quotes of mails, comments.
_PREFIX = r"\[[^\]\n\[]{1,40}\]:?|[\w.-]{1,30} {0,20}\||>{1,3}|[#+;]|//"
_PREFIX_OF = regex(_PREFIX)
_PREFIXED = regex(rf"^(?P<p>{_PREFIX})[^\n]*\n(?P=p)", re.M)
_PREFIX_SIGNS = ("|", "\n[", "\n>", "\n#", "\n+", "\n;", "\n//")
_MOST_PREFIXES = 2
_WRAPPED = regex(
    r"^(?P<i>[ \t]{0,40})[A-Za-z0-9+/_-]{40,200}\n(?:(?P=i)[A-Za-z0-9+/_-]{40,200}\n){0,400}"
    r"(?:(?P=i)[A-Za-z0-9+/_-]{1,200}={0,2}(?:\n|\Z))?",
    re.M,
)


def mask_blocks(text: str, tables: MaskingTables, note: Note, prefixes: int = 0) -> str:
    """The text without secrets that stand on several lines; every line that is kept stays at its place."""
    if "PRIVATE KEY" in text:
        text = _private_keys(text, note)
    text = mask_hexdumps(text, tables, note)
    if "\\u00" in text:
        text = _LETTER.sub(lambda match: chr(int(match[1], 16)), text)
    rules = tables.rules_for(text, span=True)
    spans = list(line_spans(text, tables.stems))
    before = text
    if (spans or rules) and prefixes < _MOST_PREFIXES and any(sign in text for sign in _PREFIX_SIGNS):
        text = _behind_prefixes(text, tables, note, prefixes + 1)
    for rule in rules:
        text = apply_rule(rule, text, tables.inert, note)
    text = mask_documents(text, tables, note)
    if spans:
        spans = spans if text == before else list(line_spans(text, tables.stems))
        before, text = text, mask_pairs(text, spans, tables, note)
    if "\n" not in text:
        return text
    if "\\\n" in text or "\\\r\n" in text:
        text = _broken(text, tables, note)
    if any(sign in text for sign in _GOES_ON):
        text = mask_continued(text, tables, note)
    if "-\n" in text or "-\r\n" in text or "- \n" in text:
        text = mask_hyphenated(text, tables, note)
    if spans:
        spans = spans if text == before else list(line_spans(text, tables.stems))
        before, text = text, mask_following(text, spans, tables, note)
        spans = spans if text == before else list(line_spans(text, tables.stems))
        before, text = text, mask_values_below(text, spans, tables, note)
        spans = spans if text == before else list(line_spans(text, tables.stems))
        text = mask_announced(text, spans, tables, note)
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
            if any(stem in low for stem in tables.stems) or any(word in low for word in tables.span_literals):
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
