"""The one renderer for markdown, and the one way in which words of others are quoted in it."""

from __future__ import annotations

import re

from rocdoctor.model.lazy_re import regex
from rocdoctor.model.printable import clean, one_line
from rocdoctor.report.document import (
    Block,
    Closing,
    Code,
    CommandLines,
    Document,
    Fixed,
    Gap,
    Heading,
    Note,
    Pairs,
    Para,
    Row,
    Stage,
    Strong,
    Table,
    Title,
    Words,
    spans,
)
from rocdoctor.report.text import cut

_MARKUP = regex(r"([\\\[\]*|])")
# What a page of issues turns into a notice or a link: @name, #12, GH-12, owner/name#12, addresses, long hashes.
_LIVE = regex(
    r"(?:(?:https?|ftp)://|www\.|(?:mailto|xmpp):)[^\s<>\"'`|]{1,300}|(?:[\w.-]{1,60}/[\w.-]{1,60})?#\d{1,9}\b|"
    r"\bGH-\d{1,9}\b|@[\w/-]{1,80}|\b(?=[0-9a-f]{0,40}\d)[0-9a-f]{7,40}\b(?!:[0-9a-f]{2}\b)",
    re.IGNORECASE,
)
_LOOSE = regex(r"(?<![^\W_])_|_(?![^\W_])|~(?=~)|\$(?=[^$]{1,80}\$)")
_BAR, _QUOTED_BAR = regex(r"(?<!\\)\|"), r"\\|"
# What makes a heading, a list, a quotation or a line of a text that begins with it.
_BLOCK = regex(r"\s*(?:\d{1,9}(?=[.)](?:\s|\Z))|(?=#{1,6}(?:\s|\Z)|[-+](?:\s|\Z)|>|-{2}|={2}|~{3}))")


def plain(text: str) -> str:
    """Text in one line in which nothing is markup, and what would ping or link is code."""
    whole = one_line(text)
    parts: list[str] = []
    at = 0
    for match in _LIVE.finditer(whole):
        found = match[0].rstrip(".,:;!?)")
        parts += [_words(whole[at : match.start()], not at), inline(found)]
        at = match.start() + len(found)
    return "".join([*parts, _words(whole[at:], not at)])


def _words(text: str, first: bool) -> str:
    """A piece of a sentence without markup."""
    escaped = _MARKUP.sub(r"\\\1", text.replace("&", "&amp;")).replace("<", "&lt;").replace("`", "'")
    escaped = _LOOSE.sub(r"\\\g<0>", escaped)
    begins = _BLOCK.match(escaped) if first else None
    return escaped if begins is None else f"{begins[0]}\\{escaped[begins.end() :]}"


def code(text: str) -> str:
    """Text inside backticks or a fence, which it cannot end."""
    return clean(text).replace("`", "'")


def inline(text: str) -> str:
    """Text in one line between backticks."""
    return f"`{code(one_line(text))}`"


def render(document: Document) -> str:
    """The document: a blank line between blocks, none between the items of a list."""
    found: list[str] = []
    listed = False
    for block in document:
        shown = _block(block)
        if not shown:
            continue
        item = isinstance(block, Row | Pairs) or (isinstance(block, Para) and block.item)
        if found and not (item and listed):
            found.append("")
        found += shown
        listed = item
    return "\n".join(found) + "\n"


def _block(block: Block) -> list[str]:
    match block:
        case Gap():
            return []
        case Closing(words):
            return ["---", f"_{plain(words)}_"]
        case Title(words):
            return [f"## {plain(words)}"]
        case Heading(words):
            return [f"### {_words_of(words)}"]
        case Para(words, bold=bold, item=item):
            shown = _words_of(words)
            return [f"**{shown}**" if bold else f"- {shown}" if item else shown]
        case Row(label, words):
            name = f"{label[:1].upper()}{label[1:]}".strip()
            return [f"- {plain(name)}: {_words_of(words)}" if name else f"- {_words_of(words)}"]
        case CommandLines(commands, label):
            fenced = fence([" ".join(tokens) for tokens in commands], "sh")
            return [*([f"{label.capitalize()}:", ""] if fenced and label else []), *fenced]
        case Fixed(lines):
            return fence(lines, "text")
        case Pairs(rows):
            return _pairs(rows)
        case Note(severity, name, about, message, number):
            before = f"{number}. " if number else ""
            said = f"{plain(about)}: {plain(message)}" if about else plain(message)
            return [f"### {before}{severity}: {plain(name)}", "", said]
        case Stage(number, _, state, _, title, values):
            return [f"### {number}. {plain(title)} ({state})", *([""] if values else []), *_pairs(values)]
        case Table(header, rows):
            return [_cells(header), "|" + " --- |" * len(header), *map(_cells, rows)] if rows else []


def _pairs(rows: tuple[tuple[str, str], ...]) -> list[str]:
    return [
        f"- {inline(cut(value) or '(empty)')}" + (f" from {inline(place)}" if place else "") for value, place in rows
    ]


def _words_of(words: Words) -> str:
    """Words with their marks; a blank at either end of a piece stays."""
    shown: list[str] = []
    for number, one in enumerate(spans(words)):
        if isinstance(one, Code):
            shown.append(inline(one.text or "(empty)"))
        elif isinstance(one, Strong):
            shown.append(f"**{plain(one.text)}**")
        elif one.isspace():
            shown.append(": ")
        else:
            before = " " if number and one[:1].isspace() else ""
            after = " " if one[-1:].isspace() and one.strip() else ""
            shown.append(f"{before}{plain(one)}{after}")
    return "".join(shown).strip()


def _cells(cells: tuple[Words, ...]) -> str:
    # Words have their bars quoted; also in code a bar ends the cell.
    return f"| {' | '.join(_BAR.sub(_QUOTED_BAR, _words_of(one)) for one in cells)} |"


def fence(lines: list[str] | tuple[str, ...], language: str) -> list[str]:
    """A block of code. CommandLines keep their backquotes inside a longer fence, so nothing inside ends it."""
    if not lines:
        return []
    shown = [clean(line) if language == "sh" else code(line) for line in lines]
    ticks = "`" * max(3, 1 + max((len(run) for line in shown for run in re.findall("`+", line)), default=0))
    return [f"{ticks}{language}", *shown, ticks]
