"""Python source from files: scripts, and the code cells of notebooks; what is no Python 3 is not read."""

from __future__ import annotations

import ast
import json
import re
import warnings
from dataclasses import dataclass, field
from typing import Any

from rocdoctor.model.lazy_re import regex

MAX_BYTES = 4 * 2**20
_MAX_NOTEBOOK_BYTES = 16 * 2**20
_MAX_CELLS = 5000
# Deeper or longer code is nobody's script, and takes the parser's stack.
_MAX_LINE = 200_000
_SHEBANG = regex(r"#!.{0,80}\bpython[0-9.]*\b")
_MAGIC = regex(r"([ \t]*)([%!?])(.*)\Z")
_ASSIGNED_MAGIC = regex(r"([\w, \t.]{1,100}=)[ \t]{0,40}[!%].*\Z")
_ENV_MAGIC = regex(r"(?:set_)?env\s+([A-Za-z_][A-Za-z0-9_]{0,100})[= ]\s*(\S.{0,1000})?\Z")
_PYTHON_CELL = regex(r"%%(?:time|timeit|capture|prun|python3?)\b")
# Files without any of these words hold nothing that a rule looks for; most of a framework's files need no parsing.
_WORTH = regex(r"torch|deepspeed|environ|putenv|subprocess|os\.system|popen|fairscale|/sys/|_bucket_size|%env")


@dataclass(frozen=True, slots=True)
class SourceCode:
    """Code that was parsed. ``lines``: line of the file for each line of code, empty where they are the same.

    ``shell``: lines of a notebook that a shell runs; ``settings``: variables that its magics set, each with its line.
    """

    tree: ast.Module
    text: str
    lines: tuple[int, ...] = ()
    shell: tuple[tuple[int, str], ...] = ()
    settings: tuple[tuple[int, str, str], ...] = ()

    def line(self, number: int) -> int:
        """The line of the file that a line of the code stands on."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else number


def is_python(path: str, text: str) -> bool:
    """Whether a file is Python by its name or by its first line."""
    low = path.lower()
    return low.endswith((".py", ".pyw", ".ipynb")) or _SHEBANG.match(text) is not None


def worth_reading(text: str) -> bool:
    """Whether a file can hold anything that is looked for."""
    return _WORTH.search(text) is not None


def read_python(path: str, text: str) -> SourceCode | None:
    """The code of a file, or None where it is no Python 3 or too large."""
    notebook = path.lower().endswith(".ipynb")
    if len(text) > (_MAX_NOTEBOOK_BYTES if notebook else MAX_BYTES):
        return None
    if notebook:
        return _notebook(text)
    tree = parsed(text)
    return None if tree is None else SourceCode(tree, text)


def parsed(text: str) -> ast.Module | None:
    """The syntax tree, or None where there is none; what the parser warns of is not told."""
    if len(text) > MAX_BYTES or (len(text) > _MAX_LINE and max(map(len, text.split("\n"))) > _MAX_LINE):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text.removeprefix("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None


@dataclass(slots=True)
class _Cells:
    code: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    shell: list[tuple[int, str]] = field(default_factory=list)
    settings: list[tuple[int, str, str]] = field(default_factory=list)


def _notebook(text: str) -> SourceCode | None:
    try:
        cells = json.loads(text)["cells"]
    except (ValueError, RecursionError, MemoryError, TypeError, KeyError, IndexError):
        return None
    if not isinstance(cells, list):
        return None
    found = _Cells()
    places = _Places(text)
    for cell in cells[:_MAX_CELLS]:
        source = cell.get("source") if isinstance(cell, dict) and cell.get("cell_type") == "code" else None
        lines = _lines(source)
        if lines:
            _cell(lines, [places.line(line) for line in lines], found)
    tree = parsed(code := "\n".join(found.code) + "\n")
    if tree is None:
        return None
    return SourceCode(tree, code, tuple(found.numbers), tuple(found.shell), tuple(found.settings))


def _lines(source: Any) -> list[str]:
    if isinstance(source, list):
        source = "".join(one for one in source if isinstance(one, str))
    return source.split("\n") if isinstance(source, str) and len(source) <= MAX_BYTES else []


def _cell(lines: list[str], numbers: list[int], found: _Cells) -> None:
    head = lines[0].lstrip()
    if head.startswith("%%"):
        if re.match(r"%%(?:bash|sh|script bash)\b", head):
            found.shell += list(zip(numbers[1:], lines[1:], strict=True))
        if not _PYTHON_CELL.match(head):
            return
        lines = ["", *lines[1:]]
    code: list[str] = []
    for number, line in zip(numbers, lines, strict=True):
        magic = _MAGIC.match(line)
        if magic is None:
            code.append(_ASSIGNED_MAGIC.sub(r"\1 None", line))
            continue
        code.append(f"{magic[1]}pass")
        setting = _ENV_MAGIC.match(magic[3]) if magic[2] == "%" else None
        if setting is not None:
            found.settings.append((number, setting[1], (setting[2] or "").strip()))
        elif magic[2] == "!" or magic[3].startswith(("pip ", "conda ", "sx ")):
            found.shell.append((number, magic[3].lstrip("!").strip()))
    if parsed("\n".join(code)) is not None:
        found.code += code
        found.numbers += numbers


class _Places:
    """Lines of a notebook's text for the lines of its cells, in order."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.number = 1
        self.lost = False

    def line(self, code: str) -> int:
        """The line that holds this line of code; the last one found where it cannot be told."""
        if self.lost or not code.strip():
            return self.number
        plain = json.dumps(code, ensure_ascii=False)[1:-1]
        at = self.text.find(plain, self.at)
        if at < 0:
            at = self.text.find(json.dumps(code)[1:-1], self.at)
        if at < 0:
            self.lost = True  # looking on for each line would take the square of the length
            return self.number
        self.number += self.text.count("\n", self.at, at)
        self.at = at
        return self.number
