"""What Python compiles anew in every run, kept as tables are: it took a third of the time of a short command.

Python can store a regular expression only as its text. What its compiler makes of the text is a list of numbers, which
is kept here for the next run of the same command and the same Python, and handed to the function of Python's that makes
a pattern of it (and checks the numbers). Records get their methods from texts, whose byte code is kept as well. Both
ways in are not made for others, so whatever is not as expected leads to the usual way, and tests compare both.
"""

from __future__ import annotations

import builtins
import contextlib
import dataclasses
import re
import sys
from array import array
from collections.abc import Callable
from importlib import import_module
from types import CodeType
from typing import Any

from rocdoctor.knowledge.load import keep, knowledge_folder, recalled
from rocdoctor.model import lazy_re

# Of one command; ``read`` with all expressions of its tables of messages has three quarters of it.
_MOST_BYTES = 8_000_000
KeptPattern = tuple[int, bytes, int, dict[str, int], tuple[str | None, ...]]
"""Flags, numbers, groups, numbers of groups by name, names of groups by number."""


class KeptCode:
    """The patterns and methods of one command. ``keep`` writes down what was compiled anew."""

    def __init__(self, command: str) -> None:
        maker: Any = import_module("_sre")
        self._make: Callable[..., re.Pattern[Any]] = maker.compile
        self.command = command
        self._kind = f"{command}-code"
        self._stamp = (sys.version, maker.MAGIC, maker.CODESIZE)
        self._patterns: dict[tuple[str | bytes, int], KeptPattern]
        self._methods: dict[str, CodeType]
        self._patterns, self._methods = recalled(knowledge_folder(), self._kind, self._stamp) or ({}, {})
        self._fresh = False

    def pattern(self, text: str | bytes, flags: int = 0) -> re.Pattern[Any]:
        """As ``re.compile``."""
        key = (text, int(flags))
        try:
            one = self._patterns.get(key)
            if one is None:
                one = self._patterns[key] = numbers_of(text, int(flags))
                self._fresh = True
            return self._make(text, one[0], array("I", one[1]).tolist(), *one[2:])
        except (AttributeError, ImportError, TypeError, ValueError, RuntimeError, OverflowError):
            return re.compile(text, flags)

    def execute(self, text: str, names: dict[str, Any], local: dict[str, Any] | None = None) -> None:
        """As ``exec`` of a text."""
        code = self._methods.get(text)
        if code is None:
            code = self._methods[text] = compile(text, "<string>", "exec", dont_inherit=True)
            self._fresh = True
        builtins.exec(code, names, local)

    def keep(self) -> None:
        """Keep all, where something is new."""
        if self._fresh and sum(len(one[1]) for one in self._patterns.values()) < _MOST_BYTES:
            self._fresh = False
            keep(knowledge_folder(), self._kind, self._stamp, (self._patterns, self._methods))


def numbers_of(text: str | bytes, flags: int) -> KeptPattern:
    """What Python's compiler makes of a pattern; raises ``re.error`` as it does."""
    compiler: Any = import_module("re._compiler" if sys.version_info >= (3, 11) else "sre_compile")
    parser: Any = import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
    parsed = parser.parse(text, flags)
    code = compiler._code(parsed, flags)
    groups = dict(parsed.state.groupdict)
    names: list[str | None] = [None] * parsed.state.groups
    for name, number in groups.items():
        names[number] = name
    return flags | parsed.state.flags, array("I", code).tobytes(), parsed.state.groups - 1, groups, tuple(names)


_used: list[KeptCode] = []
_of_process: dict[tuple[str, str], KeptCode] = {}  # a second run in one process need not read it all again


def use_kept_code(command: str) -> Callable[[], None]:
    """Take from earlier runs of a command what they compiled; call what is returned at its end."""
    return _end if _use(command) else lambda: None


def use_more_kept_code(part: str) -> None:
    """From here on what a later part of the command compiles: what comes first need not wait until all is read.

    Nothing happens where no command uses any, or where its later part has begun.
    """
    if len(_used) == 1:
        _use(f"{_used[0].command}-{part}")


def keep_used() -> None:
    """Keep now what was compiled so far: for a command whose process ends without coming back."""
    for one in _used:
        one.keep()


def _use(command: str) -> bool:
    try:
        place = (str(knowledge_folder()), command)
        found = _of_process.get(place) or KeptCode(command)
    except (AttributeError, ImportError):  # another Python than CPython
        return False
    _of_process[place] = found
    _used.append(found)
    lazy_re.compilers.append(found.pattern)
    setattr(dataclasses, "exec", found.execute)  # noqa: B010  (a name of that module comes before the built-in one)
    return True


def _end() -> None:
    with contextlib.suppress(AttributeError):
        delattr(dataclasses, "exec")
    for one in _used:
        lazy_re.compilers.remove(one.pattern)
    keep_used()
    _used.clear()
