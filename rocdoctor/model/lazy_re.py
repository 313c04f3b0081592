"""Regular expressions that are compiled when they are used first.

A command uses less than half of the patterns that its modules define, and compiling the others took a twentieth of its
time. ``regex`` stands where ``re.compile`` would stand at the level of modules and classes; a pattern that does not
compile is found by the test that compiles them all.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any, AnyStr, cast


class LazyPattern:
    """Behaves like the ``re.Pattern`` that it becomes; the functions of ``re`` do not take it in place of one."""

    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self._compile = partial(re.compile, pattern, flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # copying asks before there is anything to compile
            raise AttributeError(name)
        compiled = self._compile()  # by two threads at once: one of two equal ones stays
        for each in ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split"):
            setattr(self, each, getattr(compiled, each))
        return getattr(compiled, name)

    def __repr__(self) -> str:
        return f"regex{self._compile.args!r}"


def regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A pattern that is compiled when it is used first; parameters as of ``re.compile``."""
    return cast("re.Pattern[AnyStr]", LazyPattern(pattern, flags))
