"""The commands of a file as rules look at them: what each starts, and whether it only shows what its words say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.shell.lexer import ScriptCommand, Token

_ASSIGNS = regex(r"[A-Za-z_]\w*\+?=")
_WRAPPERS = frozenset(
    ("sudo", "nohup", "time", "exec", "command", "builtin", "nice", "stdbuf", "env", "doas", "timeout")
)
_OPTIONS_WITH_WORD = frozenset(("-u", "-g", "-n", "-k", "-s", "--user", "--group"))
# Commands whose words are text, patterns or names of files.
_TEXT = frozenset(
    (
        "echo",
        "printf",
        "cat",
        "grep",
        "egrep",
        "fgrep",
        "rg",
        "sed",
        "awk",
        "find",
        "logger",
        "test",
        "[",
        "[[",
        ":",
        "true",
        "false",
        "read",
        "man",
        "help",
        "alias",
        "git",
        "ls",
        "rm",
        "cp",
        "mv",
        "mkdir",
        "touch",
        "die",
        "warn",
        "log",
        "info",
        "error",
        "fail",
        "usage",
        "which",
        "command",
        "type",
        "pgrep",
        "pkill",
        "history",
        "say",
        "note",
    )
)


@dataclass(frozen=True, slots=True)
class ToldCommand:
    """A command, told once for all rules.

    ``words``: without what only starts another; ``head``: the name of the program, without its folder; ``is_text``: it
    only shows, looks for or moves what its words say; ``dashed``: it has a word that begins like an option.
    """

    one: ScriptCommand
    words: Sequence[Token]
    head: str
    is_text: bool
    dashed: bool


def told_command(one: ScriptCommand) -> ToldCommand:
    """What a command tells."""
    words = arguments(one.words)
    head = words[0].text.rsplit("/", 1)[-1] if words else ""
    return ToldCommand(one, words, head, not words or head in _TEXT, any(word.text[:1] == "-" for word in one.words))


def arguments(words: Sequence[Token]) -> Sequence[Token]:
    """A command without the assignments and the programs that only start another in front of it."""
    at = 0
    wrapped = False
    while at < len(words):
        text = words[at].text
        if text.rsplit("/", 1)[-1] in _WRAPPERS:
            wrapped = True
        elif wrapped and text in _OPTIONS_WITH_WORD:
            at += 1
        elif not (wrapped and (text.startswith("-") or text[:1].isdigit())) and not (
            "=" in text and _ASSIGNS.match(text)
        ):
            break
        at += 1
    return words[at:]
