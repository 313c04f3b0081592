"""The one renderer for terminals, and what lays out lines of their width."""

from __future__ import annotations

import textwrap

from rocdoctor.model.printable import clean, one_line
from rocdoctor.repair.setup.command_lines import broken
from rocdoctor.report.document import (
    COLOURS,
    HELD,
    Block,
    Closing,
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
    unmarked,
)

_MAX_VALUE = 160
_MAX_VALUES = 3


class Style:
    """Colours when they are wanted, nothing otherwise: no word depends on them."""

    def __init__(self, colour: bool) -> None:
        self.colour = colour

    def __call__(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and code else text


def wrap(text: str, width: int, indent: str, hang: str | None = None) -> list[str]:
    """The text in lines of at most ``width`` columns; a word that is longer than a line (a path) is not broken."""
    rest = indent if hang is None else hang
    lines: list[str] = []
    for part in clean(text).split("\n"):
        lines += textwrap.wrap(
            part,
            width,
            initial_indent=indent if not lines else rest,
            subsequent_indent=rest,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    return lines


def render(document: Document, width: int, colour: bool = False) -> str:
    """The document in lines of at most ``width`` columns, as far as its words allow."""
    found = lines(document, width, Style(colour))
    return "\n".join(found) + "\n" if found else ""


def lines(document: Document, width: int, style: Style | None = None) -> list[str]:
    """The lines of a document or of a part of one."""
    drawn = style or Style(False)
    return [line for block in document for line in _block(block, width, drawn)]


def _block(block: Block, width: int, style: Style) -> list[str]:
    match block:
        case Title():
            return []
        case Gap():
            return [""]
        case Closing(words):
            return wrap(words, width, "")
        case Heading(words, indent, hang, colour):
            return [style(line, colour) for line in _folded(words, width, indent, hang, style)]
        case Para(words, indent, hang, bold, _, folded):
            found = _folded(words, width, indent, hang, style) if folded else [indent + _in_a_line(words, style)]
            return [style(line, "1") for line in found] if bold else found
        case Row(label, words, indent, column):
            return _within(_folded(words, width, f"{indent}{label:<{column}}", indent + " " * column, style), width)
        case CommandLines():
            return _commands(block, width)
        case Fixed(fixed, hang):
            if hang is None:
                return [clean(line) for line in fixed]
            return [line for one in fixed for line in wrap(one, width, "", hang)]
        case Pairs():
            return _pairs(block, width)
        case Note():
            return _note(block, width, style)
        case Stage():
            return _stage(block, width, style)
        case Table(_, _, laid):
            return lines(laid(width), width, style) if laid is not None else []


def _folded(words: Words, width: int, indent: str, hang: str | None, style: Style) -> list[str]:
    """Words in lines; what stands out is coloured where it stands whole in the first line."""
    found = [line.replace(HELD, " ") for line in wrap(unmarked(words), width, indent, hang)]
    at, first, shown = len(indent), found[0], 0
    for one in spans(words) if style.colour else ():
        text = one if isinstance(one, str) else one.text
        begin = at + shown
        if not isinstance(one, str) and first[begin : begin + len(text)] == text:
            marked = style(text, one.colour)
            first = first[:begin] + marked + first[begin + len(text) :]
            shown += len(marked) - len(text)
        at += len(text)
    return [first, *found[1:]]


def _within(found: list[str], width: int) -> list[str]:
    """The lines; a long word that makes one too wide stands on a line of its own, as far to the left as it needs."""
    made: list[str] = []
    for line in found:
        head, _, word = line.rstrip().rpartition(" ")
        if len(line) <= width or "\x1b" in line:
            made.append(line)
        else:
            made += [*([head.rstrip()] if head.strip() else []), word.rjust(width)]
    return made


def _in_a_line(words: Words, style: Style) -> str:
    return "".join(clean(one) if isinstance(one, str) else style(clean(one.text), one.colour) for one in spans(words))


def _commands(block: CommandLines, width: int) -> list[str]:
    inner = block.indent + " " * block.column
    return [
        clean(line)
        for number, tokens in enumerate(block.commands)
        for line in broken(
            tokens, width, inner if number else f"{block.indent}{block.label:<{block.column}}", inner + "  "
        )
    ]


def _pairs(block: Pairs, width: int) -> list[str]:
    """Value and source side by side, values aligned; where both do not fit, the source stands below."""
    left = min(max((len(value) for value, _ in block.rows), default=0), width // 2 - 4)
    found: list[str] = []
    for value, source in block.rows:
        beside = f"{block.indent}{value:<{left}}  {source}".rstrip()
        if len(beside) <= width:
            found.append(beside)
        else:
            deeper = block.indent + "  "
            found += [*wrap(cut(value), width, block.indent, deeper)]
            found += wrap(f"from {source}" if source else "", width, deeper)
    return [line for line in found if line.strip()]


def cut(value: str, most: int = _MAX_VALUE) -> str:
    """A value as far as a report shows it."""
    return value if len(value) <= most else value[: most - 3] + "..."


def _note(block: Note, width: int, style: Style) -> list[str]:
    if block.number:
        mark = Strong(block.severity, COLOURS[block.severity])
        head = (f"{block.number}  ", mark, f"  {block.name}  {block.about}")
        return [*_folded(head, width, "", "   ", style), *wrap(one_line(block.message), width, "   ")]
    before = f"{block.severity:<7} {block.name}  "
    front = f"{style(f'{block.severity:<7}', COLOURS[block.severity])} {style(block.name, '1')}  "
    if len(before + block.about) <= width:
        head_lines = [front + block.about]
    elif block.places:
        head_lines = [front + block.short, *wrap("at " + ", ".join(block.places), width, "  ", "     ")]
    else:
        blank = " " * len(before)
        first, *rest = wrap(block.short, width, blank, blank)
        head_lines = [front + first.lstrip(), *rest]
    return [*head_lines, *wrap(block.message, width, "  ")]


def _stage(block: Stage, width: int, style: Style) -> list[str]:
    number = f"{block.number:>{block.figures}}  "
    front = f"{number}{block.state:<7}  "
    found = wrap(_shown_of(block, width - len(front)), width, front, " " * len(front))
    first = number + style(block.state, block.colour) + found[0][len(number) + len(block.state) :]
    return [first, *found[1:]]


def _shown_of(block: Stage, room: int) -> str:
    """The title with values and places as far as one line holds them, one value at least."""
    if not block.values:
        return block.title
    placed = [value + (f" ({place})" if place else "") for value, place in block.values]
    values = [value for value, _ in block.values]
    if block.whole:
        return f"{block.title}: {'; '.join(placed[:_MAX_VALUES])}"
    shorter = ([placed, values] if len(values) <= _MAX_VALUES else []) + [values[:count] for count in (3, 2, 1)]
    texts = [f"{block.title}: {'; '.join(part)}" for part in shorter]
    return next((text for text in texts if len(text) <= room), texts[-1])
