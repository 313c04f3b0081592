"""Lines of ``ls -l`` for device nodes: type, mode, owner, group, name."""

from __future__ import annotations

from dataclasses import dataclass

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import lines_of

_LINE = regex(
    r"\s{0,12}([cb])([r-][w-][xsS-][r-][w-][xsS-][r-][w-][xtT-])[.+@]?\s+\d{1,6}\s+(\S{1,64})\s+(\S{1,64})"
    r"\s+(.{0,80}?)(\S{1,200})\s*\Z"
)
_BITS = (("r", 4), ("w", 2), ("x", 1))


@dataclass(frozen=True, slots=True)
class ListedNode:
    """A device node; ``mode`` as four octal digits ("0660"), ``path`` as printed (a bare name in a listed folder)."""

    path: str
    mode: str
    group: str
    line: int


def parse_ls_long(text: str) -> tuple[ListedNode, ...]:
    """Every character and block device that is listed."""
    found: list[ListedNode] = []
    for number, raw in enumerate(lines_of(text, 20_000), 1):
        match = _LINE.match(raw[:600])
        if match:
            letters = match[2].lower().replace("s", "x").replace("t", "x")
            digits = [
                sum(bit for at, (_, bit) in enumerate(_BITS) if letters[group + at] != "-") for group in (0, 3, 6)
            ]
            mode = "0" + "".join(str(digit) for digit in digits)
            found.append(ListedNode(match[6], mode, match[4], number))
    return tuple(found)
