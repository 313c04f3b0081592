"""Regular expressions that are compiled when they are used first.

A command uses less than half of the patterns that its modules define, and compiling the others took a twentieth of its
time. ``regex`` stands where ``re.compile`` would stand at the level of modules and classes; a pattern that does not
compile is found by the test that compiles them all.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, AnyStr, cast

# How a pattern is compiled: ``knowledge/kept_code.py`` takes it from what earlier runs have compiled.
compilers: list[Callable[[Any, int], re.Pattern[Any]]] = [re.compile]


def compiled(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A pattern that is needed now, of ours and not of evidence: it may be kept."""
    return compilers[-1](pattern, flags)


class LazyPattern:
    """Behaves like the ``re.Pattern`` that it becomes; the functions of ``re`` do not take it in place of one."""

    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self._given: tuple[Any, int] = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # copying asks before there is anything to compile
            raise AttributeError(name)
        made = compiled(*self._given)  # by two threads at once: one of two equal ones stays
        for each in ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split"):
            setattr(self, each, getattr(made, each))
        return getattr(made, name)

    def __repr__(self) -> str:
        return f"regex{self._given!r}"


def regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A pattern that is compiled when it is used first; parameters as of ``re.compile``."""
    return cast("re.Pattern[AnyStr]", LazyPattern(pattern, flags))
