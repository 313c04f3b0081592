"""Where a value begins and where it ends: quotes, tags, constructors, words to which quoted parts are joined."""

from __future__ import annotations

import re

from rocdoctor.host.masking.telling import NAME_OF_VARIABLE, looks_random
from rocdoctor.model.lazy_re import regex

_OPEN_QUOTE = regex(r"[urbf]{0,2}(\"{3}|'{3}|\\{0,3}[\"'`])")
# What stands before the value itself: a tag, an anchor, a constructor; and calls that only say where it is read.
_WRAPPER = regex(
    r"(?P<t>[&!][\w.:/!-]{0,60}[ \t]{1,8})|[A-Za-z_][\w.:]{0,60}\([ \t]{0,8}(?:[A-Za-z_]\w{0,30}[ \t]{0,2}=[ \t]{0,2})?"
)
_READS = regex(
    r"(?:[\w.]{0,60}\.)?(?:getenv|fetch|get_?pass\w{0,12}|input|prompt\w{0,12}|get|read\w{0,20}|open|load\w{0,20}|"
    r"from_[a-z]{1,20})\([ \t]{0,4}|[A-Za-z_][\w.]{0,60}\[(?=[\"'])"
)
_MAKES_TEXT = regex(
    r"(?:[\w.:]{0,60}[.:])?(?:Secret\w{0,20}|str|[Ss]tring|bytes|unicode|text|repr|Some|Just|Token|of|ok|Ok|quote|format)\("
)
_NEW = regex(r"(?:new|await)[ \t]{1,4}(?=[A-Za-z_][\w.]{0,60}\()")
_MOST_WRAPPERS = 4
_MOST_JOINED = 20
_AFTER_QUOTE = frozenset(" \t\n\r,;)]}:>/|&<\\=.+\"'`")
_MOST_CLOSED = 6
_PAIRS = {")": "(", "]": "[", "}": "{"}
_CLOSERS = frozenset(")]},;")
_BARE = regex(r"[^\s\"'`]+")
_ANGLE = regex(r"<[^<>\n]{0,60}>")
_CUT = regex(r"&(?=[\w.-]{1,60}=)|[;,](?=[\w. \"'-]{1,60}[=:])|</|\\[\"']")


def unwrapped(text: str, start: int, limit: int, any_call: bool) -> int | None:
    """Where the value itself begins behind tags and constructors; None where it is only said where it is read.

    ``any_call``: whatever is called; the values of names that tell less stand in calls that make texts.
    """
    at = start
    if new := _NEW.match(text, at, limit):
        at = new.end()
    tagged = at
    for _ in range(_MOST_WRAPPERS):
        reads = _READS.match(text, at, limit)
        if reads is not None:
            span = value_span(text, reads.end(), limit, whole_line=False) if reads.group()[-1] != "[" else None
            value = text[span[0] : span[1]] if span and text[span[0] - 1] in "\"'" else ""
            return reads.end() if looks_random(value) and not NAME_OF_VARIABLE.fullmatch(value) else None
        wrapper = _WRAPPER.match(text, at, limit)
        if wrapper is None:
            break
        if not (any_call or wrapper["t"] or _MAKES_TEXT.match(wrapper.group())):
            span = (
                value_span(text, wrapper.end(), limit, whole_line=False)
                if _OPEN_QUOTE.match(text, wrapper.end())
                else None
            )
            return tagged if span is None else wrapper.end() if looks_random(text[span[0] : span[1]]) else None
        at = wrapper.end()
        if wrapper["t"] and tagged == wrapper.start():
            tagged = at
    return at if _OPEN_QUOTE.match(text, at, limit) else tagged


def at_line_start(text: str, start: int) -> bool:
    head = text[max(0, start - 60) : start].rpartition("\n")[2]
    return not head.strip(" \t-")


def value_span(text: str, start: int, limit: int, whole_line: bool) -> tuple[int, int] | None:
    """Where a value stands that begins at ``start`` and ends before ``limit``, which is in the same line."""
    quote = _OPEN_QUOTE.match(text, start, limit)
    if quote:
        begin = quote.end()
        close = quote.group(1)
        end = begin
        while True:
            end = text.find(close, end, limit)
            if end < 0:
                closes = text[begin : begin + 1] in _CLOSERS  # the quote ends a text around the name
                return (begin, limit) if limit > begin and not closes else None
            if len(close) > 1 or (end - len(text[begin:end].rstrip("\\")) - begin) % 2 == 0:
                return (begin, end) if end > begin else None
            end += 1
    bare = _ANGLE.match(text, start, limit) or _BARE.match(text, start, limit)
    if bare is None:
        return None
    value = bare.group()
    cut = _CUT.search(value, 1)
    end = cut.start() if cut else len(value.rstrip(",;")) or len(value)
    for _ in range(_MOST_CLOSED):
        if not end or not _closes(value, end):
            break
        end -= 1  # it closes what stands around the name
    if not end:
        return None
    if not cut and end == len(value):
        end = _joined(text, start + end, limit) - start
    if whole_line and not cut and text[start - 1 : start] in " \t":
        line_text = text[start:limit]
        if not re.search(r"[\"'`=;|&]", line_text):
            return start, start + len(line_text.rstrip())
    return start, start + end


def _closes(value: str, end: int) -> bool:
    opener = _PAIRS.get(value[end - 1])
    return opener is not None and value.count(value[end - 1], 0, end) > value.count(opener, 0, end)


def _joined(text: str, end: int, limit: int) -> int:
    """Where a word ends to which quoted parts are joined, as shells do: ``a"b c"'d'``."""
    for _ in range(_MOST_JOINED):
        if end + 1 >= limit or text[end] not in "\"'`" or text[end + 1] in _AFTER_QUOTE or text[end - 1] in "([{=,:<|+":
            break
        close = text.find(text[end], end + 1, limit)
        if close < 0:
            break
        bare = _BARE.match(text, close + 1, limit)
        end = close + 1
        if bare is not None and bare.group()[0] not in _AFTER_QUOTE:
            end = bare.end()
    return end
