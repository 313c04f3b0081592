"""Commands that people copy: the one gate through which a word of the evidence gets into one.

A command is a literal of ours, or ``shell`` makes it from a literal template and words. Evidence is hostile: a group
may be called ``render;touch x``, an interface ``eth0 $(id)``. A word is quoted, or, where no quoting makes it harmless
or useful, replaced by its name in capitals, which the reader fills in (``sudo usermod -aG GROUP $USER``).

Types hold the gate: fields that are commands are ``CommandText``, which pyright keeps a plain ``str`` out of
(PEP 675), and ``tests/project/test_commands_are_quoted.py`` looks at the source for what types cannot see.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from rocdoctor.model.lazy_re import regex

if TYPE_CHECKING:
    from typing_extensions import LiteralString  # typing has it from Python 3.11 on; nobody needs it at run time

    CommandText: TypeAlias = "ShellCommand | LiteralString"
else:
    CommandText = str


class ShellCommand(str):
    """A command for a POSIX shell in which every word of the evidence is quoted. Only ``shell`` makes one of words."""

    __slots__ = ()

    if TYPE_CHECKING:

        def __new__(cls, text: LiteralString = "") -> ShellCommand:
            """A literal as a command."""
            ...


# A template of a table that ships with us, with ``{name}`` where words go.
TableCommand: TypeAlias = str

# Text is quoted, unless it is a part of a command (a ShellCommand); several words are parted by blanks.
Word: TypeAlias = str | int | Sequence[str]

# What words of a kind look like: ``{iface:interface}``. No sign of theirs means anything within quotes.
_PLAIN_KINDS = {
    "name": r"[A-Za-z_][A-Za-z0-9_]{0,120}",  # of variables, modules of Python
    "module": r"[A-Za-z0-9_][A-Za-z0-9_-]{0,120}",  # of the kernel
    "number": r"[0-9]+(?:\.[0-9]+){0,20}",
    "numbers": r"[0-9]+(?:,[0-9]+){0,200}",
    "pci": r"(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\.[0-9A-Fa-f])?",
    "address": r"[0-9A-Fa-f:.]{2,45}(?:%[A-Za-z0-9_.-]{1,15})?",
    "interface": r"[A-Za-z0-9_][A-Za-z0-9_.:@-]{0,14}",
    "interfaces": r"[A-Za-z0-9_][A-Za-z0-9_.:@,-]{0,250}",
    "group": r"[A-Za-z_][A-Za-z0-9_.-]{0,30}",
    "groups": r"[A-Za-z_][A-Za-z0-9_.-]{0,30}(?:,[A-Za-z_][A-Za-z0-9_.-]{0,30}){0,20}",
    "host": r"[A-Za-z0-9](?:[A-Za-z0-9._-]|\[(?=[0-9,-]+\])[0-9,-]+\]){0,250}",
    "package": r"[A-Za-z0-9][A-Za-z0-9_.+~:-]{0,200}",
    "library": r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,200}",
}
_PATH = regex(r"(?:~/|[^-~<]).{0,1000}")
# Patterns of our own questions, which are left to the shell: no sign but these two does anything unquoted.
_GLOB = regex(r"/[A-Za-z0-9_./:@%+=,*?-]{0,1000}")
# A path; one with * and ? left to the shell; a word of an argument list of ours, which may begin with "-".
_OTHER_KINDS = ("path", "glob", "option")
# Stand-ins of the masking (docs/privacy.md): of no use in a command, and somebody's host may really be host-1.
_MASKED = regex(r"(?:host|user|domain|ip|email|wwn|uuid|serial|ssid)-\d+(?:[.\[].*)?|masked-.*|<.*", re.IGNORECASE)
_NO_WORD = regex(r"[^A-Za-z0-9_./:@%+=,~-]")
# Shown by nothing, yet printable for Python (Unicode's Default_Ignorable); and the backtick, which no fence can hold.
_SHAPELESS = regex("[`\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")


def shell(template: LiteralString, /, **words: Word) -> ShellCommand:
    """A command from a template with ``{name}`` or ``{name:kind}`` where words go; a refused word becomes ``NAME``.

    Raises ValueError for a template in which quoting cannot protect a word: a word that is not plain within quotes.
    """
    parts: list[str] = []
    for text, name, kind, inside in _parsed(template):
        parts.append(text)
        if name:
            word = _in_shell(words[name], kind, inside)
            parts.append(name.upper() if word is None else word)
    return str.__new__(ShellCommand, "".join(parts))


def shell_of_table(template: TableCommand, /, **words: Word) -> ShellCommand:
    """``shell`` for a template of a table that ships with us, which types cannot tell from a word of the evidence.

    A word that is not given becomes its name in capitals.
    """
    literal: Any = template  # ours, though types cannot see it
    return shell(literal, **{name: words.get(name, "") for _, name, _, _ in _parsed(template) if name})


def joined(commands: Iterable[ShellCommand]) -> ShellCommand:
    """Commands, one after the other; "" for none."""
    return str.__new__(ShellCommand, "; ".join(commands))


def reworded(command: str, text: str) -> ShellCommand:
    """A command in which masking replaced parts of words; empty where a shell might read the result otherwise.

    A mask may swallow a quote. So every sign but those of plain words has to stand in both, in the same order.
    """
    same = command == text or _NO_WORD.findall(command) == _NO_WORD.findall(text)
    return str.__new__(ShellCommand, text if same else "")


def fits(text: str, kind: str = "") -> bool:
    """Whether a word can stand in a command as it is; where it cannot, ``shell`` puts a name in its place."""
    if not text or not _visible(text):
        return False
    if kind in ("path", "glob"):
        return _PATH.fullmatch(text) is not None and not any(_MASKED.fullmatch(part) for part in text.split("/"))
    if _MASKED.fullmatch(text) or (text.startswith("-") and kind != "option"):
        return False
    return re.fullmatch(_PLAIN_KINDS[kind], text) is not None if kind in _PLAIN_KINDS else len(text) <= 255


def _in_shell(word: Word, kind: str, inside: bool) -> str | None:
    """The word as it stands in a command, ``inside`` quotes or not; None where it must not."""
    if isinstance(word, ShellCommand):
        if inside:
            raise ValueError(f"within quotes: {word!r}")
        return word
    if isinstance(word, int):
        return str(word) if word >= 0 else None
    if not isinstance(word, str):
        each = [_in_shell(one, kind, inside) for one in word]
        return " ".join(one for one in each if one is not None) if each and None not in each else None
    if not fits(word, kind):
        return None
    if inside or (kind == "glob" and _GLOB.fullmatch(word)):
        return word
    if kind in ("path", "glob") and word.startswith("~/"):
        return "~/" + (shlex.quote(word[2:]) if word[2:] else "")
    return shlex.quote(word)


def _visible(text: str) -> bool:
    """Whether every sign shows itself where it stands: no line ends, marks of direction, letters without a shape."""
    return text.isprintable() and not _SHAPELESS.search(text)


@cache
def _parsed(template: str) -> tuple[tuple[str, str, str, bool], ...]:
    """The parts of a template: text, then the name and the kind of a word, and whether it stands within quotes."""
    return tuple(_parts(template))


def _parts(template: str) -> Iterator[tuple[str, str, str, bool]]:
    from string import Formatter  # which compiles a pattern, and most runs print no command with a word in it

    state = ""
    for text, name, kind, conversion in Formatter().parse(template):
        state = _quotes(text, state)
        if name is None:
            yield text, "", "", False
            continue
        kind = kind or ""
        if not name.isidentifier() or conversion or (kind and kind not in (*_PLAIN_KINDS, *_OTHER_KINDS)):
            raise ValueError(f"{template!r}: what is {{{name}:{kind}}}?")
        inside = state in ("'", '"')
        if state == "\\" or (inside and kind not in _PLAIN_KINDS):
            raise ValueError(f"{template!r}: quoting does not protect {{{name}}} there; give it a kind")
        yield text, name, kind, inside


def _quotes(text: str, state: str) -> str:
    """The quote (or the backslash) that is open after some text, when ``state`` was open before it."""
    signs = iter(text)
    for sign in signs:
        if sign == "\\" and state != "'":
            if next(signs, None) is None:
                return sign
        elif sign in "'\"" and state in ("", sign):
            state = "" if state else sign
    return state


# module.parameter=value, and nothing else: no program has such a name.
_PARAMETER = regex(r"[a-z0-9_]{1,60}\.[a-z0-9_]{1,60}=\S{1,200}\Z")


def is_kernel_parameter(words: str) -> bool:
    """Whether it is a word of the kernel's command line (``ttm.pages_limit=65536``), which no shell can run."""
    return _PARAMETER.match(words) is not None


def as_named(words: str) -> str:
    """A command as it is shown to people: what is none is called what it is."""
    return f"kernel parameter: {words}" if is_kernel_parameter(words) else words
