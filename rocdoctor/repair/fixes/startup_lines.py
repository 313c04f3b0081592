"""Which line of a start-up file sets a variable, and the file with that line switched off. Pure text.

In shell text a line is switched off by the null command, since a comment alone could leave the body of an ``if``
empty. Only a line that holds the one assignment and nothing else is ever changed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.shell.lexer import ScriptCommand, tokens_of
from rocdoctor.parsers.shell.script import read_shell
from rocdoctor.parsers.shell.settings import Sheet
from rocdoctor.parsers.system.env_text import parse_env

Kind = Literal["shell", "env"]
_MARK = "off by rocdoctor fix"
_ENDS = regex(r"(?<=\n)")


@dataclass(frozen=True, slots=True)
class Places:
    """Numbers of the lines that set a variable to a value: those that can be switched off, and those that cannot."""

    plain: tuple[int, ...] = ()
    mixed: tuple[int, ...] = ()


def places(text: str, kind: Kind, name: str, value: str) -> Places:
    """The lines that set ``name`` to ``value``."""
    lines = _lines(text)
    if kind == "env":
        found = [one.line for one in parse_env(text) if one.name == name and one.value == value]
        simple = re.compile(rf"\s*(?:export\s+)?{re.escape(name)}=[^\r\n]*\r?\n?\Z")
        plain = tuple(number for number in found if number <= len(lines) and simple.match(lines[number - 1]))
        return Places(plain, tuple(number for number in found if number not in plain))
    sheet, commands = Sheet("", "shell"), list[ScriptCommand]()
    read_shell(sheet, text, commands=commands)
    found = list(dict.fromkeys(one.line for one in sheet.settings if one.name == name and one.value == value))
    alone = {
        command.words[0].line
        for command in commands
        if _words(name, value) == [word.text for word in command.words if word.text != "export"]
        and len({word.line for word in command.words}) == 1
        and not command.targets
    }
    plain = tuple(number for number in found if number in alone and _is_alone(lines, number, name, value))
    return Places(plain, tuple(number for number in found if number not in plain))


def switched_off(text: str, kind: Kind, numbers: tuple[int, ...], check: str) -> str:
    """The text with these lines switched off, each with a mark that names the check; other bytes stay."""
    lines = _lines(text)
    for number in numbers:
        line = lines[number - 1]
        bare = line.lstrip(" \t")
        front = ": # " if kind == "shell" else "# "
        lines[number - 1] = f"{line[: len(line) - len(bare)]}{front}{_MARK} ({check}): {bare}"
    return "".join(lines)


def off_already(text: str, kind: Kind, name: str, value: str) -> tuple[int, ...]:
    """Numbers of lines that set ``name`` to ``value`` until a fix switched them off."""
    found: list[int] = []
    for number, line in enumerate(_lines(text), 1):
        _, mark, rest = line.partition(f"# {_MARK} (")
        before = rest.partition("): ")[2]
        if mark and places(before, kind, name, value).plain:
            found.append(number)
    return tuple(found)


def by_hand(kind: Kind, number: int, file: str, linked: bool = False) -> tuple[str, ...]:
    """The command with which a person switches a line off; ``linked``: the file that a link leads to is changed."""
    front = ": # " if kind == "shell" else "# "
    return ("sed", "-i", *(["--follow-symlinks"] if linked else []), f"{number}s/^/{front}/", file)


def _lines(text: str) -> list[str]:
    return [line for line in _ENDS.split(text) if line]


def _words(name: str, value: str) -> list[str]:
    return [f"{name}={value}"]


def _is_alone(lines: list[str], number: int, name: str, value: str) -> bool:
    """Whether the line in the file is this assignment and nothing more, neither continued nor a continuation."""
    if number > len(lines):
        return False
    line = lines[number - 1].rstrip("\r\n")
    before = lines[number - 2].rstrip("\r\n") if number > 1 else ""
    if line.endswith("\\") or before.endswith("\\"):
        return False
    tokens = [token for token in tokens_of(line, 1) if not (token.operator and token.text == "\n")]
    words = [token.text for token in tokens]
    return not any(token.operator for token in tokens) and words in (
        _words(name, value),
        ["export", *_words(name, value)],
    )
