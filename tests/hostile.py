"""Machines whose words are hostile: every text among the facts, one kind of place at a time, becomes another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any

from rocdoctor.model.evidence import Source, Unknown
from rocdoctor.model.facts import Machine

# A place among the facts: names of fields, "*" for one of several.
Place = tuple[str, ...]
Words = Callable[[str], str]


@cache
def _fields(kind: Any) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind) if one.init)


def places(machine: Machine) -> list[Place]:
    """Where a machine has texts, each kind of place once. Questions are ours, so sources are left out."""
    return sorted(set(_places(machine, ())))


def _places(value: Any, at: Place) -> Iterator[Place]:
    if isinstance(value, str):
        yield at
    elif isinstance(value, Mapping):
        yield from ((*at, "key") for key in value if isinstance(key, str))
        for one in value.values():
            yield from _places(one, (*at, "*"))
    elif isinstance(value, tuple | list | set | frozenset):
        for one in value:
            yield from _places(one, (*at, "*"))
    elif is_dataclass(value) and not isinstance(value, type | Source | Unknown):
        for name in _fields(value.__class__):
            if name not in ("question", "source", "voice"):  # what is not the evidence's
                yield from _places(getattr(value, name), (*at, name))


def with_words(machine: Machine, place: Place, words: Words) -> Machine:
    """The machine with other texts in one kind of place."""
    changed: Machine = _changed(machine, place, words)
    return changed


def _changed(value: Any, place: Place, words: Words) -> Any:
    if not place:
        return words(value) if isinstance(value, str) else value
    first, rest = place[0], place[1:]
    if isinstance(value, Mapping):
        if first == "key":
            return {words(key) if isinstance(key, str) else key: one for key, one in value.items()}
        return {key: _changed(one, rest, words) for key, one in value.items()} if first == "*" else value
    if isinstance(value, tuple | list | set | frozenset):
        return type(value)(_changed(one, rest, words) for one in value) if first == "*" else value
    if is_dataclass(value) and not isinstance(value, type | Source | Unknown) and first in _fields(value.__class__):
        return replace(value, **{first: _changed(getattr(value, first), rest, words)})
    return value
