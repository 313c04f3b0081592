"""Lines of a drawing: words filled in behind a prefix, none longer than the width."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rich.cells import cell_len, chop_cells
from rich.text import Text

_ROOM = 24  # cells that a prefix leaves at least


@dataclass(frozen=True, slots=True)
class Atom:
    """Some characters that stay together on a line where they fit on one; ``tight``: without a blank before them."""

    text: str
    style: str = ""
    tight: bool = False


def atoms(text: str, style: str = "") -> list[Atom]:
    """The words of a text, one atom each."""
    return [Atom(word, style) for word in text.split()]


def phrases(text: str, style: str = "") -> list[Atom]:
    """What stands between the commas and semicolons of a text, one atom each."""
    return [Atom(one, style) for one in re.split(r"(?<=[,;]) ", text) if one]


def filled(first: str, rest: str, parts: Iterable[Atom], width: int, bars: str = "dim") -> list[Text]:
    """Lines of at most ``width`` cells: ``first`` before the first of them, ``rest`` before the others.

    Of a prefix that leaves no room (a tree of many levels) the end is kept.
    """
    longest = max(0, width - _ROOM)
    first, rest = first[max(0, len(first) - longest) :], rest[max(0, len(rest) - longest) :]
    lines = [_Line(first, bars)]
    empty = True
    for part in parts:
        for piece in _pieces(part.text, max(1, width - max(cell_len(first), cell_len(rest)))):
            gap = "" if empty or part.tight else " "
            if not empty and lines[-1].cells + len(gap) + cell_len(piece) > width:
                lines.append(_Line(rest, bars))
                gap = ""
            lines[-1].add(gap, piece, part.style)
            empty = False
    return [line.text() for line in lines]


class _Line:
    """A line that grows; words of one style are one run, and a blank between two belongs to the first."""

    def __init__(self, prefix: str, style: str) -> None:
        self.runs = [(prefix, style)]
        self.cells = cell_len(prefix)

    def add(self, gap: str, words: str, style: str) -> None:
        before, its = self.runs[-1]
        self.cells += len(gap) + cell_len(words)
        if its == style:
            self.runs[-1] = (before + gap + words, style)
        else:
            self.runs[-1:] = [(before + gap, its), (words, style)]

    def text(self) -> Text:
        line = Text(no_wrap=True, end="")
        for words, style in self.runs:
            line.append(words, style=style)
        return line


def _pieces(text: str, room: int) -> list[str]:
    """A text that is too long for a line, cut after its commas, else at its blanks, and within a word at last."""
    if cell_len(text) <= room:
        return [text]
    found: list[str] = []
    current = ""
    for piece in _breakable(text, room):
        if cell_len(current + piece.rstrip()) > room and current:
            found.append(current.rstrip())
            current = ""
        if cell_len(piece) > room:
            *whole, piece = chop_cells(piece, room)
            found += whole
        current += piece
    return [*found, current.rstrip()] if current.strip() else found


def _breakable(text: str, room: int) -> list[str]:
    """The parts between which a line may end: what commas part, and of what is too long yet the words."""
    parts = text.replace(",", ",\0").split("\0")
    return [word for part in parts for word in (re.split(r"(?<= )", part) if cell_len(part) > room else [part]) if word]
