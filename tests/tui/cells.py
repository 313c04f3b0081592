"""A terminal of cells: what the sequences that the screens write leave on it."""

from __future__ import annotations

import re

_PART = re.compile(r"\x1b\[([\d;]*)([A-Za-z])|\x1b\]8;([^;]*);([^\x1b]*)\x1b\\|([^\x1b])")
_ON = {"1": "bold", "2": "dim", "3": "italic", "4": "underline", "7": "reverse", "9": "strike"}
_OFF = {"22": ("bold", "dim"), "23": ("italic",), "24": ("underline",), "27": ("reverse",), "29": ("strike",)}
_SHOWN_ON_BLANKS = {"underline", "reverse", "strike"}


class Cells:
    """Lines of (character, what is seen of its style); ASCII and characters of one cell alone."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.grid: list[list[object]] = [[(" ", self._seen(" ", frozenset(), "", ""))] * width for _ in range(height)]
        self._x = self._y = 0
        self._set: frozenset[str] = frozenset()
        self._fore = self._back = self._link = ""

    def write(self, written: str) -> None:
        """What a terminal does with it."""
        at = 0
        for part in _PART.finditer(written):
            assert part.start() == at, f"not known here: {written[at : at + 20]!r}"
            at = part.end()
            codes, letter, _, link, character = part.groups()
            if character:
                if character != "\n":
                    self._put(character)
                    self._x += 1
            elif letter == "H":
                line, _, column = codes.partition(";")
                self._y, self._x = int(line) - 1, int(column) - 1
            elif letter == "C":
                self._x += int(codes)
            elif letter == "X":
                began = self._x
                for self._x in range(began, began + int(codes)):
                    # Erased cells get the background alone.
                    self.grid[self._y][self._x] = (" ", self._seen(" ", frozenset(), "", self._back))
                self._x = began
            elif letter == "m":
                self._style(codes.split(";"))
            elif link is not None:
                self._link = link
        assert at == len(written)

    def _put(self, character: str) -> None:
        assert self._x < self.width, "written beyond the end of a line"
        self.grid[self._y][self._x] = (character, self._seen(character, self._set, self._fore, self._back))

    def _seen(self, character: str, on: frozenset[str], fore: str, back: str) -> object:
        if character == " ":
            shown = on & _SHOWN_ON_BLANKS
            return (shown, fore if shown else "", back, self._link if hasattr(self, "_link") and shown else "")
        return (on, fore, back, self._link)

    def _style(self, codes: list[str]) -> None:
        while codes:
            code = codes.pop(0) or "0"
            if code == "0":
                self._set, self._fore, self._back = frozenset(), "", ""
            elif code in _ON:
                self._set |= {_ON[code]}
            elif code in _OFF:
                self._set -= set(_OFF[code])
            elif code in ("38", "48"):
                count = 4 if codes[0] == "2" else 2
                colour, codes = ";".join(codes[:count]), codes[count:]
                if code == "38":
                    self._fore = colour
                else:
                    self._back = colour
            elif code in ("39", "49"):
                self._fore, self._back = ("", self._back) if code == "39" else (self._fore, "")
            elif code[0] in "39":
                self._fore = code
            else:
                self._back = code
