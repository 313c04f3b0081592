"""Words with addresses of pages in them, for a terminal that opens these (OSC 8): none goes on at the first column."""

from __future__ import annotations

from rich.cells import cell_len, chop_cells
from rich.style import Style
from rich.text import Text

from rocdoctor.model.lazy_re import regex

_ADDRESS = regex(r"https?://[!-~]{1,2000}\Z")
_WORD = regex(r"\(?https?://[!-~]{1,2000}")
_CLOSING = ").,;:"


def address_in(word: str) -> str:
    """The address that a word is, without what closes a sentence; "" where it is none."""
    found = word.strip("(<>").rstrip(_CLOSING) if "://" in word else ""
    return found if _ADDRESS.match(found) else ""


def linked(text: Text) -> Text:
    """The same text; each address in it is a link."""
    for found in _WORD.finditer(text.plain):
        if address := address_in(found[0]):
            begin = found.start() + found[0].index(address)
            text.stylize(Style(link=address), begin, begin + len(address))
    return text


def linked_lines(words: str, width: int, indent: str = "", hang: str = "") -> list[Text]:
    """The words in lines of at most ``width`` cells; a longer one goes on behind ``hang``, each part with its link."""
    lines = [Text(indent)]
    begun = False
    for word in words.split():
        address = address_in(word)
        style = Style(link=address) if address else ""
        room = max(1, width - len(hang))
        for at, part in enumerate(chop_cells(word, room) if cell_len(word) > room else [word]):
            if begun and (at or lines[-1].cell_len + 1 + cell_len(part) > width):
                lines.append(Text(hang))
            elif begun:
                lines[-1].append(" ")
            lines[-1].append(part, style=style)
            begun = True
    return lines
