"""Text in lines of at most so many cells, so that it can be drawn line by line."""

from __future__ import annotations

from rich.cells import cell_len, chop_cells


def cut(text: str, width: int, again: str = "") -> list[str]:
    """The lines of a text; longer ones are broken, at a blank where there is one, and go on behind ``again``."""
    width = max(1, width)
    lines: list[str] = []
    for line in text.expandtabs(8).split("\n"):
        if len(line) <= width and (line.isascii() or cell_len(line) <= width):
            lines.append(line)
            continue
        room = max(1, width - len(again))
        first, *rest = _broken(line, room) if line.isascii() else chop_cells(line, room)
        lines += [first, *(again + one for one in rest)]
    return lines


def hung(text: str, width: int) -> list[str]:
    """The same, each line going on behind its own indentation and two blanks more."""
    lines: list[str] = []
    for line in text.split("\n"):
        indent = min(len(line) - len(line.lstrip(" ")) + 2, max(0, width // 2))
        lines += cut(line, width, " " * indent)
    return lines


def _broken(line: str, width: int) -> list[str]:
    lines: list[str] = []
    while len(line) > width:
        at = line.rfind(" ", width // 2, width + 1)
        end = at if at > 0 and line[:at].strip() else width
        lines.append(line[:end].rstrip())
        line = line[end + 1 :] if at == end else line[end:]
    return [*lines, line]
