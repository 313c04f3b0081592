"""The pages of the documentation site, and the commands that they show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tests.kit import ROOT

DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"])
# Written for people who are new here, and read by them first.
FIRST_PAGES = sorted([DOCS / "index.md", DOCS / "install.md", *(DOCS / "tasks").glob("*.md")])
_USUAL = "rx7900xtx-2gpu"
_MACHINE = re.compile(r"<!-- machine: (\S+) -->")


@dataclass(frozen=True, slots=True)
class Shown:
    """A command of a page, the machine that the page speaks of there, and the output that the page shows for it."""

    page: Path
    line: int
    command: str
    machine: str
    says: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}: {self.command}"


def _blocks(text: str) -> Iterator[tuple[int, str, list[str]]]:
    """The blocks of code and the machines named between them: the line before the first, what it is, its lines."""
    kind, begins, lines = "", 0, list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.match(r" *```(\w*)", line)
        if fence and not kind:
            kind, begins, lines = fence[1] or "none", number, []
        elif fence:
            yield begins, kind, lines
            kind = ""
        elif kind:
            lines.append(line)
        elif named := _MACHINE.fullmatch(line.strip()):
            yield number, "machine", [named[1]]


def commands_of(page: Path) -> list[Shown]:
    """The commands of the blocks marked ``sh``; in the first pages a block of ``text`` is what the last one prints."""
    found: list[Shown] = []
    machine = _USUAL
    for begins, kind, lines in _blocks(page.read_text(encoding="utf-8")):
        if kind == "machine":
            machine = lines[0]
        elif kind == "sh":
            whole = re.sub(r" *\\\n *", " ", "\n".join(lines))
            found += [Shown(page, begins + 1, one.strip(), machine) for one in whole.splitlines() if one.strip()]
        elif kind == "text" and page in FIRST_PAGES:
            found[-1] = replace(found[-1], says=tuple(lines))
    return found


def prose(page: Path) -> str:
    """What is written in sentences: without blocks of code, tables, headings and comments; a link is its words."""
    text = re.sub(r"^ *```.*?^ *```$|<!--.*?-->|^\|.*?$|^#.*?$|^!\[.*?$", "", page.read_text(), flags=re.DOTALL | re.M)
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
