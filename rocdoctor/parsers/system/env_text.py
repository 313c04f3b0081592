"""Environment variables: /proc/PID/environ, the output of `env`, and shell text with assignments.

The three differ: in `env` output a value is the rest of the line, in shell text it ends at a blank unless quoted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import lines_of

MAX_VARIABLES = 20_000
MAX_VALUE = 131_072  # MAX_ARG_STRLEN: the kernel takes no longer one

_NAME = regex(r"[A-Za-z_][A-Za-z0-9_]{0,255}\Z")
_LINE = regex(
    r"(?:export[ \t]+|declare[ \t]+-x[ \t]+|typeset[ \t]+-x[ \t]+)?([A-Za-z_][A-Za-z0-9_]{0,255})=(.*)\Z", re.S
)
# "$ ", "user@host:~/dir$ ", "[root@host dir]# "; a lone "# " is a comment.
_PROMPT = regex(r"(?:\([^()]{1,40}\) )?(?:\[?[\w.-]{1,40}@[\w.-]{1,60}[: ][^$#]{0,120}[$#]|[$>%])[ \t]+")
_SEPARATORS = frozenset({";", "&&", "||", "&", "|"})


@dataclass(frozen=True, slots=True)
class EnvVar:
    """One variable; ``value`` is None for `unset NAME`, "" for an empty one."""

    name: str
    value: str | None
    line: int


def parse_env(text: str) -> tuple[EnvVar, ...]:
    """Reads the output of `env`, `printenv` or `export -p`: one variable a line, its value the rest of the line.

    A value that is quoted as a whole loses its quotes. Lines that are no assignment (the rest of a value with line
    breaks) are left out.
    """
    found: list[EnvVar] = []
    for line, raw in enumerate(lines_of(text, MAX_VARIABLES), 1):
        match = _LINE.match(raw.strip())
        if match and len(match.group(2)) <= MAX_VALUE:
            found.append(EnvVar(match.group(1), _unquoted(match.group(2).strip()), line))
    return tuple(found)


def parse_shell(text: str) -> tuple[EnvVar, ...]:
    """Reads assignments of shell text: `export A=1 B="x y"`, `A=1 python train.py`, `setenv A 1`, `unset A`.

    Comments are passed over, prompts ("$ ") too; Dockerfile `ENV` and /etc/environment lines are understood.
    Nothing is expanded: "$PATH:/x" stays as it is.
    """
    found: list[EnvVar] = []
    for line, raw in enumerate(_joined(lines_of(text)), 1):
        if raw is None or len(raw) > MAX_VALUE:
            continue
        stripped = raw.strip()
        prompt = _PROMPT.match(stripped)
        if prompt:
            stripped = stripped[prompt.end() :]
        command: list[str] = []
        for word in [*_words(stripped), ";"]:
            if word not in _SEPARATORS:
                command.append(word)
                continue
            found.extend(_assignments(command, line))
            command = []
        if len(found) > MAX_VARIABLES:
            break
    return tuple(found[:MAX_VARIABLES])


def _assignments(command: list[str], line: int) -> list[EnvVar]:
    if not command:
        return []
    head, rest = command[0], command[1:]
    if head in ("export", "declare", "typeset", "ENV", "env"):
        if head == "ENV" and len(rest) > 1 and "=" not in rest[0] and _NAME.match(rest[0]):
            return [EnvVar(rest[0], " ".join(rest[1:]), line)]
        words = [word for word in rest if not word.startswith("-")]
        if head == "env":
            words = words[: next((i for i, word in enumerate(words) if "=" not in word), len(words))]
        return [EnvVar(name, value, line) for name, value in map(_pair, words) if name is not None]
    if head == "setenv" and len(rest) in (1, 2) and _NAME.match(rest[0]):
        return [EnvVar(rest[0], rest[1] if len(rest) == 2 else "", line)]
    if head in ("unset", "unsetenv"):
        return [EnvVar(name, None, line) for name in rest if _NAME.match(name)]
    if head == "set" and len(rest) >= 2 and rest[0] in ("-x", "-gx", "-Ux") and _NAME.match(rest[1]):
        return [EnvVar(rest[1], " ".join(rest[2:]), line)]  # fish
    prefix = []
    for word in command:
        name, value = _pair(word)
        if name is None:
            break
        prefix.append((name, value))
    return [EnvVar(name, value, line) for name, value in prefix]


def _pair(word: str) -> tuple[str | None, str]:
    name, equals, value = word.partition("=")
    # "KERNEL==..." is a udev rule, no assignment.
    return (name, value) if equals and not value.startswith("=") and _NAME.match(name) else (None, "")


def _joined(lines: list[str]) -> list[str | None]:
    """Lines that end in a backslash go on in the next; the numbers of the others stay (None fills the gaps)."""
    result: list[str | None] = []
    pending: list[str] = []
    start = 0
    for index, raw in enumerate(lines):
        result.append(None)
        if not pending:
            start = index
        if raw.endswith("\\") and not raw.lstrip().startswith("#"):
            pending.append(raw[:-1])
            continue
        result[start] = " ".join([*pending, raw]) if pending else raw
        pending = []
    if pending:
        result[start] = " ".join(pending)
    return result


def _words(text: str) -> list[str]:
    """Shell words with quotes taken off and separators on their own; an open quote ends with the line."""
    words: list[str] = []
    current: list[str] = []
    started = False
    position, end = 0, len(text)
    while position < end:
        char = text[position]
        if char in "'\"":
            started = True
            position += 1
            while position < end and text[position] != char:
                if (
                    char == '"'
                    and text[position] == "\\"
                    and text[position + 1 : position + 2] in ('"', "\\", "$", "`")
                ):
                    position += 1
                current.append(text[position])
                position += 1
        elif char == "\\" and position + 1 < end:
            started = True
            position += 1
            current.append(text[position])
        elif char in " \t;&|":
            if started:
                words.append("".join(current))
                current, started = [], False
            if char in ";&|":
                words.append(char)
        elif char == "#" and not started:
            break
        else:
            started = True
            current.append(char)
        position += 1
    if started:
        words.append("".join(current))
    return words


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
        inner = value[1:-1]
        return inner.replace('\\"', '"').replace("\\\\", "\\") if value[0] == '"' else inner
    return value
