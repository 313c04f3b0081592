"""Settings of a file and the scopes that they hold in: the file, a branch, one command, one container."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.shell.lexer import CLOSE, OPEN, UNTOLD

MAX_SCOPES = 3000
_PART = regex(f"{OPEN}([^{CLOSE}]{{0,500}}){CLOSE}")
_DEFAULT = regex(r"([A-Za-z_][A-Za-z0-9_]*)(:?[-=])(.*)\Z", re.S)
_PATHS = ("LD_LIBRARY_PATH", "LD_PRELOAD")


@dataclass(frozen=True, slots=True)
class ShellSetting:
    """One variable as a line sets it; ``value`` None: taken away. Text between marks is not told by the file."""

    name: str
    value: str | None
    line: int
    scope: int = 0


@dataclass(frozen=True, slots=True)
class Scope:
    """Where settings hold. ``sure`` false: only if a condition holds, a function is called, no value is given.

    ``passing``: one command, which sees what was set before it, and nothing after. ``fresh``: nothing is inherited.
    """

    parent: int = 0
    sure: bool = True
    passing: bool = False
    fresh: bool = False


@dataclass(slots=True)
class Sheet:
    """What a file sets. Scope 0 is the file; ``kind``: shell, slurm, dockerfile, compose, kubernetes, env, unit."""

    path: str
    kind: str
    settings: list[ShellSetting] = field(default_factory=list)
    scopes: list[Scope] = field(default_factory=lambda: [Scope()])

    def open(self, parent: int, *, sure: bool = True, passing: bool = False, fresh: bool = False) -> int:
        """A new scope within another; the parent itself when there are too many."""
        if len(self.scopes) >= MAX_SCOPES:
            return parent
        self.scopes.append(Scope(parent, sure, passing, fresh))
        return len(self.scopes) - 1

    def chain(self, scope: int) -> list[int]:
        """A scope and those that it lies in, innermost first."""
        found = [scope]
        while found[-1] and not self.scopes[found[-1]].fresh:
            found.append(self.scopes[found[-1]].parent)
        return found


@dataclass(frozen=True, slots=True)
class View:
    """The variables that hold together in one scope; ``sure`` as in Scope, over the whole chain."""

    variables: dict[str, ShellSetting]
    sure: bool
    passing: bool


def resolved(value: str, lookup: dict[str, str]) -> tuple[str, bool]:
    """A value with what the file tells put in; true when a default of ``${NAME:-default}`` was taken."""
    taken = False

    def put(match: re.Match[str]) -> str:
        nonlocal taken
        body = match[1]
        if body in lookup:
            return lookup[body]
        default = _DEFAULT.match(body)
        if default is None:
            return UNTOLD
        if default[1] in lookup:
            return lookup[default[1]]
        taken = True
        return default[3]

    # What is put in may be long; nobody needs values beyond this.
    return _PART.sub(put, value)[:4000], taken


def filled(value: str, lookup: dict[str, str]) -> str:
    """A value with what the file tells put in; what it does not tell stays marked with its name."""

    def put(match: re.Match[str]) -> str:
        body = match[1]
        default = _DEFAULT.match(body)
        return lookup.get(default[1], default[3]) if default is not None else lookup.get(body, match[0])

    return _PART.sub(put, value)[:4000]


_Latest = dict[str, tuple[int, ShellSetting]]


def views(sheet: Sheet) -> Iterator[View]:
    """Every scope that sets something, with what it inherits; what the file does not tell is left out."""
    by_scope: dict[int, list[tuple[int, ShellSetting]]] = {}
    latest: dict[int, _Latest] = {}
    for order, setting in enumerate(sheet.settings):
        by_scope.setdefault(setting.scope, []).append((order, setting))
        latest.setdefault(setting.scope, {})[setting.name] = order, setting
    earlier = _Earlier(by_scope)
    for scope, own in sorted(by_scope.items()):
        chain = sheet.chain(scope)
        passing = sheet.scopes[scope].passing
        found: _Latest = {}
        for level in reversed(chain):
            held = earlier.before(level, own[0][0]) if passing and level != scope else latest.get(level, {})
            found.update(held)
        if not passing:
            _overruled(found, latest, chain)
        kept = {name: told for name, (_, setting) in found.items() if (told := _told(setting)) is not None}
        if any(setting.scope == scope for setting in kept.values()):
            yield View(kept, all(sheet.scopes[level].sure for level in chain), passing)


class _Earlier:
    """What a scope had set before a place; asked for growing places, so that each setting is looked at once."""

    def __init__(self, by_scope: dict[int, list[tuple[int, ShellSetting]]]) -> None:
        self.by_scope = by_scope
        self.read: dict[int, tuple[int, _Latest]] = {}

    def before(self, scope: int, order: int) -> _Latest:
        rows = self.by_scope.get(scope, [])
        at, held = self.read.get(scope, (0, {}))
        if at and rows[at - 1][0] > order:  # a place further up
            at, held = 0, {}
        while at < len(rows) and rows[at][0] <= order:
            held[rows[at][1].name] = rows[at]
            at += 1
        self.read[scope] = at, held
        return held


def _overruled(found: _Latest, latest: dict[int, _Latest], chain: list[int]) -> None:
    """What an outer scope sets again afterwards replaces what an inner one set."""
    for level in chain[1:]:
        for name, told in latest.get(level, {}).items():
            at = found.get(name)
            if at is not None and told[0] > at[0]:
                found[name] = told


def _told(setting: ShellSetting) -> ShellSetting | None:
    value = setting.value
    if value is None:
        return None
    if OPEN not in value:
        return setting
    if setting.name in _PATHS:
        parts = [part for part in value.split(":") if part and OPEN not in part]
        return ShellSetting(setting.name, ":".join(parts), setting.line, setting.scope) if parts else None
    return None
