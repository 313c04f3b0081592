"""Values of names, headers and arguments that say "secret": ``password=...``, ``--api-key ...``, ``tokens: [...]``."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache

from rocdoctor.host.masking.rules import VALUE_TOKEN, MaskingTables, line_spans, load_tables
from rocdoctor.model.lazy_re import regex

Note = Callable[[str, str], None]

# A value is judged by its beginning, so that hostile text with a name at every step costs linear time.
_JUDGED = 256
_LONGEST_LIST = 8000
_LONGEST_INNER_LIST = 300
_LONGEST_PAIR = 4000
LONGEST_HEAD = 400

_LEFT = regex(r"[\w.\[\]-]{0,60}\Z", re.ASCII)
_KEY_REST = regex(r"[\w.-]{0,40}", re.ASCII)
_SEPARATOR = regex(
    r"(?: (?:\[[\w *-]{0,30}\]|\([a-z ]{1,20}\))(?=:))?(?:\\{0,3}[\"'`]|\*\*)?\]?[ \t]{0,80}"
    r"(?:=>|:=|={1,2}|:(?!:)|[\uff1a\uff1d])(?:\*\*(?=[ \t]))?[ \t]{0,80}"
)
_ARGUMENT_GAP = regex(r"[\"']?(?:[ \t]*,)?[ \t]{1,8}|[\"'],")
# Two quoted words, and two cells of a table.
_PAIR_GAP = regex(r"[\"'][ \t]{0,8},[ \t]{0,8}(?:default[ \t]{0,4}=[ \t]{0,4})?(?=[urbf]{0,2}[\"'])")
_CELL_GAP = regex(r"[\"'`*]{0,3}[ \t]{0,80}(?:(?P<b>[|\u2502\u2503\u2551])[ \t]{0,80}|,)[\"'`]{0,2}")
_CELL = regex(
    r"[^\s|\u2502\u2503\u2551,\"'`]{2,400}(?=[\"'`]{0,2}[ \t]{0,80}(?:[|\u2502\u2503\u2551,]|$))", re.MULTILINE
)
_CELL_BEGIN = regex(r"(?:^|[|\u2502\u2503\u2551])[ \t]{0,80}[\"'`*]{0,3}\Z", re.MULTILINE)
_CELL_WORDS = regex(
    r"values?|types?|descriptions?|defaults?|meanings?|stat(?:us|e)|users?|usernames?|hosts?|names?|notes?|comments?|"
    r"logins?|urls?|scopes?|sources?|used|count|size|kind|data|age|ready|e?mails?|expires?|roles?|[A-Z][A-Z0-9]*_[A-Z0-9_]*",
    re.IGNORECASE,
)
_NAME_OF_VARIABLE = regex(r"[A-Z][A-Z0-9]*_[A-Z0-9_]*")
_BLANK_GAP = regex(r"[ \t]{1,8}(?=[\"']?[A-Za-z0-9+/=_.~!@#$%^&*-]{16})")
_VERSION = regex(r"v?\d+(?:[.!]\w+)+(?:[+-][\w.]+)?[,;)\]}]*|latest")
_IS_GAP = regex(r"[ \t]{1,4}is[ \t:]{1,4}")
# What a password may be said to be.
_STATES = regex(
    r"(?:un)?set|locked|changed|(?:in)?correct|wrong|used|needed|stored|hidden|weak|strong|disabled|enabled|allowed|asked|"
    r"being|too|also|only|an?|the|in|on|of|from|as|longer|shorter|valid|never|always|read|written|sent|taken|now|still"
)
_OPEN_QUOTE = regex(r"[urbf]{0,2}(\"{3}|'{3}|\\{0,3}[\"'`])")
# What stands before the value itself: a tag, an anchor, a constructor; and calls that only say where it is read.
_WRAPPER = regex(
    r"(?P<t>[&!][\w.:/!-]{0,60}[ \t]{1,8})|[A-Za-z_][\w.:]{0,60}\([ \t]{0,8}(?:[A-Za-z_]\w{0,30}[ \t]{0,2}=[ \t]{0,2})?"
)
_READS = regex(
    r"(?:[\w.]{0,60}\.)?(?:getenv|get_?pass\w{0,12}|input|prompt\w{0,12}|get|read\w{0,20}|open|load\w{0,20}|"
    r"from_[a-z]{1,20})\([ \t]{0,4}|[A-Za-z_][\w.]{0,60}\[(?=[\"'])"
)
_MAKES_TEXT = regex(
    r"(?:[\w.:]{0,60}[.:])?(?:Secret\w{0,20}|str|[Ss]tring|bytes|unicode|text|repr|Some|Just|Token|of|ok|Ok|quote|format)\("
)
_MOST_WRAPPERS = 4
_MOST_JOINED = 20
_AFTER_QUOTE = frozenset(" \t\n\r,;)]}:>/|&<\\=.+\"'`")
_CLOSERS = frozenset(")]},;")
_PATH_KEY = regex(r".{0,80}(?:path|file|dir|folder|directory)s?\]?", re.IGNORECASE | re.DOTALL)
# What nsswitch.conf says of the databases of accounts.
_SWITCH = frozenset(("files", "systemd", "compat", "sss", "ldap", "nis", "nisplus", "winbind", "db", "dns", "altfiles"))
_BARE = regex(r"[^\s\"'`]+")
_CHAIN = regex(r"(?:([A-Za-z_.-]{1,60})[=:]){8,}")
_ANGLE = regex(r"<[^<>\n]{0,60}>")
_CUT = regex(r"&(?=[\w.-]{1,60}=)|[;,](?=[\w. \"'-]{1,60}[=:])|</|\\[\"']")
_ITEM = regex(r"\"(?P<a>[^\"\n]{1,4000})\"|'(?P<b>[^'\n]{1,4000})'|(?P<c>[^\s,\[\](){}:=\"'][^\s,\[\](){}\"']{0,4000})")
_PLACEHOLDER = regex(
    r"(?:true|false|null|none|nil|yes|no|on|off|n/?a|unset|undefined|not|required|optional|enabled|disabled|redacted|"
    r"empty|missing|invalid|expired|str|string|bytes|\d{1,6}|[*x.-]+|\$[A-Za-z_{(]?[\w.:}?@)-]{0,80}|\$\{\{.*|%\w+%|\{\{.*|"
    r"\{|\[|\(|\||>|<.*>)[,;)\]}]*",
    re.IGNORECASE | re.DOTALL,
)


def secret_name(name: str) -> bool:
    """True for a variable name whose value is a secret by its name alone (``HF_TOKEN``, ``DB_PASSWORD``)."""
    return name not in ("PWD", "OLDPWD") and strongest_kind(name, load_tables()) in ("strong", "medium")


def kind_of_name(name: str, tables: MaskingTables) -> str | None:
    """How telling the whole name of a column is: a name of which only a part tells is one of another thing."""
    found = None
    for match in tables.keyword.finditer(name):
        rest = _KEY_REST.match(name, match.end())
        if (rest.end() if rest else match.end()) != len(name):
            continue
        kind = kind_of(match, rest)
        plain = kind == "medium" and match.start() == 0  # "token", "pass": a count more often than not
        found = found or ("weak" if plain else kind)
    return found


def strongest_kind(name: str, tables: MaskingTables, most_behind: int | None = None) -> str | None:
    """The most telling kind among the words of a name; with ``most_behind`` of those that nearly end it."""
    kinds = set()
    for match in tables.keyword.finditer(name):
        behind = name[match.end() :]
        if most_behind is None or (len(behind) <= most_behind and " " not in behind):
            kinds.add(kind_of(match, _KEY_REST.match(name, match.end())))
    return next((kind for kind in ("strong", "medium", "weak") if kind in kinds), None)


def placeholder(value: str) -> bool:
    """True for a value that stands for no secret at all: empty, a flag, a small number, a variable reference."""
    return not value.strip() or _PLACEHOLDER.fullmatch(value.strip()) is not None


def kind_of(match: re.Match[str], rest: re.Match[str] | None) -> str | None:
    """How telling a name is: strong, medium, weak, or None when the word only starts like one (tokenizer, author)."""
    suffix = rest.group() if rest else ""
    kind, word = match.lastgroup, match.group().lower()
    if suffix[:1] in ("s", "S") and not suffix[1:2].isalpha():
        suffix = suffix[1:]
        kind = "weak" if kind == "medium" else kind  # "tokens" is a count more often than not
    if kind == "strong":
        return None if suffix[:2].lower() == "_p" and word == "pwd" else kind
    if suffix[:1].isalpha():
        return kind if suffix.startswith(("Token", "Key", "Value", "String")) else None
    if word == "token" and re.match(r"_?(?:id|ids|count|type|len|length|limit|per|drop)", suffix[1:]):
        return None
    return kind


def mask_named_values(text: str, tables: MaskingTables, note: Note) -> str:
    """The text with the values of secret-like names replaced; none reaches over its line."""
    out: list[str] = []
    position = listed = 0
    passed = [0]
    for match, line_end in _keywords(text, tables, passed):
        rest = _KEY_REST.match(text, match.end(), line_end)
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
        if separator is None and kind in ("strong", "medium") and text[after : after + 1] in _BEFORE_GAP:
            span = _paired(text, key_start, after, kind, line_end, tables)
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


_BEFORE_GAP = frozenset(" \t\"'`*,|\u2502\u2503\u2551")


def _paired(
    text: str, key_start: int, after: int, kind: str, line_end: int, tables: MaskingTables
) -> tuple[int, int] | None:
    """Where the secret stands in ``"NAME", "value"`` or in the cell behind that of the name."""
    key = text[key_start:after]
    variable = key.isupper() and len(key) > 4
    gap = _PAIR_GAP.match(text, after, line_end)
    if gap is not None:
        if text[key_start - 1 : key_start] not in ("'", '"'):
            return None
        span = _value(text, gap.end(), min(line_end, gap.end() + _LONGEST_PAIR), whole_line=False)
        sure = variable or key.startswith("--")
    else:
        gap = _CELL_GAP.match(text, after, line_end)
        if gap is None or not _CELL_BEGIN.search(text, max(0, key_start - 90), key_start):
            return None
        if gap["b"] is None and not (variable and "_" in key):
            return None
        line = text.rfind("\n", max(0, key_start - LONGEST_HEAD), key_start) + 1
        if gap["b"] and " " not in gap.group() and text[line : line + 40].lstrip()[:1] != gap["b"]:
            return None  # alternatives
        cell = _CELL.match(text, gap.end(), min(line_end, gap.end() + _LONGEST_PAIR))
        span = cell.span() if cell else None
        if span and not variable and kind == "strong":  # in a row of two cells
            rest = text[span[1] : min(line_end, span[1] + 200)].strip("\"'`* \t|\u2502\u2503\u2551\r")
            sure = not rest and _CELL_WORDS.fullmatch(text[span[0] : span[1]]) is None
        else:
            sure = variable
    if span is None:
        return None
    value = text[span[0] : span[1]]
    if (
        " " in value
        or placeholder(value)
        or value.split(" ", 1)[0] in tables.inert
        or _NAME_OF_VARIABLE.fullmatch(value)
    ):
        return None
    if value.lower() in tables.common_words or "masked-" in value:
        return None
    return span if (sure and not _CELL_WORDS.fullmatch(value)) or looks_random(value) else None


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
    whole_line = kind == "strong" and _at_line_start(text, key_start)
    begin = _unwrapped(text, separator.end(), min(line_end, separator.end() + _JUDGED), kind == "strong")
    if begin is None:
        return []
    span = _value(text, begin, min(line_end, begin + _JUDGED), whole_line)
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
    return [_value(text, begin, line_end, whole_line) or span]


def _unwrapped(text: str, start: int, limit: int, any_call: bool) -> int | None:
    """Where the value itself begins behind tags and constructors; None where it is only said where it is read.

    ``any_call``: whatever is called; the values of names that tell less stand in calls that make texts.
    """
    at = start
    tagged = start
    for _ in range(_MOST_WRAPPERS):
        reads = _READS.match(text, at, limit)
        if reads is not None:
            span = _value(text, reads.end(), limit, whole_line=False) if reads.group()[-1] != "[" else None
            value = text[span[0] : span[1]] if span and text[span[0] - 1] in "\"'" else ""
            return reads.end() if looks_random(value) and not _NAME_OF_VARIABLE.fullmatch(value) else None
        wrapper = _WRAPPER.match(text, at, limit)
        if wrapper is None:
            break
        if not (any_call or wrapper["t"] or _MAKES_TEXT.match(wrapper.group())):
            span = (
                _value(text, wrapper.end(), limit, whole_line=False) if _OPEN_QUOTE.match(text, wrapper.end()) else None
            )
            return tagged if span is None else wrapper.end() if looks_random(text[span[0] : span[1]]) else None
        at = wrapper.end()
        if wrapper["t"] and tagged == wrapper.start():
            tagged = at
    return at if _OPEN_QUOTE.match(text, at, limit) else tagged


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


def _at_line_start(text: str, start: int) -> bool:
    head = text[max(0, start - 60) : start].rpartition("\n")[2]
    return not head.strip(" \t-")


def _value(text: str, start: int, limit: int, whole_line: bool) -> tuple[int, int] | None:
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
    if not cut and end == len(value):
        end = _joined(text, start + end, limit) - start
    if whole_line and not cut and text[start - 1 : start] in " \t":
        line_text = text[start:limit]
        if not re.search(r"[\"'`=;|&]", line_text):
            return start, start + len(line_text.rstrip())
    return start, start + end


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


_BY_HAND = regex(r"[\d.:+-]+|v?\d+(?:\.\w+)+|[\d.]+[a-zA-Z%]{1,6}")
_OF_BOTH = regex(r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9+/=_.~!@#$%^&*-]+")


@lru_cache(maxsize=4096)
def looks_random(value: str) -> bool:
    """True for a value that nobody would write by hand: letters mixed with digits, or long with high entropy."""
    if len(value) < 6 or " " in value or value[:1] in "/~<(" or value[:2] in ("0x", "./") or _BY_HAND.fullmatch(value):
        return False
    if _OF_BOTH.fullmatch(value):
        return True
    if len(value) < 20:
        return False
    counts = Counter(value)
    return -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values()) >= 3.5
