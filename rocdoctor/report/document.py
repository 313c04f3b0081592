"""A document as values: what is said, of which kind, in which order. ``text`` and ``markdown`` each render all of it.

Blocks stand in one flat sequence. ``indent`` and ``hang`` are what a terminal shows before the first and before each
further line; markdown takes its structure from the kind of a block alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

Tokens: TypeAlias = tuple[str, ...]
# A blank at which no line ends: it holds a value and its unit together, and is printed as any other.
HELD = "\N{NO-BREAK SPACE}"
# Escape codes of a terminal by severity.
COLOURS = {"error": "31;1", "warning": "33", "info": "36"}


@dataclass(frozen=True, slots=True)
class Code:
    """Words that are typed, that name something or that a program printed; ``colour`` as in ``Strong``."""

    text: str
    colour: str = ""


@dataclass(frozen=True, slots=True)
class Strong:
    """Words that stand out; ``colour`` is the escape code of a terminal."""

    text: str
    colour: str = "1"


Inline: TypeAlias = str | Code | Strong
# A piece of blanks alone stands between a name and what is said of it.
Words: TypeAlias = Inline | tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Title:
    """The name of the document, which a terminal knows already: it was typed there."""

    words: str


@dataclass(frozen=True, slots=True)
class Heading:
    """The head of a part; ``colour`` is that of a whole line in a terminal."""

    words: Words
    indent: str = ""
    hang: str | None = None
    colour: str = ""


@dataclass(frozen=True, slots=True)
class Para:
    """A paragraph, or with ``item`` one of a list. ``folded``: a terminal breaks it into lines."""

    words: Words
    indent: str = ""
    hang: str | None = None
    bold: bool = False
    item: bool = False
    folded: bool = True


@dataclass(frozen=True, slots=True)
class Row:
    """A word and what there is to say to it, side by side: ``column`` counts the signs of the first, blanks too."""

    label: str
    words: Words
    indent: str = ""
    column: int = 9


@dataclass(frozen=True, slots=True)
class CommandLines:
    """CommandLines to type; one of several tokens goes on after a backslash where the line ends."""

    commands: tuple[Tokens, ...]
    label: str = ""
    indent: str = ""
    column: int = 0


@dataclass(frozen=True, slots=True)
class Fixed:
    """Lines whose columns mean something; with ``hang`` a terminal may break them."""

    lines: tuple[str, ...]
    hang: str | None = None


@dataclass(frozen=True, slots=True)
class Pairs:
    """Values and where each was read."""

    rows: tuple[tuple[str, str], ...]
    indent: str = "    "


@dataclass(frozen=True, slots=True)
class Note:
    """A finding: how grave, its name, what it is about (``short`` and ``places`` where that is long), what it says."""

    severity: str
    name: str
    about: str
    message: str
    number: int = 0
    short: str = ""
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stage:
    """The head of a step: its number (of as many ``figures`` as the highest), its state, and what shows the state.

    A terminal adds those ``values`` to the title, as many as one line holds, or ``whole`` with their places.
    """

    number: int
    figures: int
    state: str
    colour: str
    title: str
    values: tuple[tuple[str, str], ...] = ()
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells; a terminal shows what ``laid`` makes of its width, or nothing where other blocks say the same."""

    header: tuple[Words, ...]
    rows: tuple[tuple[Words, ...], ...]
    laid: Callable[[int], tuple[Block, ...]] | None = None


@dataclass(frozen=True, slots=True)
class Closing:
    """What is said of the whole document at its end."""

    words: str


@dataclass(frozen=True, slots=True)
class Gap:
    """An empty line of a terminal."""


GAP = Gap()
Block: TypeAlias = Title | Heading | Para | Row | CommandLines | Fixed | Pairs | Note | Stage | Table | Closing | Gap
Document: TypeAlias = Iterable[Block]


def spans(words: Words) -> tuple[Inline, ...]:
    """The pieces of some words."""
    return words if isinstance(words, tuple) else (words,)


def unmarked(words: Words) -> str:
    """Some words without their marks."""
    return "".join(one if isinstance(one, str) else one.text for one in spans(words))
