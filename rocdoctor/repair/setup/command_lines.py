"""The actions of a plan as commands that one can type into any POSIX shell.

A command is a list of tokens: words that are quoted already, and the operators between them, so that a long one can be
broken where a backslash may stand.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rocdoctor.model.lazy_re import regex

if TYPE_CHECKING:
    from rocdoctor.repair.setup.plan import Action

Tokens = tuple[str, ...]

# What only the user's shell knows: the words of a plan may name these two anywhere, nothing else is expanded.
_EXPANDED = regex(r"\$(USER|HOME)(?![A-Za-z0-9_])")
# A whole word: the interpreter that whoever runs a script names in this variable.
PYTHON = "$PYTHON"
_HOME = regex(r"\A~(?=/|\Z)")
_SPECIAL = regex(r'([\\"$`])')
_LIVE = regex(r"[$`]")  # in single quotes they look like a mistake to shellcheck
_OPEN = regex(r"\{[a-z_0-9]+\}|<[a-z][a-z ._-]*>|\.\.\.\Z")


def pieces(word: str) -> tuple[tuple[str, str], ...]:
    """A word as pieces: (text, "") as it stands, or ("", name) of what only the user's shell knows."""
    if word == PYTHON:
        return (("", PYTHON[1:]),)
    word = _HOME.sub("$HOME", word)
    found: list[tuple[str, str]] = []
    at = 0
    for one in _EXPANDED.finditer(word):
        found += [(word[at : one.start()], ""), ("", one[1])]
        at = one.end()
    return tuple(one for one in (*found, (word[at:], "")) if any(one))


def quoted(word: str) -> str:
    """A word as a shell takes it literally; ``$USER``, ``$HOME``, a leading ``~`` and ``PYTHON`` keep their meaning."""
    parts = pieces(word)
    if not any(name for _, name in parts) and not _LIVE.search(word):
        return shlex.quote(word)
    if "!" in word:  # which an interactive shell expands in double quotes
        return "".join(quoted(part) if part != "!" else "\\!" for part in re.split("(!)", word) if part)
    return '"' + "".join(f"${name}" if name else _SPECIAL.sub(r"\\\1", text) for text, name in parts) + '"'


def commands(action: Action, sudo: bool) -> list[Tokens]:
    """The commands of an action; ``sudo``: where it needs privileges, they are asked for."""
    front: Tokens = ("sudo",) if sudo and action.root else ()
    if action.words:
        return [(*front, *(quoted(word) for word in action.words))]
    if not action.file:
        return []
    file = quoted(action.file)
    told: Tokens = ("printf", "'%s\\n'", *(quoted(line) for line in action.lines))
    if not action.append:
        return [(*told, "|", *front, "tee", file, ">/dev/null")]
    return [
        (
            *front,
            "grep",
            "-qsxF",
            "--",
            quoted(line),
            file,
            "||",
            "printf",
            "'%s\\n'",
            quoted(line),
            "|",
            *front,
            "tee",
            "-a",
            file,
            ">/dev/null",
        )
        for line in action.lines
    ]


def typed(actions: Iterable[Action], sudo: bool) -> list[str]:
    """All commands of some actions, one a line."""
    return [" ".join(one) for action in actions for one in commands(action, sudo)]


def broken(tokens: Tokens, width: int, indent: str, hang: str) -> list[str]:
    """A command in lines of at most ``width`` columns that go on after a backslash; no word is cut."""
    lines: list[str] = []
    current = indent + tokens[0]
    for token in tokens[1:]:
        if len(current) + 1 + len(token) + 2 > width and current.strip():
            lines.append(f"{current} \\")
            current = hang + token
        else:
            current += f" {token}"
    return [*lines, current]


def tokens_of(command: str) -> Tokens:
    """A command as somebody wrote it, cut where a backslash may stand: not in quotes, ``$( )`` or a comment."""
    found: list[str] = []
    current, quote, depth = "", "", 0
    for sign in " ".join(command.split("\n")):
        if current.startswith("#"):
            pass
        elif quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in "()":
            depth = max(0, depth + (1 if sign == "(" else -1))
        elif sign == " " and not depth:
            found += [current] if current else []
            current = ""
            continue
        current += sign
    return tuple([*found, current] if current else found)


def is_ready(action: Action) -> bool:
    """Whether a program may run it: nothing in it is left to fill in, and every sign of it can be seen."""
    texts = (*action.words, action.file, *action.lines)
    return all(text.isprintable() for text in texts) and not any(_OPEN.search(word) for word in action.words)
