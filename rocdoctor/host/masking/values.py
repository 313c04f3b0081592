"""Values of names, headers and arguments that say "secret": ``password=...``, ``--api-key ...``, ``tokens: [...]``."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Collection, Iterator

from rocdoctor.host.masking.beside import mask_beside
from rocdoctor.host.masking.cells import BEFORE_GAP, paired_span
from rocdoctor.host.masking.chosen import harmless, is_type
from rocdoctor.host.masking.extent import at_line_start, unwrapped, value_span
from rocdoctor.host.masking.rows import is_unpacked
from rocdoctor.host.masking.rules import VALUE_TOKEN, MaskingTables, load_tables, lower, own_word
from rocdoctor.host.masking.telling import (
    KEY_REST,
    VALUE_NAMES,
    kind_of,
    looks_minted,
    looks_random,
    placeholder,
    strongest_kind,
)
from rocdoctor.model.lazy_re import regex

Note = Callable[[str, str], None]

# A value is judged by its beginning, so that hostile text with a name at every step costs linear time.
_JUDGED = 256
_INERT = "masked-"
_LONGEST_LIST = 8000
_LONGEST_INNER_LIST = 300

_LONGEST_LEFT = 60
_LONGEST_BEFORE = 16  # signs of a telling word before its stem: "verification code"
# Stems with which words begin: nothing that is longer can stand before them.
_WHOLE = frozenset(("token", "auth", "secret", "credential", "jwt", "cookie", "webhook", "pass", "pwd"))
_KEY_SIGNS = string.ascii_letters + string.digits + "_.[]-"
# A word of letters, a number or nothing behind a name that tells little: no secret, whatever the rest of the name is.
_DULL = regex(
    r"[\w.-]{0,40}[\"']?[ \t]{0,8}[:=][ \t]{0,80}"
    r"(?:\Z|(?:[A-Za-z_]{1,19}|\d{1,12}(?:\.\d{1,9})?)[,;:]?(?=\s|\Z)(?![ \t]{1,8}->))",
    re.ASCII,
)
_SEPARATOR = regex(
    r"(?: (?:\[[\w *-]{0,30}\]|\([a-z ,.]{1,60}\))(?=:))?(?:\\{0,3}[\"'`]|\*\*)?\]?[ \t]{0,80}"
    r"(?:=>|(?:\?{1,2}|\|\||//|:{1,3}|\+)=|={1,3}|:(?!:)|[\uff1a\uff1d])(?:\*\*(?=[ \t]))?[ \t]{0,80}"
)
# A declaration with its type: password: &str = "x", PASSWORD As String = "x".
_TYPED = regex(
    r"(?:\??:[ \t]{0,4}|[ \t]{1,4}[Aa]s[ \t]{1,4})[&*]{0,2}(?:'\w{1,20}[ \t])?(?:mut[ \t])?[A-Za-z_][\w.:]{0,60}"
    r"(?:[<\[][^=\n\"'{}]{0,80}[>\]])?[?!]?(?:[ \t]{0,2}\|[ \t]{0,2}\w{1,30}){0,4}[ \t]{0,8}=(?![=>])[ \t]{0,8}"
    r"(?=[urbf]{0,2}[\"'`]|[A-Za-z_][\w.:]{0,60}\()"
)
# An option with its default in a call that declares it, and the name of a block: variable "db_password" {
_DECLARED = regex(
    r"[\"'][ \t]{0,8},(?:[ \t]{0,8}(?:[\"']--?[A-Za-z][\w-]{0,40}[\"']|(?!default\b)\w{1,30}[ \t]{0,4}=[ \t]{0,4}"
    r"(?:\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|[^\s,\"'()]{1,60})),){0,12}[ \t]{0,8}"
    r"default[ \t]{0,4}=[ \t]{0,4}(?=[urbf]{0,2}[\"'])"
)
_BLOCK_GAP = regex(r"[\"'][ \t]{1,8}(?=\{)")
# The new value in what a plan or a log says of a change: "old" -> "new".
_BECOMES = regex(
    r"(?:\"[^\"\n]{0,400}\"|'[^'\n]{0,400}'|\([a-z ]{1,40}\)|[^\s\"']{1,400})[ \t]{1,8}->[ \t]{1,8}(?=[\"'])"
)
# A here-string is the value; another sign of redirection and the next option are none.
_ARGUMENT_GAP = regex(
    r"[ \t]{1,8}<<<[ \t]{0,8}|[\"']?(?:[ \t]*,)?[ \t]{1,8}(?![ \t]|<{1,3}(?:[ \t]|\Z)|--[A-Za-z])|[\"'],"
)
_BLANK_GAP = regex(r"[ \t]{1,8}(?=(?!--[A-Za-z])[\"']?[A-Za-z0-9+/=_.~!@#$%^&*-]{16})")
# What leads from a name to its value in the list of arguments that a trainer prints.
_LEADER = regex(r"[ \t]{1,4}\.{3,120}[ \t]{1,4}")
_VERSION = regex(r"v?\d+(?:[.!]\w+)+(?:[+-][\w.]+)?[,;)\]}]*|latest")
_IS_GAP = regex(r"[ \t]{1,4}is[ \t:]{1,4}")
# What a password may be said to be.
_STATES = regex(
    r"(?:un)?set|hashed|generated|encrypted|masked|none|null|empty|nil|given|visible|shown|expired|"
    r"missing|locked|changed|(?:in)?correct|wrong|used|needed|stored|hidden|weak|strong|disabled|enabled|"
    r"allowed|asked|"
    r"being|too|also|only|an?|the|in|on|of|from|as|longer|shorter|valid|never|always|read|written|sent|taken|now|still"
)
# With what a sentence goes on that tells no password.
_GOES_ON = regex(
    r"(?:to|an?|the|in|on|of|from|as|at|by|for|with|not|no|being|only|that|this|how|what|where|when|"
    r"whether|your|my|our|their|"
    r"its|very|now|still|never|always|stored|used|needed|read|written|sent|taken|asked|required|missing|expired)\b"
)
_PATH_KEY = regex(r".{0,80}(?:path|file|dir|folder|directory)s?\]?", re.IGNORECASE | re.DOTALL)
# What nsswitch.conf says of the databases of accounts.
_SWITCH = frozenset(("files", "systemd", "compat", "sss", "ldap", "nis", "nisplus", "winbind", "db", "dns", "altfiles"))
_KEY_SIGN = regex(r"[ \t]{0,8}[:=]")
# Options, and numbers that no secret is: 0.5, 1e-3, 16k.
_OPTION = regex(r"-[A-Za-z]|--[a-z][a-z-]{0,60}")
_ANNOTATION = regex(r"(?:\w{1,20}\.)?(?:Optional|Union|Literal|Annotated|[Ll]ist|[Dd]ict|Sequence|Mapping)\[")
_WORD_OF_CALL = regex(r"[a-z]\w{0,30}=(?=[A-Za-z\"'\[(])")
_NUMBER = regex(r"[+-]?\d{0,6}(?:\.\d{1,9})?(?:e[+-]?\d{1,3})?[kKmMgGbB%]{0,2}")
_CHAIN = regex(r"(?:([A-Za-z_.-]{1,60})[=:][ \t]{0,2}){8,}")
_DOTTED = regex(r"[A-Za-z_]\w{0,60}(?:\.\w{1,60}){2,20}")
_ITEM = regex(r"\"(?P<a>[^\"\n]{1,4000})\"|'(?P<b>[^'\n]{1,4000})'|(?P<c>[^\s,\[\](){}:=\"'][^\s,\[\](){}\"']{0,4000})")


_UNIT = regex(r"\.(?:path|service|socket|timer|target|mount|slice|scope)\Z")
_ARCHITECTURE = regex(r"(?:amd64|i386|arm64|armhf|riscv64|s390x|ppc64el|all|any)(?![\w-])")
# A call that makes the value, a value of another thing, what usage says in place of a value.
_EXPRESSION = regex(
    r"(?:await[ \t]|new[ \t])?(?:[A-Za-z_]\w{0,60}(?:(?:\.|::|->)\w{1,60}){1,6}|[A-Z][a-z]\w{0,60})"
    r"\((?:[^\"'\n]{0,300}\)|[a-z_]\w{0,40}=|\.\.\.)|"
    r"(?:self|this|cls|args|opts?|options|params?|config|cfg|settings|conf|os|sys|env|process|request|req|"
    r"ctx|context|System|"
    r"flags|form|data|user|row|props|secrets|inputs|vars|var|local|github|steps|module|kwargs)(?:\.|->|"
    r"\?\.)[A-Za-z_][\w.]{0,100}[,;)]{0,3}(?:[ \t]|\Z)"
)
_METAVARS = frozenset(
    (
        *("TEXT", "STRING", "STR", "PASSWORD", "PASS", "PASSWD", "PASSPHRASE"),
        *("SECRET", "TOKEN", "KEY", "VALUE", "PWD", "PW"),
    )
)
_COUNTED = regex(
    r"(?i:.{0,80}(?:timeout|max|min|length|len|age|days|count|expires?|expiry|retries|attempts|ttl|size|"
    r"limit|history|warn|rounds|"
    r"iterations|interval|seconds|version|level|cost|seed))\]?",
    re.DOTALL,
)
_GPU = regex(r"gfx[0-9a-f]{3,5}(?::[\w:+-]{1,40})?[,;.)]{0,3}")
_TELLS_OF = regex(r"(?i:password|passphrase)(?:[ ][a-z]{2,20}){1,8}[.!]?")


def mask_named_values(text: str, tables: MaskingTables, note: Note) -> str:
    """The text with the values of secret-like names replaced; none reaches over its line."""
    out: list[str] = []
    position = listed = 0
    passed = [0]
    number = counted = 0
    strong: set[int] = set()  # the lines with a name that says it all
    for match, line_end in _keywords(text, tables, passed):
        left = text[max(position, match.start() - _LONGEST_LEFT) : match.start()]
        key_start = match.start() - len(left) + len(left.rstrip(_KEY_SIGNS))
        own = text.find(_INERT, key_start, match.start())
        if own >= 0 and own_word(text, own) in tables.inert:
            continue  # it ends an option: -pmasked-password-argument
        argument = text[key_start] == "-"
        if match.lastgroup != "strong" and not argument and _is_dull(text, match, line_end):
            passed[0] = max(passed[0], _chain_end(text, match.start(), line_end))
            continue
        rest = KEY_REST.match(text, match.end(), line_end)
        after = rest.end() if rest else match.end()
        separator = _SEPARATOR.match(text, after, line_end)
        if match.lastgroup == "strong":
            number += text.count("\n", counted, match.start())
            counted = match.start()
            strong.add(number)
            typed = _TYPED.match(text, after, line_end)
            separator = typed or separator
        if separator is None and argument:
            separator = _DECLARED.match(text, after, line_end) or _ARGUMENT_GAP.match(text, after, line_end)
        if separator is None and match.lastgroup in ("strong", "medium"):
            separator = _IS_GAP.match(text, after, line_end)
        kind = named = kind_of(match, rest)
        if separator is None and kind in ("strong", "medium") and text[after : after + 1] in BEFORE_GAP:
            span = paired_span(text, key_start, after, kind, line_end, tables)
            if span is not None:
                note("secret-value", text[span[0] : span[1]])
                out.append(text[position : span[0]] + VALUE_TOKEN)
                position = passed[0] = span[1]
                continue
        if separator is None and kind in ("strong", "medium"):
            # "set api-key VALUE": only what nobody would write by hand, and is long.
            separator = _LEADER.match(text, after, line_end) or _BLANK_GAP.match(text, after, line_end)
            kind = "random"
        if separator is None and named == "strong":
            separator, kind = _BLOCK_GAP.match(text, after, line_end), "strong"
        if separator is None or kind is None or _is_no_name(text, key_start, after, separator, line_end):
            continue
        if "is" in separator.group() and match.lastgroup == "medium":
            kind = "random"
        key, said = text[key_start:after], separator.group()
        if said[0] == "+" and not key.isupper():
            continue
        opening = text[separator.end() : separator.end() + 1]
        becomes = _BECOMES.match(text, separator.end(), min(line_end, separator.end() + _JUDGED))
        if opening and opening in "[{(":
            inside = separator.end() < listed
            if inside and kind != "strong":
                continue  # in a list that was looked through
            longest = _LONGEST_INNER_LIST if inside else _LONGEST_LIST
            spans, end = _list_spans(
                text,
                separator.end(),
                min(line_end, separator.end() + longest),
                kind,
                tables.inert,
                opening == "{" and said.strip() == "=" and after - match.end() < 2,
            )
            listed = max(listed, end)
        else:
            spans = _single_span(text, key_start, key, separator.end(), said, kind, argument, line_end, tables.inert)
            chain = _chain_end(text, separator.end(), line_end)
            if chain > separator.end():  # otherwise the rest of the name may tell more: auth.password
                passed[0] = max(passed[0], chain)
        if becomes is not None:
            spans += _single_span(text, key_start, key, becomes.end(), said, kind, argument, line_end, tables.inert)
        for start, end in spans:
            note("secret-value", text[start:end])
            out.append(text[position:start] + VALUE_TOKEN)
            position = end
            passed[0] = max(passed[0], end)
    out.append(text[position:])
    masked = "".join(out)
    if not strong:
        return masked
    lines = masked.split("\n")
    for number in strong:
        lines[number] = mask_beside(lines[number], tables, note)
    return "\n".join(lines)


def _is_no_name(text: str, key_start: int, after: int, separator: re.Match[str], line_end: int) -> bool:
    """Whether a name is a unit of systemd, one of several that get their values at once, or says where to read."""
    key = text[key_start:after]
    if _UNIT.search(key) or (key[:1] == "-" and key.endswith(("-stdin", "-file", "-fd", "-prompt"))):
        return True
    said = separator.group().strip()
    if said == ":":
        if text[key_start - 2 : key_start] == "${" and text[separator.end() : separator.end() + 1] in ("?", "+"):
            return True
        return _ARCHITECTURE.match(text, separator.end(), line_end) is not None
    if said == "=" and text[max(0, key_start - 2) : key_start].strip(" \t") in (",", ",*"):
        start = text.rfind("\n", max(0, key_start - 400), key_start) + 1
        return is_unpacked(text[start:line_end])
    return False


def _keywords(text: str, tables: MaskingTables, passed: list[int]) -> Iterator[tuple[re.Match[str], int]]:
    """Each word that tells of a secret, with the end of its line; nothing before ``passed[0]``, which may grow."""
    at = end = 0  # where the line ends is known
    for stem in tables.stem.finditer(lower(text)):
        if stem.end() <= max(at, passed[0]):
            continue
        if stem.start() >= end:
            end = text.find("\n", stem.start())
            end = end if end >= 0 else len(text)
            at = max(at, text.rfind("\n", at, stem.start()) + 1)
        first = max(at, passed[0], stem.start() - _LONGEST_BEFORE)
        match = tables.keyword.match(text, stem.start(), end) if stem.start() >= first and stem[0] in _WHOLE else None
        match = match or tables.keyword.search(text, first, end)
        if match is None:
            at = end  # no other one in this line
            continue
        yield match, end
        at = match.end()


def _is_dull(text: str, match: re.Match[str], line_end: int) -> bool:
    """Whether the value of a name that alone tells no secret is nothing that looks random; most are such."""
    word = match.group()
    return not word.isupper() and word != "pass" and _DULL.match(text, match.end(), line_end) is not None


def _single_span(
    text: str,
    key_start: int,
    key: str,
    at: int,
    separator: str,
    kind: str,
    argument: bool,
    line_end: int,
    inert: Collection[str],
) -> list[tuple[int, int]]:
    """Where the one value of a name stands that begins at ``at``, if it is a secret."""
    whole_line = kind == "strong" and at_line_start(text, key_start)
    begin = unwrapped(text, at, min(line_end, at + _JUDGED), kind == "strong")
    if begin is None:
        return []
    span = value_span(text, begin, min(line_end, begin + _JUDGED), whole_line)
    if span is None:
        return []
    if kind != "strong" and text[span[1] - 1] in "([{":
        return []  # an expression
    if key == "pass" and "=" in separator and text[max(0, key_start - 1) : key_start] in (",", ";", "&", "?"):
        kind = "strong"  # an option of a mount, a parameter
    if _IS_GAP.fullmatch(separator) and _says_more(text[span[0] : span[1]].strip(".,;:)").lower(), text, span[1]):
        return []
    if _names_next(text, span[1], line_end) and strongest_kind(text[span[0] : span[1]], load_tables(), 3) == "strong":
        return []  # the name of the value behind it
    tag = separator == "==" or (separator == ":" and (key_start == 0 or text[key_start - 1] != '"'))
    if tag and _VERSION.fullmatch(text[span[0] : span[1]]):
        return []  # a requirement, or an image with its tag
    if not _is_secret(kind, key, separator, text[span[0] : span[1]], argument, inert):
        return []
    if line_end <= begin + _JUDGED:
        return [span]
    return [value_span(text, begin, line_end, whole_line) or span]


def _names_next(text: str, end: int, line_end: int) -> bool:
    """Whether a sign of an assignment follows a word."""
    return _KEY_SIGN.match(text, end, line_end) is not None


def _says_more(value: str, text: str, end: int) -> bool:
    """Whether what follows "the password is" goes on with a sentence, and is no password."""
    if _STATES.fullmatch(value):
        return True
    return (" " in value or text[end : end + 1] == " ") and _GOES_ON.match(value) is not None


def _chain_end(text: str, start: int, line_end: int) -> int:
    """Where the last of many assignments in a row begins (``key=key=...``); ``start`` where there are few.

    Those in between have no values but the next name.
    """
    chain = _CHAIN.match(text, start, line_end)
    return chain.start(1) if chain else start


def _list_spans(
    text: str, start: int, limit: int, kind: str, inert: Collection[str], named: bool
) -> tuple[list[tuple[int, int]], int]:
    """Where secrets stand in ``["a", "b"]``, ``{k: "a"}`` or ``{default = "a"}`` behind a name, and where that ends.

    A key is none. ``named``: the keys say whose secrets they are.
    """
    closing = {"[": "]", "{": "}", "(": ")"}[text[start]]
    end = text.find(closing, start, limit)
    end = end if end >= 0 else limit
    found: list[tuple[int, int]] = []
    said = ""
    for item in _ITEM.finditer(text, start + 1, end):
        begin, stop = item.span(item.lastgroup or 0)
        value = text[begin:stop]
        if _KEY_SIGN.match(text, item.end(), end):
            said = value.lower()
            continue
        listed = text[start] == "[" or (text[start] == "(" and item.lastgroup != "c")
        mine = named and bool(said) and item.lastgroup != "c" and not harmless(value)
        sure = kind == "strong" and (listed or mine or said in VALUE_NAMES) and not placeholder(value)
        said = ""
        if kind == "weak" and _DOTTED.fullmatch(value):
            continue  # the name of a parameter
        if value.split(" ", 1)[0] not in inert and _INERT not in value and (sure or looks_random(value)):
            found.append((begin, stop))
    return found, end


def _is_secret(kind: str, key: str, separator: str, value: str, argument: bool, inert: Collection[str]) -> bool:
    stripped = value.strip()
    if value.split(" ", 1)[0].rstrip(",;)]}") in inert or stripped.split(":", 1)[0] in inert:
        return False
    # Digits alone are a count for a "token" or a "pass", but they may well be a password.
    if placeholder(stripped.split(" #", 1)[0]) and not (kind == "strong" and stripped.isdigit() and len(stripped) > 1):
        return False
    if "masked-" in stripped and any(token in stripped for token in inert):
        return False
    if argument and (_OPTION.fullmatch(stripped.split(" ", 1)[0]) or _WORD_OF_CALL.match(stripped)):
        return False
    if stripped.startswith("<("):
        return False  # the output of a command, which is looked at on its own
    if key in ("PWD", "OLDPWD") or (key.lower().endswith("pwd") and stripped[:1] in "/~"):
        return False
    if (
        stripped[:1] in ("/", "~", ".")
        and _PATH_KEY.fullmatch(key)
        and re.match(r"(?:/|~/|\.{1,2}/)[\w.~@+-]", stripped)
    ):
        return False
    if ":" in separator and (_ANNOTATION.match(stripped) or is_type(stripped)):
        return False
    if _EXPRESSION.match(stripped) or (argument and stripped.split(" ", 1)[0].rstrip("],)") in _METAVARS):
        return False
    if _NUMBER.fullmatch(stripped) and _COUNTED.fullmatch(key):
        return False
    if ":" in separator and _TELLS_OF.fullmatch(stripped):
        return False
    if kind != "strong" and _GPU.fullmatch(stripped):
        return False
    if kind == "strong":
        return not (key.lower().endswith(("passwd", "shadow")) and _SWITCH.issuperset(stripped.split()))
    assigned = "=" in separator
    if kind == "weak" and _DOTTED.fullmatch(stripped):
        return False
    if kind == "medium" and argument and (_NUMBER.fullmatch(stripped) or _PATH_KEY.fullmatch(key)):
        return False
    if kind == "medium" and (argument or (assigned and key.isupper() and len(key) > 4)):
        return not stripped.startswith(("/", "~", "tcp://", "http"))
    if kind == "weak" and argument and not assigned:
        return len(stripped) >= 16 and looks_random(stripped)
    if kind == "weak" and not assigned and '"' not in separator and "'" not in separator:
        return looks_minted(stripped)
    return looks_random(stripped)
