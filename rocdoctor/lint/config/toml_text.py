"""TOML texts as trees. The standard library reads the values; it tells no lines, so these are looked up in the text."""

from __future__ import annotations

import re
import sys
from bisect import bisect
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from rocdoctor.lint.config.trees import MAX_TEXT, Tree
from rocdoctor.model.lazy_re import regex

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_HEADER = regex(r"\s{0,60}(\[\[?)([^\[\]\n]{1,300})\]\]?\s{0,60}\Z")
_NAME = r"(?:[A-Za-z0-9_\-]{1,200}|\"[^\"\n]{1,200}\"|'[^'\n]{1,200}')"
_KEY = regex(rf"\s{{0,60}}({_NAME}(?:\s{{0,9}}\.\s{{0,9}}{_NAME}){{0,20}})\s{{0,60}}=(?!=)")
_PART = regex(r"\"([^\"\n]*)\"|'([^'\n]*)'|([A-Za-z0-9_\-]+)")
# A string, or a comment, of a text that is TOML.
_TOKEN = regex(
    r'"""(?:[^"\\]|\\.|"(?!""))*"""|\'\'\'(?:[^\']|\'(?!\'\'))*\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*', re.S
)
_BARE = regex(r"[\s\[]{0,60}[\"']?[A-Za-z0-9_\- ]{1,200}[\"']?\s{0,60}\Z")
_MOST_PARTS = 100
# How far behind an item of a list the next one is looked for.
_WINDOW = 4_000

Path = tuple[str, ...]


def toml_tree(text: str) -> Tree:
    """A TOML text as a tree, numbers as texts; an empty one for a text that is too long or no TOML.

    A value whose place is not found has the line of what it stands in.
    """
    if len(text) > MAX_TEXT or _too_deep(text):
        return Tree(1)
    try:
        read = tomllib.loads(text, parse_float=str)
        return _Places(text, read).table(read, (), 1)
    except (ValueError, RecursionError):
        return Tree(1)


def toml_problem(text: str) -> str:
    """Why a text is no TOML that is read here, in words; "" where it is."""
    if len(text) > MAX_TEXT or _too_deep(text):
        return "it is too long or too deep"
    try:
        tomllib.loads(text)
    except RecursionError:
        return "it is too deep"
    except ValueError as error:
        return str(error)
    return ""


def _too_deep(text: str) -> bool:
    """Whether a line holds a name of very many parts: the parser takes memory by the square of their number."""
    for line in text.split("\n"):
        if line.count(".") <= _MOST_PARTS:
            continue
        deep = 0
        for part in line.split("."):
            deep = deep + 1 if len(part) < 300 and _BARE.match(part) else 0
            if deep > _MOST_PARTS:
                return True
    return False


class _Places:
    """Where keys and tables of a text stand. A path has the number of its element for each array of tables."""

    def __init__(self, text: str, read: Mapping[str, Any]) -> None:
        self.text, self.read = _TOKEN.sub(_plain, text), read
        self.lines = self.text.split("\n")
        self.starts = list(accumulate((len(line) + 1 for line in self.lines), initial=0))
        self.first: dict[Path, int] = {}
        self._counts: dict[Path, int] = {}
        self._look()

    def _look(self) -> None:
        table: Path = ()
        for number, line in enumerate(self.lines, 1):
            header = _HEADER.match(line)
            if header is not None:
                found = self._path((), _parts(header[2]), header[1] == "[[")
                if self._is_table(found):  # not a list in a list that looks like one
                    table = found
                    self.first.setdefault(table, number)
            elif (key := _KEY.match(line)) is not None:
                path = table
                for part in _parts(key[1]):
                    path = self._path(path, (part,))
                    self.first.setdefault(path, number)

    def _path(self, base: Path, parts: Sequence[str], begins: bool = False) -> Path:
        """The path of these keys below a table; ``begins``: they begin a new element of an array of tables."""
        path = base
        for place, part in enumerate(parts):
            path = (*path, part)
            if begins and place == len(parts) - 1:
                self._counts[path] = self._counts.get(path, -1) + 1
            if path in self._counts:
                path = (*path, str(self._counts[path]))
        return path

    def _is_table(self, path: Path) -> bool:
        found: Any = self.read
        for part in path:
            if isinstance(found, list):
                found = found[int(part)] if part.isdecimal() and int(part) < len(found) else None
            else:
                found = found.get(part) if isinstance(found, dict) else None
        return isinstance(found, dict)

    def table(self, read: Mapping[str, Any], path: Path, line: int) -> Tree:
        """The tree of a table."""
        tree = Tree(line)
        for key, value in read.items():
            tree.mapping[key] = self._value(value, (*path, key), line)
        return tree

    def _value(self, value: Any, path: Path, line: int) -> Tree:
        line = self.first.get(path, line)
        if isinstance(value, dict):
            return self.table(value, path, line)
        if isinstance(value, list):
            return Tree(line, items=self._items(value, path, line))
        return Tree(line, text=_text(value))

    def _items(self, values: Sequence[Any], path: Path, line: int) -> list[Tree]:
        items: list[Tree] = []
        at = self.starts[line - 1]
        for number, value in enumerate(values):
            if isinstance(value, str):
                quoted = (self.text.find(f"{mark}{value}{mark}", at, at + len(value) + _WINDOW) for mark in "\"'")
                found = min((one for one in quoted if one >= 0), default=-1)
                at = found + len(value) + 2 if found >= 0 else at
                items.append(Tree(bisect(self.starts, max(at - 1, 0)), text=value))
            else:
                items.append(self._value(value, (*path, str(number)), line))
        return items


def _plain(token: re.Match[str]) -> str:
    """A string as it is; comments and strings of several lines as blanks, which are looked for nowhere."""
    if not token[0].startswith(("#", '"""', "'''")):
        return token[0]
    return "\n".join(" " * len(line) for line in token[0].split("\n"))


def _parts(dotted: str) -> Path:
    return tuple(match[1] or match[2] or match[3] or "" for match in _PART.finditer(dotted))


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
