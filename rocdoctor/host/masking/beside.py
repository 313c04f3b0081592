"""Secrets beside a name that says it all, where no sign of an assignment explains them.

On a line with such a name these are secrets: the value that belongs to it by its place (the same column, the same place
in a list of names, what it is compared with, what is added to its value), in quotes or not, letters or not; every other
string in quotes and every word behind the name that looks chosen. Paths, versions, types and words of sentences stay.

Pure: a line in, a line out. Each line is looked at once, and only where a strong name stands in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from rocdoctor.host.masking.chosen import harmless, looks_chosen
from rocdoctor.host.masking.rows import told_spans
from rocdoctor.host.masking.rules import VALUE_TOKEN, MaskingTables, own_word
from rocdoctor.host.masking.telling import KEY_REST, kind_of
from rocdoctor.model.lazy_re import regex

Note = Callable[[str, str], None]
Span = tuple[int, int]

_LONGEST_LINE = 4000
_MOST_NAMES = 40
_MOST_WORDS = 400
_LEFT = 60
_KEY_SIGNS = regex(r"[\w.$@-]{0,60}\Z", re.ASCII)
# A name of something else about the password.
_OF = regex(
    r"(?:^|[_.-]|(?<=[a-z]))(?i:files?|path|dir|version|names?|type|length|len|size|count|policy|min|max|"
    r"timeout|age|expiry|ur[li]|manager|"
    r"helper|callback|grant|store|provider|fields?|input|label|prompt|errors?|reset|required|strength|"
    r"check|valid\w{0,8}|exception|"
    r"key|id|hint|changed|mode|scheme|backend|hasher|algorithm|encoding|format)\Z"
)
_QUOTED = regex(r"(?P<q>[\"'`])(?P<s>(?:[^\"'`\\\n]|\\[^\n]){1,400})(?P=q)")
_WORD = regex(r"[^\s\"'`<>|\\{}&]{5,400}")
# What stands directly before a string that is the value of the name before it.
_PLACED = regex(
    r"(?:\b(?i:defaultvalue|initialvalue|default|value|secret_?string|plaintext)[ \t]{0,4}[:=]|"
    r"\bsend\w{0,10}[ \t(]{1,4}(?:--[ \t])?|<<<)[ \t]{0,8}[urbfN@$]{0,2}\Z"
)
_ELSE = regex(r"(?:\|\||\?\?|\bor|\belse|\?:)[ \t]{0,8}[urbfN@$]{0,2}\Z")
# A name that gets a value, or that says where it is read.
_GETS = regex(r"[\w\"'\])]{0,40}[ \t]{0,4}(?::[^=\n\"']{0,60})?[:+|?]?=(?![=>])|[\"']")
# What stands between a name and the string that it is compared with.
_COMPARES = regex(
    r"[\w.()\[\]>\"'-]{0,60}?(?:[ \t]{0,4}(?:[=!~]={1,2}|<>)[ \t]{0,4}|(?:\.|->)(?i:equals\w{0,20}|"
    r"compare\w{0,20}|eq|includes?|"
    r"matches|to_?(?:be|equal|eq|match)\w{0,20}|type|fill|send_?keys|unwrap_or\w{0,10}|or_?else|"
    r"get_or_insert)[ \t]{0,4}\()"
    r"[urbfN@$]{0,2}"
)
_METHOD = regex(
    r"\.(?:encode|decode|split|join|replace|r?strip|lstrip|get|startswith|endswith|ljust|rjust|count|find|"
    r"index)\([urbf]{0,2}\Z"
)
_COMPARED = regex(r"[\"'](?:[ \t]{0,4}[=!]={1,2}[ \t]{0,4}|[ \t]{1,4}(?:TO|INTO)[ \t]{1,4})[\w.$]{0,60}\Z")
# What stands between a name and the string that is its value.
_DIRECT = regex(r"[\"'\])]{0,2}[ \t]{0,8}[:=?|+]{1,3}[ \t]{0,8}[urbf]{0,2}")
# The same, where nothing else explains it: passwd[] = "x", Password { get; set; } = "x", String by lazy { "x" }.
_DECLARES = regex(
    r"(?:\[\d{0,6}\][ \t]{0,8}=|[ \t]{0,8}\{[\w; \t]{0,40}\}[ \t]{0,8}=|:[ \t]{0,4}[\w<>?. ]{1,60}\{|"
    r"[\"'][)\]][ \t]{0,4}\{)[ \t]{0,8}"
)
# Calls that set a name: put("password", "x"), strcmp(password, "x"), {password, "x"}.
_SETS = regex(
    r"(?i:\b(?:put|set|add|define|setenv|putenv|append|insert|update|property|field|option|string|with|register|store|"
    r"str\w{0,2}cpy|str\w{0,6}cmp|memcpy|equals|assert\w{0,20}|compare_digest)\w{0,20}[ \t]{0,2}\(|\{)"
    r"[ \t]{0,4}[\"']?\Z"
)
_NEXT = regex(r"[\"']?[ \t]{0,4},[ \t]{0,4}[urbfN@]{0,2}")
_KEYWORD = regex(r"[ \t]{1,8}")
_CALLED = regex(
    r"(?:[\w.$>-]{0,60}[.:>$])?(?:set|with|add|update|change|check|verify|encrypt|hash|use|try|basic)?_?"
    r"(?:user|db|admin|root|new)?_?(?:passw(?:or)?d|passphrase|passcode|pwd|pw)",
    re.IGNORECASE,
)
_EXPECTED = regex(r"[\"'][ \t]{0,4},[ \t]{0,4}[\w.$>-]{0,60}\Z")
_ASSERTS = regex(r"(?i:\b(?:assert|expect|equals?|compare|is_?equal)\w{0,20}\()[ \t]{0,4}\Z")
# What a sentence calls a password: "we used X as the password".
_CALLS = regex(
    r"(?P<s>[^\s\"'`\[\](){}<>]{5,100})[\"'`\])]{0,2}[ \t](?:as|is|was|being)[ \t](?:(?:the|a|an|my|our|"
    r"your|its|his|her)[ \t])?"
    r"(?:[a-z]{1,20}[ \t]){0,2}\Z"
)
_SAID_BY = regex(r"=[ \t]{0,4}[\"']?(?:\$\(|`)[ \t]{0,4}(?:echo|printf)[ \t]{1,4}(?:-[neE]{1,3}[ \t]{1,4})?")
# What joins a string to the string before it.
_JOINS = regex(r"[ \t]{0,8}(?:[+.&]|\|\||\?\?|\bor\b|\belse\b)?[ \t]{0,8}[urbf]{0,2}")
# A string that a value is put into or added to: "user=%s password=%s", "password: ".
_FORMAT = regex(r"[\"'\]\s]{0,3}(?:[:=]|\bis\b)?[ \t]{0,4}(?:%[sqv]|\{\w{0,20}\}|\?)?[\"'][ \t]{0,4}[,+.%][ \t]{0,4}")
_FILLS = regex(r"(?:%[sqvd]|\{\w{0,20}\})")
# Signs that stand for "is" or "becomes", and words that do so in a sentence.
_CONNECTS = regex(
    r"[\"'`*)]{0,3}[ \t]{0,8}(?:[=!]={1,2}|<>|~=|[-=]>|[\u2192\u21d2\u27f6\u2794]|[\u2013\u2014]|\.{3,80}|"
    r"\u2026{1,20}|<<<|"
    r"[ \t]-(?=[ \t]))[ \t]{0,8}"
)
_TO = regex(r"[\"'`*]{0,2}[ \t]{1,4}(?:(?:to|from|into|was|as|be|(?:should|must|will|can|shall)[ \t]be|=)[ \t:]{1,4})")
_CHANGES = regex(r"(?i:\b(?:set|sets|setting|change[ds]?|changing|reset|rotate[ds]?|updated?)\b)")
_ENDS = regex(r"[\"'`*]{0,2}[.,;)]?[ \t\r]{0,8}(?:\Z|[\"'`(]|(?:and|to|for|on|in|with|or|now)\b)")
# Commands that give a variable its value.
_ASSIGNS = regex(
    r"(?:^|[;&(|][ \t]{0,4}|\$[ \t]|>[ \t])[ \t]{0,40}(?i:#[ \t]{0,4}define|setenv|setx|env|arg|set[ \t]-[gxUl]{1,3}|"
    r"set[ \t]{0,2}\([ \t]{0,4}|set(?=[ \t]{1,8}\Z)|setq(?:-default)?|defvar|defparameter|defconst|define|"
    r"def|defconstant|set!|let|"
    r"variable|put|const)[ \t]{0,8}[\"'(*]{0,2}\Z"
)
_OPEN = regex(r"[urbf]{0,2}[\"'`]")
# A name with its masked value and nothing else: most lines that get here.
_DONE = regex(
    r"[ \t>-]{0,40}[\"']?[\w.-]{1,60}[\"']?[ \t]{0,8}[:=][ \t]{0,8}[\"']?masked-[a-z-]{1,40}[\"']?[,;]?[ \t\r]{0,8}"
)
_BARE = regex(r"[^\s\"'`,;)\]}]{2,400}")


def mask_beside(line: str, tables: MaskingTables, note: Note) -> str:
    """The line without the secrets that stand beside a strong name; as it is where it has no such name."""
    if len(line) > _LONGEST_LINE or _DONE.fullmatch(line):
        return line
    names = list(_names(line, tables))
    if not names:
        return line
    found = [*told_spans(line, tables), *_directive(line, names), *_by_place(line, names), *_by_look(line, names)]
    out: list[str] = []
    position = 0
    for start, end in sorted(found):
        value = line[start:end]
        if start < position or "masked-" in value:
            continue
        note("secret-value", value)
        out.append(line[position:start] + VALUE_TOKEN)
        position = end
    return "".join([*out, line[position:]]) if out else line


def _names(line: str, tables: MaskingTables) -> Iterator[Span]:
    """Where names stand that say it all, with all of their signs."""
    position = 0
    for count, match in enumerate(tables.keyword.finditer(line)):
        if count >= _MOST_NAMES:
            break
        if match.start() < position or match.lastgroup != "strong":
            continue
        rest = KEY_REST.match(line, match.end())
        end = rest.end() if rest else match.end()
        position = end
        if kind_of(match, rest) != "strong" or _OF.search(line, match.end(), end):
            continue
        if line[end : end + 1] == "(" and "." in line[match.end() : end]:
            end = line.rindex(".", match.end(), end)  # the method that is called
        left = _KEY_SIGNS.search(line, max(0, match.start() - _LEFT), match.start())
        own = left.group().find("masked-") if left is not None else -1
        if left is None or own < 0 or own_word(line, left.start() + own) not in tables.inert:
            yield (left.start() if left else match.start()), end


# A directive of a configuration, whose name is made of several: AuthLDAPBindPassword X, irc.sasl_password X.
_COMPOUND = regex(
    r"(?:[A-Za-z][\w.-]{0,60}[a-z0-9_.-](?:Pass(?:word|wd|phrase)|Secret)|[A-Za-z][\w.-]{0,60}[_.-](?:pass(?:word|wd|phrase)|secret))"
)
_DIRECTIVE_END = regex(r"[ \t\r;]{0,8}(?:#.{0,200})?\Z")


def _directive(line: str, names: list[Span]) -> Iterator[Span]:
    """The one word that follows a name at the beginning of a line and ends it."""
    start, end = names[0]
    if line[:start].strip(" \t") or line[end : end + 1] not in (" ", "\t") or not _COMPOUND.fullmatch(line, start, end):
        return
    at = end + len(line[end:]) - len(line[end:].lstrip(" \t"))
    span = _value(line, at) if at < len(line) else None
    if span is None or harmless(line[span[0] : span[1]]) or line[span[0]] in "/~$(":
        return
    if _DIRECTIVE_END.match(line, span[1] + (line[span[0] - 1] in "\"'`")):
        yield span


def _by_place(line: str, names: list[Span]) -> Iterator[Span]:
    """Values that a sign, a command or a sentence gives to a name."""
    for start, end in names:
        gap = _CONNECTS.match(line, end)
        if gap is not None:
            yield from _connected(line, gap)
            continue
        called = _CALLS.search(line, max(0, start - 160), start)
        if called is not None and looks_chosen(called["s"]):
            yield called.span("s")
        gap = _SAID_BY.match(line, end)
        span = _value(line, gap.end()) if gap is not None else None
        if span is not None and not harmless(line[span[0] : span[1]]):
            yield span
            continue
        gap = _TO.match(line, end)
        if gap is not None:
            changes = _CHANGES.search(line, max(0, start - 120), start) is not None
            yield from _said(line, gap.end(), changes)
            continue
        blank = end + (line[end : end + 1] == "*")
        while line[blank : blank + 1] in (" ", "\t"):
            blank += 1
        if blank > end and _ASSIGNS.search(line, max(0, start - 80), start):
            span = _value(line, blank)
            plain = line[max(0, start - 8) : start].strip().lower() == "set" and line[blank] not in "\"'`"
            if span and not plain and not harmless(line[span[0] : span[1]]) and line[span[0]] not in "/~(":
                yield span


def _connected(line: str, gap: re.Match[str]) -> Iterator[Span]:
    said = gap.group().strip("\"'`*) \t")
    span = _value(line, gap.end())
    if span is None:
        return
    value = line[span[0] : span[1]]
    quoted = line[span[0] - 1] in "\"'`"
    if (quoted and not harmless(value) and " " not in value.strip()) or (not quoted and looks_chosen(value)):
        yield span
    elif (
        not quoted
        and said not in ("-", "\u2013", "<>")
        and said[-1] != "="
        and value.isalpha()
        and not harmless(value)
        and not line[span[1] :].strip(" \t\r.;\\|")
    ):
        yield span  # the last word of the line


def _said(line: str, at: int, changes: bool) -> Iterator[Span]:
    """The word that a sentence says: "set the password to X"."""
    span = _value(line, at)
    if span is None:
        return
    value = line[span[0] : span[1]].rstrip(".")
    quoted = line[span[0] - 1] in "\"'`"
    if harmless(value) or " " in value:
        return
    after = span[1] + quoted
    if looks_chosen(value) or (
        changes and (quoted or (value.isalnum() and len(value) > 4 and _ENDS.match(line, after)))
    ):
        yield span[0], span[0] + len(value)


def _value(line: str, at: int) -> Span | None:
    """Where the string in quotes or the word stands that begins at a place."""
    if _OPEN.match(line, at):
        quoted = _QUOTED.search(line, at, min(len(line), at + 400))
        return quoted.span("s") if quoted and quoted.start() <= at + 2 else None
    bare = _BARE.match(line, at)
    return bare.span() if bare else None


def _by_look(line: str, names: list[Span]) -> Iterator[Span]:
    """Strings in quotes that belong to a name or look chosen, and words behind a name that look chosen."""
    first = names[0][0]
    behind = filled = False
    last = -1
    taken: list[Span] = []
    for quoted in _QUOTED.finditer(line):
        start, end = quoted.span("s")
        value = quoted["s"]
        taken.append(quoted.span())
        inner = any(start <= name[0] and name[1] <= end for name in names)
        if inner:
            tail = max(name[1] for name in names if name[1] <= end)
            form = _FORMAT.match(line, tail, min(len(line), end + 8))
            filled = bool(_FILLS.search(value)) or (
                form is not None and not form.group()[0].isalpha() and any(sign in form.group() for sign in ":=")
            )
            behind, last = form is not None and line[end + 1 : end + 8].lstrip()[:1] in "+.", quoted.end()
            continue
        joined = last >= 0 and _JOINS.fullmatch(line, last, quoted.start()) is not None
        before = line[max(0, quoted.start() - 40) : quoted.start()]
        sets = [name for name in names if name[1] <= quoted.start()]
        placed = bool(sets) and line[sets[-1][1] : quoted.start()].count(",") < 2 and _PLACED.search(before) is not None
        if sets and not placed and quoted["q"] != "`" and len(value) > 2:
            placed = _ELSE.search(before) is not None and any(_GETS.match(line, name[1]) for name in sets)
            placed = placed or any(_COMPARES.fullmatch(line, name[1], quoted.start()) for name in sets)
        compared = any(_COMPARED.match(line, end, name[1]) for name in names if end <= name[0] <= end + 80)
        placed = placed or _is_argument(line, quoted.start(), names)
        compared = compared or any(
            _EXPECTED.match(line, end, name[0]) and _ASSERTS.search(line, max(0, quoted.start() - 40), quoted.start())
            for name in names
            if end <= name[0] <= end + 80
        )
        direct = any(name[1] <= quoted.start() and _DIRECT.fullmatch(line, name[1], quoted.start()) for name in names)
        is_key = line[quoted.end() : quoted.end() + 1] == ":" or before.endswith("[") or _METHOD.search(before)
        behind = (placed or (joined and behind)) and not is_key
        goes_on = behind or direct or "masked-" in value
        last = quoted.end() if goes_on else last
        if not (is_key or value[0] == "-" or " " in value or harmless(value)) and (
            behind or compared or (filled and len(value) > 4 and quoted.start() > first) or looks_chosen(value, True)
        ):
            yield start, end
        behind = goes_on
    for count, word in enumerate(_WORD.finditer(line, names[0][1])):
        if count >= _MOST_WORDS:
            break
        start, end = word.span()
        if any(begin < end and start < stop for begin, stop in (*taken, *names)):
            continue
        value = word.group().strip("()[]*,;:.!?>")
        if value and looks_chosen(value) and not _prefixed(line, start):
            at = line.index(value, start)
            yield at, at + len(value)


def _is_argument(line: str, start: int, names: list[Span]) -> bool:
    """Whether a string is given to a name as an argument: ``set_password("u", "x")``, ``put("password", "x")``."""
    for begin, end in names:
        if end > start:
            break
        if _DECLARES.fullmatch(line, end, start):
            return True
        if line[begin - 1 : begin] == ":" and _KEYWORD.fullmatch(line, end, start):
            return True
        if _NEXT.fullmatch(line, end, start) and _SETS.search(line, max(0, begin - 40), begin):
            return True
        if line[end : end + 1] == "(" and _CALLED.fullmatch(line, begin, end):
            inner = line[end + 1 : start]
            rest = line[start : start + 400]
            if _LITERALS.fullmatch(inner) and _LAST_LITERAL.match(rest):
                return True
    return False


_LITERALS = regex(
    r"[ \t]{0,4}(?:(?:\"[^\"\n]{0,80}\"|'[^'\n]{0,80}'|[\w.]{1,40})[ \t]{0,4},[ \t]{0,4}){0,3}[urbf]{0,2}"
)
_LAST_LITERAL = regex(r"(?:\"[^\"\n]{1,400}\"|'[^'\n]{1,400}')[ \t]{0,4}\)")
_PREFIXES = regex(
    r"(?i:\b(?:for|user|from|by|port|host|on|at|account|group|volume|version|commit|rev|id|disk|device|"
    r"key|node|rank|gpu|in|secrets?))[ \t]{1,2}[\"'(]{0,2}\Z"
)


def _prefixed(line: str, start: int) -> bool:
    """Whether the word before says what this one is: a user, a host, a commit."""
    return _PREFIXES.search(line, max(0, start - 20), start) is not None
