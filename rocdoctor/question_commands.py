"""What a person types for a question of ours (``host/base.py`` lists the verbs)."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from rocdoctor.shell_command import ShellCommand, shell

if TYPE_CHECKING:
    from typing_extensions import LiteralString

_COMMANDS: dict[str, LiteralString] = {
    "read": "cat {path:path}", "list": "ls -d {path:glob}", "stat": "ls -l {path:path}", "space": "df {path:path}",
    "link": "readlink -f {path:path}", "open": "ls -l {path:path}",
}  # fmt: skip


def command_of(question: str) -> ShellCommand:
    """A command that people can type for a question; empty where there is none."""
    verb, _, rest = question.partition(" ")
    if verb == "env":
        return ShellCommand("env")
    if verb == "run" and rest:
        try:
            return shell("{argv:option}", argv=shlex.split(rest))
        except ValueError:
            return ShellCommand("")
    return shell(_COMMANDS[verb], path=rest) if rest and verb in _COMMANDS else ShellCommand("")
