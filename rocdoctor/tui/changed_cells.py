"""Sends a terminal only the cells that differ from what it shows already: people sit behind slow lines.

Textual writes each widget that changed as a whole. A long page of which half the cells are blank, or a list in which
two rows changed, then takes ten times the bytes that it needs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from rich.cells import get_character_cell_size
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import ControlType, Segment
from rich.style import Style

from rocdoctor.model.lazy_re import regex

try:
    from textual._compositor import CompositorUpdate  # pyright: ignore[reportAssignmentType]
except ImportError:

    class CompositorUpdate:  # type: ignore[no-redef]
        """No drawing of this Textual is one: it writes them as it does."""


# A cell: the character ("" behind a wide one), and how it is drawn as (attributes, foreground, background, link).
Look = tuple[tuple[str, ...], str, str, str]
Cell = tuple[str, Look]
_PLAIN: Look = ((), "", "", "")
_BLANK: Cell = (" ", _PLAIN)
_JOINED = 6  # so many equal cells between two others are written again: to go there takes as many bytes
_BLANKS = regex(r"( {8,1000})")  # these are erased; fewer are written
# Drawn on blanks too, so these cannot be erased: underline, blink, reverse, strike, frames and lines over them.
_SEEN_ON_BLANKS = frozenset(("4", "5", "6", "7", "9", "21", "51", "52", "53"))


def erases_in_colour() -> bool:
    """Whether erased cells get the colour that is set: GNU screen alone gives them its own."""
    return bool(os.environ.get("TMUX")) or not os.environ.get("TERM", "").startswith("screen")


class ShownCells:
    """What the terminal shows, as far as it is known."""

    def __init__(self, erase: bool = True) -> None:
        """``erase``: erased cells get the colour that is set."""
        self._erase = erase
        self._lines: dict[int, list[Cell | None]] = {}
        self._written: dict[int, list[Segment]] = {}

    def forget(self) -> None:
        """Others wrote to the terminal, or it was cleared."""
        self._lines.clear()
        self._written.clear()

    def bytes_for(self, segments: Iterable[Segment], console: Console) -> str:
        """What to write so that the terminal shows the segments; control segments say where the next one begins."""
        changed: dict[int, list[Cell | None]] = {}
        for y, x, run in _runs(segments):
            if x == 0 and self._written.get(y) == run and y not in changed:
                continue
            line = changed.get(y)
            if line is None:
                line = changed[y] = list(self._lines.get(y, ()))
            _put(line, x, run, console)
            self._written[y] = run if x == 0 else []
        out: list[str] = []
        now = _PLAIN
        for y in sorted(changed):
            now = self._line(y, changed[y], now, out)
            self._lines[y] = changed[y]
        if now != _PLAIN:
            out.append(_turned(now, _PLAIN))
        return "".join(out)

    def _line(self, y: int, line: list[Cell | None], now: Look, out: list[str]) -> Look:
        cursor = -1  # -1: not in this line
        for start, end in _changes(self._lines.get(y, []), line):
            at = start
            while at < end:
                look = _looks_as(line[at], now)
                stop = at + 1
                while stop < end and _looks_as(line[stop], look) == look:
                    stop += 1
                if cursor != at:
                    out.append(f"\x1b[{y + 1};{at + 1}H" if cursor < 0 else f"\x1b[{at - cursor}C")
                if now != look:
                    out.append(_turned(now, look))
                    now = look
                cursor = self._text("".join((one or _BLANK)[0] for one in line[at:stop]), stop, look, out)
                at = stop
        return now

    def _text(self, text: str, stop: int, look: Look, out: list[str]) -> int:
        """Write characters that end at a column, all in one look; many blanks are erased. Where the cursor is then."""
        if not self._erase or "        " not in text or not _blank_shows_little(look):
            out.append(text)
            return stop
        pieces = _BLANKS.split(text)
        while len(pieces) > 1 and not pieces[-1]:
            pieces.pop()
        for at, piece in enumerate(pieces):
            if not at % 2:  # what stands between blanks; it may begin with a few itself
                out.append(piece)
            elif at < len(pieces) - 1:
                out.append(f"\x1b[{len(piece)}X\x1b[{len(piece)}C")
            else:
                out.append(f"\x1b[{len(piece)}X")
                return stop - len(piece)  # erasing does not move it
        return stop


class ChangedUpdate(CompositorUpdate):
    """An update of the screen that writes what differs from what is shown."""

    def __init__(self, update: CompositorUpdate, shown: ShownCells) -> None:
        self._update, self._shown = update, shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        yield from self._update.__rich_console__(console, options)  # type: ignore[attr-defined]

    def render_segments(self, console: Console) -> str:
        """The bytes."""
        parts: Iterable[Any] = self._update.__rich_console__(console, console.options)  # type: ignore[attr-defined]
        return self._shown.bytes_for(parts, console)


def changed_only(drawn: RenderableType | None, shown: ShownCells) -> RenderableType | None:
    """What Textual displays, written as the cells that change; as it is where that cannot be done."""
    parts = isinstance(drawn, CompositorUpdate) and hasattr(drawn, "__rich_console__")
    return ChangedUpdate(drawn, shown) if parts else drawn  # type: ignore[arg-type]


def _runs(segments: Iterable[Segment]) -> Iterator[tuple[int, int, list[Segment]]]:
    """(line, column, segments) of all that is written without a move in between."""
    x = y = 0
    run: list[Segment] = []
    for one in segments:
        if not one.control:
            if one.text != "\n":
                run.append(one)
            continue
        for code in one.control:
            if code[0] is ControlType.CURSOR_MOVE_TO:
                if run:
                    yield y, x, run
                    run = []
                x, y = int(code[1]), int(code[2])  # type: ignore[misc]
    if run:
        yield y, x, run


def _put(line: list[Cell | None], x: int, run: list[Segment], console: Console) -> None:
    system: Any = console._color_system  # as Textual draws
    for text, style, _ in run:
        look = _look(style, system) if style else _PLAIN
        blank: Cell = (" ", ((), "", *look[2:]) if _blank_shows_little(look) else look)
        if text.isascii():
            cells: list[Cell | None] = [(one, look) if one != " " else blank for one in text]
        else:
            cells = []
            for one in text:
                size = get_character_cell_size(one)
                if size:
                    cells.append((one, look) if one != " " else blank)
                    cells += [("", look)] * (size - 1)
                elif cells and cells[-1] is not None:
                    cells[-1] = (cells[-1][0] + one, look)
        if len(line) < x:
            line += [None] * (x - len(line))
        line[x : x + len(cells)] = cells
        x += len(cells)


def _blank_shows_little(look: Look) -> bool:
    """Whether a blank of this look shows its background alone."""
    return not look[0] or not _SEEN_ON_BLANKS & set(look[0])


def _looks_as(cell: Cell | None, now: Look) -> Look:
    """The look to draw a cell with: a blank takes any that shows the same."""
    text, look = cell or _BLANK
    if text == " " and look[2:] == now[2:] and not look[0] and _blank_shows_little(now):
        return now
    return look


def _changes(old: list[Cell | None], new: list[Cell | None]) -> list[tuple[int, int]]:
    """(start, end) of the cells to write: wide characters as a whole, near ones in one go."""
    if old == new:
        return []
    have = len(old)
    found: list[tuple[int, int]] = []
    for at, cell in enumerate(new):
        if cell is None or (at < have and old[at] == cell):
            continue
        start, end = at, at + 1
        while start and (new[start] or _BLANK)[0] == "":
            start -= 1
        while end < len(new) and (new[end] or _BLANK)[0] == "":
            end += 1
        # Half of a wide character that stood there is gone with the other half.
        while end < min(have, len(new)) and (old[end] or _BLANK)[0] == "":
            end += 1
        if found and start - found[-1][1] <= _JOINED:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


@lru_cache(4096)
def _look(style: Style, system: Any) -> Look:
    """A style as the codes that draw it."""
    drawn, link = style.render("\0", color_system=system).partition("\0")[0], style.link or ""
    codes = drawn.rpartition("\x1b[")[2].removesuffix("m").split(";") if "\x1b[" in drawn else []
    attributes: list[str] = []
    fore = back = ""
    while codes:
        code = codes.pop(0)
        if code in ("38", "48"):
            count = 4 if codes[:1] == ["2"] else 2
            code = ";".join([code, *codes[:count]])
            del codes[:count]
        number = int(code.partition(";")[0])
        if 30 <= number <= 39 or 90 <= number <= 97:
            fore = code if number != 39 else ""
        elif 40 <= number <= 49 or 100 <= number <= 107:
            back = code if number != 49 else ""
        else:
            attributes.append(code)
    return tuple(attributes), fore, back, link


_OFF = {"1": "22", "2": "22", "3": "23", "4": "24", "5": "25", "6": "25", "7": "27", "8": "28", "9": "29", "21": "24"}


def _turned(now: Look, then: Look) -> str:
    """What turns one look into another, in few bytes."""
    said = f"\x1b]8;;{then[3]}\x1b\\" if now[3] != then[3] else ""
    if now[:3] == then[:3]:
        return said
    had, wanted = set(now[0]), set(then[0])
    gone = had - wanted
    if not any(then[:3]) or not gone <= _OFF.keys():
        codes = ["0", *then[0], then[1], then[2]] if any(then[:3]) else [""]
    else:
        ends = {_OFF[one] for one in gone}
        codes = [
            *sorted(ends),
            *(one for one in then[0] if one not in had or _OFF.get(one) in ends),
            (then[1] or "39") if now[1] != then[1] else "",
            (then[2] or "49") if now[2] != then[2] else "",
        ]
    return f"{said}\x1b[{';'.join(one for one in codes if one)}m"
