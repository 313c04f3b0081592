"""JSON as tools print it: warnings before it, cut off in the middle, thousands of levels deep, values on many lines.

The standard reader refuses the first three and does not say on which line a value stands, so this is a small
non-recursive reader. It never raises, and gives back what was whole when the text breaks off.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeAlias

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import strip_ansi

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
Path: TypeAlias = "tuple[str | int, ...]"

MAX_TEXT = 32 * 1024 * 1024
MAX_DEPTH = 64
MAX_TOKENS = 2_000_000

_TOKEN = regex(
    r"[ \t\r]*(?:(\n)|([{}\[\],:])|(\"[^\"\\\n]*(?:\\.[^\"\\\n]*)*\")"
    r"|([-+0-9.eE]{1,400}|NaN|-?Infinity|true|false|null)|(.))"
)
_INT = regex(r"-?[0-9]{1,100}\Z")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}


@dataclass(frozen=True, slots=True)
class JsonText:
    """A JSON value found in a text: ``lines`` gives the 1-based line of each path, ``before`` the lines ahead of it.

    ``complete`` is False where the text ended or broke off before the value did.
    """

    value: Json
    line: int
    complete: bool
    lines: dict[Path, int] = field(default_factory=dict)
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    def line_of(self, *path: str | int) -> int:
        """The line of the value at ``path``, or of its nearest parent that has one."""
        for length in range(len(path), -1, -1):
            found = self.lines.get(path[:length])
            if found is not None:
                return found
        return self.line


def load_json(text: str) -> JsonText | None:
    """The first JSON object or array in the text, with its lines; None where there is none.

    It starts at the first line whose first character is ``{`` or ``[`` followed by what JSON allows there, so that
    "[WARNING] ..." and "{...}" in prose before it are passed over.
    """
    text = strip_ansi(text[:MAX_TEXT])
    for match in islice(_START.finditer(text), 200):
        found = _read(text, match.start(1))
        if found is not None:
            return found
    return None


_START = regex(r"^[ \t\ufeff]{0,200}([{\[])(?=[ \t\r\n]{0,2000}(?:[{}\[\]\"0-9-]|\Z))", re.MULTILINE)


def _read(text: str, start: int) -> JsonText | None:
    first_line = text.count("\n", 0, start) + 1
    line = first_line
    lines: dict[Path, int] = {}
    root: Json = None
    stack: list[dict[str, Json] | list[Json]] = []
    path: list[str | int] = []  # the key or index of each container on the stack, after the root
    key: str | None = None
    expect_value = True
    position, tokens, complete = start, 0, False
    while tokens < MAX_TOKENS:
        match = _TOKEN.match(text, position)
        if match is None:
            break
        tokens += 1
        newline, mark, string, word, other = match.groups()
        if newline:
            position, line = match.end(), line + 1
            continue
        if other:
            break
        position = match.end()
        if mark == ":":
            if key is None or expect_value:
                break
            expect_value = True
            continue
        if mark == ",":
            if expect_value and key is not None:
                break
            key, expect_value = None, isinstance(stack[-1], list)
            continue
        if mark in ("}", "]"):
            if not stack or isinstance(stack[-1], dict) != (mark == "}"):
                break
            stack.pop()
            if not stack:
                complete = True
                break
            path.pop()
            key, expect_value = None, False
            continue
        top = stack[-1] if stack else None
        if isinstance(top, dict) and not expect_value:
            decoded = _string(string) if string and key is None else None
            if decoded is None:
                break
            key = decoded
            continue
        if not expect_value:
            break
        value: Json
        if mark:
            value = {} if mark == "{" else []
        elif string:
            value = _string(string)
        else:
            value = _word(word)
        step: str | int | None = None
        if isinstance(top, dict) and key is not None:
            top[key] = value
            step = key
        elif isinstance(top, list):
            step = len(top)
            top.append(value)
        else:
            root = value
        lines[(*path, step) if step is not None else ()] = line
        if mark:
            if len(stack) >= MAX_DEPTH:
                break
            if step is not None:
                path.append(step)
            assert isinstance(value, (dict, list))
            stack.append(value)
            key, expect_value = None, mark == "["
        else:
            key, expect_value = None, False
    if not isinstance(root, (dict, list)):
        return None
    if not root and not complete and text[position:].strip():
        return None
    before = tuple(entry.strip() for entry in text[:start].split("\n")[:1000] if entry.strip())
    after = tuple(entry.strip() for entry in text[position:].split("\n", 1000)[:1000] if entry.strip())
    return JsonText(root, first_line, complete, lines, before, after if complete else ())


def _string(token: str) -> str | None:
    if "\\" not in token:
        return token[1:-1]
    try:
        value = json.loads(token, strict=False)
    except ValueError:
        return token[1:-1]
    return value if isinstance(value, str) else None


def _word(token: str) -> int | float | bool | None:
    if token in _WORDS:
        return _WORDS[token]
    if _INT.match(token):
        return int(token)
    try:
        value = float(token)
    except ValueError:
        return None
    return value if value - value == 0 else None
