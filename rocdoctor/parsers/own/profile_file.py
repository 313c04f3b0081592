"""Reads a profile (``rocdoctor emit profile``): YAML as a flat list of its values, each with its place and line.

Only what such a file needs is understood: mappings, lists and scalars. Nothing is constructed, every scalar stays text
(so ``7.10`` is no number), and anchors, aliases, tags and several documents are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rocdoctor.parsers.formats.yaml_text import yaml_problem

SCHEMA = "rocdoctor.profile/1"

MOST_BYTES = 262_144  # a machine of 16 GPUs takes 20 KiB
_MOST_VALUES = 10_000
_MOST_SIGNS = 4_000  # of one value
_DEEPEST = 8


@dataclass(frozen=True, slots=True)
class ProfileValue:
    """One scalar: ``path`` holds keys and places in lists (``("gpus", "0", "bdf")``), ``line`` counts from 1."""

    path: tuple[str, ...]
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class ProfileFile:
    """A profile; with ``problem`` it is none, or cannot be read. ``lists``: places of lists with their lengths."""

    values: tuple[ProfileValue, ...] = ()
    lists: tuple[tuple[tuple[str, ...], int], ...] = ()
    problem: str = ""


class _Refused(Exception):
    pass


def parse_profile(text: str) -> ProfileFile:
    """The values of a profile, or why it is none."""
    if len(text) > MOST_BYTES:
        return ProfileFile(problem=f"larger than a profile can be ({MOST_BYTES // 1024} KiB)")
    import yaml  # only where a profile is given

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    reader = _Reader()
    try:
        for event in yaml.parse(text, Loader=loader):
            reader.take(event, yaml)
    except _Refused as problem:
        return ProfileFile(problem=str(problem))
    except yaml.YAMLError as error:
        return ProfileFile(problem=yaml_problem(error))
    except (ValueError, RecursionError):  # halves of characters, and what no profile holds
        return ProfileFile(problem="not readable as YAML")
    return _judged(reader)


def _judged(reader: _Reader) -> ProfileFile:
    schema = next((one.text for one in reader.values if one.path == ("schema",)), "")
    if not schema.startswith("rocdoctor.profile/"):
        return ProfileFile(problem="no profile: the line 'schema: rocdoctor.profile/1' is missing")
    if schema != SCHEMA:
        return ProfileFile(
            problem=f"a profile of another release of rocdoctor ({schema[:60]}; this one reads {SCHEMA})"
        )
    return ProfileFile(tuple(reader.values), tuple(reader.lists))


class _Reader:
    """Takes the events of a YAML parser and notes each scalar with its path."""

    def __init__(self) -> None:
        self.values: list[ProfileValue] = []
        self.lists: list[tuple[tuple[str, ...], int]] = []
        self._open: list[_Level] = []
        self._documents = 0

    def take(self, event: Any, yaml: Any) -> None:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise _Refused(f"line {line}: a second document; a profile is one")
        elif isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise _Refused(f"line {line}: anchors and aliases are not read")
        elif getattr(event, "tag", None) is not None:
            raise _Refused(f"line {line}: tags are not read")
        elif isinstance(event, yaml.ScalarEvent):
            self._scalar(event.value[:_MOST_SIGNS], line)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._begin(_Level(self._place(), isinstance(event, yaml.MappingStartEvent)), line)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            level = self._open.pop()
            if not level.mapping:
                self.lists.append((level.path, level.count))

    def _begin(self, level: _Level, line: int) -> None:
        if len(self._open) >= _DEEPEST:
            raise _Refused(f"line {line}: nested deeper than a profile is")
        if self._open and self._open[-1].mapping and self._open[-1].key is None:
            raise _Refused(f"line {line}: a list or mapping instead of a key")
        self._done()
        self._open.append(level)

    def _scalar(self, text: str, line: int) -> None:
        if not self._open:
            raise _Refused("no profile: it has no fields")
        level = self._open[-1]
        if level.mapping and level.key is None:
            level.key = text[:200]
            return
        if len(self.values) >= _MOST_VALUES:
            raise _Refused(f"line {line}: more values than a profile can have")
        self.values.append(ProfileValue(self._place(), text, line))
        self._done()

    def _place(self) -> tuple[str, ...]:
        if not self._open:
            return ()
        level = self._open[-1]
        return (*level.path, level.key if level.mapping and level.key is not None else str(level.count))

    def _done(self) -> None:
        """The value of a key or a place in a list has begun."""
        if self._open:
            self._open[-1].key = None
            self._open[-1].count += 1


@dataclass(slots=True)
class _Level:
    path: tuple[str, ...]
    mapping: bool
    key: str | None = None
    count: int = 0


def under(file: ProfileFile, *path: str) -> Iterator[tuple[tuple[str, ...], ProfileValue]]:
    """The values below a place, each with the rest of its path."""
    for one in file.values:
        if one.path[: len(path)] == path:
            yield one.path[len(path) :], one
