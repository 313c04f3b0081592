"""Values of names, headers and arguments that say "secret": ``password=...``, ``--api-key ...``, ``tokens: [...]``."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator

from rocdoctor.host.masking.cells import BEFORE_GAP, paired_span
from rocdoctor.host.masking.extent import at_line_start, unwrapped, value_span
from rocdoctor.host.masking.rules import VALUE_TOKEN, MaskingTables, line_spans
from rocdoctor.host.masking.telling import KEY_REST, kind_of, looks_random, placeholder
from rocdoctor.model.lazy_re import regex

Note = Callable[[str, str], None]

# A value is judged by its beginning, so that hostile text with a name at every step costs linear time.
_JUDGED = 256
_LONGEST_LIST = 8000
_LONGEST_INNER_LIST = 300

_LEFT = regex(r"[\w.\[\]-]{0,60}\Z", re.ASCII)
_SEPARATOR = regex(
    r"(?: (?:\[[\w *-]{0,30}\]|\([a-z ]{1,20}\))(?=:))?(?:\\{0,3}[\"'`]|\*\*)?\]?[ \t]{0,80}"
    r"(?:=>|:=|={1,2}|:(?!:)|[\uff1a\uff1d])(?:\*\*(?=[ \t]))?[ \t]{0,80}"
)
_ARGUMENT_GAP = regex(r"[\"']?(?:[ \t]*,)?[ \t]{1,8}|[\"'],")
_BLANK_GAP = regex(r"[ \t]{1,8}(?=[\"']?[A-Za-z0-9+/=_.~!@#$%^&*-]{16})")
_VERSION = regex(r"v?\d+(?:[.!]\w+)+(?:[+-][\w.]+)?[,;)\]}]*|latest")
_IS_GAP = regex(r"[ \t]{1,4}is[ \t:]{1,4}")
# What a password may be said to be.
_STATES = regex(
    r"(?:un)?set|locked|changed|(?:in)?correct|wrong|used|needed|stored|hidden|weak|strong|disabled|enabled|allowed|asked|"
    r"being|too|also|only|an?|the|in|on|of|from|as|longer|shorter|valid|never|always|read|written|sent|taken|now|still"
)
_PATH_KEY = regex(r".{0,80}(?:path|file|dir|folder|directory)s?\]?", re.IGNORECASE | re.DOTALL)
# What nsswitch.conf says of the databases of accounts.
_SWITCH = frozenset(("files", "systemd", "compat", "sss", "ldap", "nis", "nisplus", "winbind", "db", "dns", "altfiles"))
_CHAIN = regex(r"(?:([A-Za-z_.-]{1,60})[=:]){8,}")
_ITEM = regex(r"\"(?P<a>[^\"\n]{1,4000})\"|'(?P<b>[^'\n]{1,4000})'|(?P<c>[^\s,\[\](){}:=\"'][^\s,\[\](){}\"']{0,4000})")


def mask_named_values(text: str, tables: MaskingTables, note: Note) -> str:
    """The text with the values of secret-like names replaced; none reaches over its line."""
    out: list[str] = []
    position = listed = 0
    passed = [0]
    for match, line_end in _keywords(text, tables, passed):
        rest = KEY_REST.match(text, match.end(), line_end)
        after = rest.end() if rest else match.end()
        left = _LEFT.search(text, max(position, match.start() - 60), match.start())
        key_start = left.start() if left else match.start()
        separator = _SEPARATOR.match(text, after, line_end)
        argument = text[key_start : key_start + 1] == "-"
        if separator is None and argument:
            separator = _ARGUMENT_GAP.match(text, after, line_end)
        if separator is None and match.lastgroup in ("strong", "medium"):
            separator = _IS_GAP.match(text, after, line_end)
        kind = kind_of(match, rest)
        if separator is None and kind in ("strong", "medium") and text[after : after + 1] in BEFORE_GAP:
            span = paired_span(text, key_start, after, kind, line_end, tables)
            if span is not None:
                note("secret-value", text[span[0] : span[1]])
                out.append(text[position : span[0]] + VALUE_TOKEN)
                position = passed[0] = span[1]
                continue
        if separator is None and kind in ("strong", "medium"):
            # "set api-key VALUE": only what nobody would write by hand, and is long.
            separator = _BLANK_GAP.match(text, after, line_end)
            kind = "random"
        if separator is None or kind is None:
            continue
        if "is" in separator.group() and match.lastgroup == "medium":
            kind = "random"
        opening = text[separator.end() : separator.end() + 1]
        if opening and opening in "[{(":
            inside = separator.end() < listed
            if inside and kind != "strong":
                continue  # in a list that was looked through
            longest = _LONGEST_INNER_LIST if inside else _LONGEST_LIST
            spans, end = _list_spans(
                text, separator.end(), min(line_end, separator.end() + longest), kind, tables.inert
            )
            listed = max(listed, end)
        else:
            spans = _single_span(text, key_start, after, separator, kind, argument, line_end, tables.inert)
            passed[0] = max(passed[0], _chain_end(text, separator.end(), line_end))
        for start, end in spans:
            note("secret-value", text[start:end])
            out.append(text[position:start] + VALUE_TOKEN)
            position = end
            passed[0] = max(passed[0], end)
    out.append(text[position:])
    return "".join(out)


def _keywords(text: str, tables: MaskingTables, passed: list[int]) -> Iterator[tuple[re.Match[str], int]]:
    """Each word that tells of a secret, with the end of its line; nothing before ``passed[0]``, which may grow."""
    for start, end in line_spans(text, tables.stems):
        line_end = end - 1 if text[end - 1] == "\n" else end
        at = start
        while at < end and (match := tables.keyword.search(text, max(at, passed[0]), end)):
            yield match, line_end
            at = match.end()


def _single_span(
    text: str, key_start: int, after: int, separator: re.Match[str], kind: str, argument: bool, line_end: int,
    inert: Collection[str],
) -> list[tuple[int, int]]:  # fmt: skip
    """Where the one value of a name stands, if it is a secret."""
    whole_line = kind == "strong" and at_line_start(text, key_start)
    begin = unwrapped(text, separator.end(), min(line_end, separator.end() + _JUDGED), kind == "strong")
    if begin is None:
        return []
    span = value_span(text, begin, min(line_end, begin + _JUDGED), whole_line)
    if span is None:
        return []
    if kind != "strong" and text[span[1] - 1] in "([{":
        return []  # an expression
    key = text[key_start:after]
    if key == "pass" and "=" in separator.group() and text[max(0, key_start - 1) : key_start] in (",", ";", "&", "?"):
        kind = "strong"  # an option of a mount, a parameter
    if _IS_GAP.fullmatch(separator.group()) and _STATES.fullmatch(text[span[0] : span[1]].strip(".,;)").lower()):
        return []
    tag = separator.group() == "==" or (separator.group() == ":" and (key_start == 0 or text[key_start - 1] != '"'))
    if tag and _VERSION.fullmatch(text[span[0] : span[1]]):
        return []  # a requirement, or an image with its tag
    if not _is_secret(kind, key, separator.group(), text[span[0] : span[1]], argument, inert):
        return []
    return [value_span(text, begin, line_end, whole_line) or span]


def _chain_end(text: str, start: int, line_end: int) -> int:
    """Where the last of many assignments in a row begins (``key=key=...``); ``start`` where there are few.

    Those in between have no values but the next name.
    """
    chain = _CHAIN.match(text, start, line_end)
    return chain.start(1) if chain else start


def _list_spans(
    text: str, start: int, limit: int, kind: str, inert: Collection[str]
) -> tuple[list[tuple[int, int]], int]:
    """Where secrets stand in ``["a", "b"]`` or ``{k: "a"}`` behind a name, and where that ends; a key is none."""
    closing = {"[": "]", "{": "}", "(": ")"}[text[start]]
    end = text.find(closing, start, limit)
    end = end if end >= 0 else limit
    found: list[tuple[int, int]] = []
    for item in _ITEM.finditer(text, start + 1, end):
        if text[item.end() : item.end() + 1] in (":", "="):
            continue
        begin, stop = item.span(item.lastgroup or 0)
        value = text[begin:stop]
        sure = kind == "strong" and text[start] == "[" and not placeholder(value)
        if value.split(" ", 1)[0] not in inert and (sure or looks_random(value)):
            found.append((begin, stop))
    return found, end


def _is_secret(kind: str, key: str, separator: str, value: str, argument: bool, inert: Collection[str]) -> bool:
    stripped = value.strip()
    if value.split(" ", 1)[0].rstrip(",;)]}") in inert or stripped.split(":", 1)[0] in inert:
        return False
    # Digits alone are a count for a "token" or a "pass", but they may well be a password.
    if placeholder(value) and not (kind == "strong" and stripped.isdigit() and len(stripped) > 1):
        return False
    if "masked-" in stripped and any(token in stripped for token in inert):
        return False
    if key in ("PWD", "OLDPWD") or (key.lower().endswith("pwd") and stripped[:1] in "/~"):
        return False
    if (
        stripped[:1] in ("/", "~", ".")
        and _PATH_KEY.fullmatch(key)
        and re.match(r"(?:/|~/|\.{1,2}/)[\w.~@+-]", stripped)
    ):
        return False
    if kind == "strong":
        return not (key.lower().endswith(("passwd", "shadow")) and _SWITCH.issuperset(stripped.split()))
    assigned = "=" in separator
    if kind == "medium" and (argument or (assigned and key.isupper() and len(key) > 4)):
        return not stripped.startswith(("/", "~", "tcp://", "http"))
    if kind == "weak" and argument and not assigned:
        return len(stripped) >= 16 and looks_random(stripped)
    if kind == "weak" and not assigned and '"' not in separator and "'" not in separator:
        return False
    return looks_random(stripped)
