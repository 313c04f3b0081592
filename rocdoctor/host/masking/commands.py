"""Secrets of command lines that no name tells: ``racadm -p X``, ``cargo login X``, ``echo X | su -``.

Which programs take one, and where, is a table (``commands`` of masking.yaml). Pure: text in, text out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator

from rocdoctor.host.masking.chosen import harmless
from rocdoctor.host.masking.rules import CommandRule, MaskingTables, line_spans, sub_lines
from rocdoctor.host.masking.telling import strongest_kind
from rocdoctor.model.lazy_re import regex

Note = Callable[[str, str], None]
Span = tuple[int, int]

TOKEN = "masked-password-argument"
_ENDS_NAME = regex(r"[\"'`]?,?(?=[ \t<]|[\"']|\Z)")
# A word of a command line, also as an item of a list of arguments.
_WORD = regex(
    r"[ \t,]{0,20}(?:(?P<q>[\"'`])(?P<s>[^\"'`\n]{0,2000})(?P=q)|(?P<p>[^\s\"'`|;&<]{1,60}[=:])(?P<r>[\"'])"
    r"(?P<t>[^\"'\n]{0,2000})(?P=r)|(?P<b>[^\s\"'`|;&<]{1,2000}))[)\]]?(?=[ \t,|;&)\]<\r\n\"'`]|\Z)"
)
# A password in whose words a name of one stands; names of variables and of fields have no digits between such letters.
_MIXED = regex(r"(?=[A-Za-z]*[a-z])(?=[A-Za-z]*[A-Z])[A-Za-z]{4,40}[0-9]{1,8}[!.?]?")
_HERE = regex(r"[ \t]{0,8}<<<[ \t]{0,8}")
_SAYS = regex(r"(?:(?<![\w-])(?:echo|printf|yes)[ \t]{1,8}(?:-[neE]{1,3}[ \t]{1,8}){0,2})")
_PIPE = regex(r"\|[ \t]{0,8}(?:sudo[ \t]{1,8}(?:-\w{1,8}[ \t]{1,8}){0,3})?\Z")
_MOST_WORDS = 60
_LONGEST_LINE = 8000
_NOTHING = regex(
    r"-{1,2}[A-Za-z][\w-]{0,40}|[*x.-]{1,40}|[\"'<>\[\]{}()]{1,4}|\.{3}|[A-Z_]{2,40}|.{0,200}[<{$].{0,200}", re.DOTALL
)
# What follows the name of a program in a sentence about it.
_PROSE = regex(
    r"is|was|has|have|had|must|may|can|cannot|could|should|will|would|does|did|do|not|and|or|in|on|to|for|from|with|as|of|"
    r"failed|fails|failure|found|returned|exited|complains|needs|takes|reads|asks|works|says|said|command|error",
    2,
)


def mask_commands(text: str, tables: MaskingTables, note: Note, present: Collection[str] | None) -> str:
    """The text without the secrets of command lines; ``present`` are the words in it, where they are known."""
    for rule, words in list(tables.commands_for(text.lower() if present is None else "", present)):
        text = _masked(rule, text, words, tables, note)
    if ("|" in text or "<(" in text) and ("echo " in text or "printf " in text):
        text = sub_lines(_SAID, lambda match: _said(match, tables, note), text, ("echo ", "printf "))
    return text


# What is said to a command whose own words tell that it is a secret: echo X | podman secret create db_password -
_SAID = regex(
    r"(?P<b><\([ \t]{0,2})?"
    r"(?P<k>(?<![\w-])(?:echo|printf)[ \t]{1,8}(?:-[neE]{1,3}[ \t]{1,8}){0,2}(?:[\"']?%s(?:\\n)?[\"']?[ \t]{1,4})?)"
    r"(?P<q>[\"']?)(?P<s>[^\s\"'|;$<>)]{3,400})(?P=q)"
    r"(?:[ \t]{0,8}\|[ \t]{0,8}(?P<r>[^\n|;]{1,200})|(?=[ \t]{0,2}\)))"
)
_MOST_BEFORE = 200
# Programs that look for the word that tells, or only count and cut.
_READERS = frozenset(("grep", "egrep", "rg", "sed", "awk", "wc", "tr", "cut", "head", "tail", "sort", "less", "cat"))


def _said(match: re.Match[str], tables: MaskingTables, note: Note) -> str:
    before = match.string[max(0, match.start() - _MOST_BEFORE) : match.start()] if match["b"] else ""
    value, reader = match["s"], match["r"] or before
    if reader.split(" ", 1)[0] in _READERS or harmless(value) or value in tables.inert or "masked-" in value:
        return match.group()
    if strongest_kind(reader, tables) != "strong":
        return match.group()
    note("password-argument", value)
    start, end = match.start("s") - match.start(), match.end("s") - match.start()
    return match.group()[:start] + TOKEN + match.group()[end:]


def _masked(rule: CommandRule, text: str, words: list[str], tables: MaskingTables, note: Note) -> str:
    out: list[str] = []
    position = 0
    for first, last in line_spans(text, words):
        if last - first > _LONGEST_LINE:
            continue
        line = text[first:last]
        for start, end in sorted(set(_spans(rule, line))):
            value = line[start:end]
            if first + start < position or _NOTHING.fullmatch(value) or "masked-" in value or value in tables.inert:
                continue
            if harmless(value) and not value.isdigit() and not value.islower() and not _MIXED.fullmatch(value):
                continue
            note("password-argument", value)
            out.append(text[position : first + start] + TOKEN)
            position = first + end
    return "".join([*out, text[position:]]) if out else text


def _spans(rule: CommandRule, line: str) -> Iterator[Span]:
    for found in rule.pattern.finditer(line):
        named = _ENDS_NAME.match(line, found.end())
        if named is None:
            continue
        if rule.piped:
            yield from _before_pipe(line, found.start())
            yield from _here(line, found.end())
        yield from _argued(rule, line, named.end())


def _argued(rule: CommandRule, line: str, at: int) -> Iterator[Span]:
    """Values of options, and of words by their number."""
    plain: list[Span] = []
    wanted = skipped = False
    for _ in range(_MOST_WORDS):
        word = _WORD.match(line, at)
        if word is None or not word.group().strip():
            break
        at = word.end()
        group = next(name for name in ("s", "t", "b") if word[name] is not None)
        start, end = word.span(group)
        said = word["p"] or ""
        value = word[group]
        if group == "b":
            end -= len(value) - len(value.rstrip(",)]"))
            value = line[start:end]
        if not value:
            if group != "b":  # '' is a word, too
                plain += [] if wanted or skipped else [(start, end)]
                wanted = skipped = False
            continue
        if wanted:
            wanted = False
            yield from _part(rule, line, start, end)
            continue
        if said.rstrip("=:") in rule.after or said in rule.glued:
            yield from _part(rule, line, start, end)
            continue
        if value in rule.after:
            wanted = True
            continue
        option = next(
            (one for one in (*rule.after, *rule.glued) if value.startswith((one + "=", one + ":")) and one[0] in "-/"),
            "",
        )
        glued = next((one for one in rule.glued if value.startswith(one) and len(value) > len(one)), "")
        if option:
            yield from _part(rule, line, start + len(option) + 1, end)
        elif glued:
            yield from _part(rule, line, start + len(glued), end)
        elif skipped:
            skipped = False
        elif value[0] == "-" or said:
            skipped = value in rule.takes
        elif rule.place and group == "b" and not plain and _PROSE.fullmatch(value):
            return  # a sentence about the program
        else:
            plain.append((start, end))
    if rule.place and len(plain) >= rule.place:
        yield from _part(rule, line, *plain[rule.place - 1])


def _part(rule: CommandRule, line: str, start: int, end: int) -> Iterator[Span]:
    """The secret in a value: all of it, or what stands behind the sign that ends the name of the user."""
    if rule.behind:
        sign = line.find(rule.behind, start, end)
        if sign <= start:
            return
        start = sign + 1
        stop = line.find("@", start, end) if rule.behind == "/" else -1
        end = stop if stop > start else end
    if end > start:
        yield start, end


def _before_pipe(line: str, at: int) -> Iterator[Span]:
    """What is said to a program through a pipe."""
    pipe = _PIPE.search(line, max(0, at - 80), at)
    if pipe is None:
        return
    for says in _SAYS.finditer(line, 0, pipe.start()):
        begin = says.end()
        for _ in range(4):
            word = _WORD.match(line, begin, pipe.start())
            if word is None:
                break
            group = next(name for name in ("s", "t", "b") if word[name] is not None)
            start, end = word.span(group)
            end -= group == "b" and line[end - 1] == ")"
            if "%s" not in line[start:end]:
                yield start, end
            begin = word.end()


def _here(line: str, at: int) -> Iterator[Span]:
    """What is said to a program as a here-string."""
    sign = line.find("<<<", at, at + 200)
    here = _HERE.match(line, sign) if sign >= 0 else None
    word = _WORD.match(line, here.end()) if here else None
    if word is not None:
        yield word.span("s" if word["s"] is not None else "t" if word["t"] is not None else "b")
