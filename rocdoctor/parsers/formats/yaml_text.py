"""YAML and JSON that a stranger may have written, as plain values: mappings, lists, texts, numbers.

Events are counted before anything is built, since building is what hostile texts abuse: aliases that lead to aliases (a
page that stands for gigabytes), merges of merges, brackets nested until the stack ends. Anchors and aliases are read
as far as the text stays small when each is written out. Nothing but plain values is ever constructed. What is not a
finite number (.inf, NaN, 1e999) stays the word that it is.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from typing import Any

MOST_SIGNS = 4_000_000
_MOST_EVENTS = 100_000
_MOST_WRITTEN_OUT = 8_000_000  # characters and nodes, each alias counted as what it stands for
_DEEPEST = 60
# Plain numbers are read digit by digit in base 60; nobody's are longer.
_LONGEST_NUMBER = 400


@dataclass(frozen=True, slots=True)
class PlainValue:
    """A document's value; with ``problem`` (one line) there is none."""

    value: Any = None
    problem: str = ""


class _Refused(Exception):
    pass


def yaml_problem(error: Exception) -> str:
    """What PyYAML says is wrong with a text, in one line with its place."""
    mark = getattr(error, "problem_mark", None)
    where = f"line {mark.line + 1}: " if mark is not None else ""
    return f"not readable as YAML: {where}{getattr(error, 'problem', None) or 'a character that text cannot hold'}"


def parse_yaml(text: str) -> PlainValue:
    """The value of a YAML text of one document (JSON is YAML), or why there is none."""
    if len(text) > MOST_SIGNS:
        return PlainValue(problem=f"larger than {MOST_SIGNS // 1_000_000} million characters")
    import yaml

    loader = _loader()
    try:
        _measure(text, yaml, loader)
        return PlainValue(yaml.load(text, Loader=loader))  # noqa: S506  (a safe loader)
    except _Refused as problem:
        return PlainValue(problem=str(problem))
    except yaml.YAMLError as error:
        return PlainValue(problem=yaml_problem(error))
    except RecursionError:
        return PlainValue(problem="not readable as YAML: too deeply nested")
    except (ValueError, TypeError, OverflowError) as error:  # dates and numbers that cannot be, halves of characters
        return PlainValue(problem=f"not readable as YAML: {str(error)[:200]}")


@cache
def _loader() -> Any:
    """A safe loader whose numbers are finite."""
    import yaml

    safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Finite(safe):  # type: ignore[misc]  # PyYAML's own, of which two forms exist
        pass

    def number(loader: Any, node: Any) -> float | str:
        return _finite(str(loader.construct_scalar(node)), loader.construct_yaml_float(node))

    Finite.add_constructor("tag:yaml.org,2002:float", number)
    return Finite


def _finite(word: str, number: float) -> float | str:
    return number if math.isfinite(number) else word


def parse_json(text: str) -> PlainValue:
    """The value of a JSON text, or why there is none."""
    if len(text) > MOST_SIGNS:
        return PlainValue(problem=f"larger than {MOST_SIGNS // 1_000_000} million characters")
    try:
        return PlainValue(json.loads(text, parse_float=lambda word: _finite(word, float(word)), parse_constant=str))
    except json.JSONDecodeError as error:
        return PlainValue(problem=f"not readable as JSON: line {error.lineno}: {error.msg}")
    except RecursionError:
        return PlainValue(problem="not readable as JSON: too deeply nested")
    except ValueError as error:  # numbers of thousands of digits
        return PlainValue(problem=f"not readable as JSON: {str(error)[:200]}")


@dataclass(slots=True)
class _Open:
    """A list or mapping that has begun: its anchor, its size written out, the depth of what it holds."""

    anchor: str | None
    size: int = 1
    depth: int = 1


def _measure(text: str, yaml: Any, loader: Any) -> None:
    """Go through the events; raises ``_Refused`` where building the value could take long or much."""
    known: dict[str, tuple[int, int]] = {}
    stack: list[_Open] = [_Open(None)]
    total = 0
    for count, event in enumerate(yaml.parse(text, Loader=loader)):
        line = event.start_mark.line + 1
        if count > _MOST_EVENTS:
            raise _Refused(f"more than {_MOST_EVENTS} values")
        if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            stack.append(_Open(event.anchor))
            total += 1
            if event.anchor is not None:  # until it ends it has no size, so nothing can hold itself
                known.pop(event.anchor, None)
            depth = len(stack) - 1
            if depth > _DEEPEST:
                raise _Refused(f"line {line}: nested more than {_DEEPEST} deep")
            continue
        if isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            done = stack.pop()
            size, depth, anchor = done.size, done.depth + 1, done.anchor
            total -= size  # its parts were counted one by one, and are counted again below
        elif isinstance(event, yaml.ScalarEvent):
            size, depth, anchor = 1 + len(event.value), 1, event.anchor
            if len(event.value) > _LONGEST_NUMBER and not event.style and event.value[0] in "+-.0123456789":
                raise _Refused(f"line {line}: a number of {len(event.value)} characters")
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in known:
                raise _Refused(f"line {line}: the alias '{event.anchor[:40]}' has no anchor before it, or is in itself")
            (size, depth), anchor = known[event.anchor], None
        else:
            continue
        if anchor is not None:
            known[anchor] = (size, depth)
        holder = stack[-1]
        holder.size += size
        holder.depth = max(holder.depth, depth)
        if len(stack) - 1 + depth > _DEEPEST + 2:
            raise _Refused(f"line {line}: nested more than {_DEEPEST} deep")
        total += size
        if total > _MOST_WRITTEN_OUT:
            raise _Refused(f"line {line}: its aliases stand for more than {_MOST_WRITTEN_OUT // 1_000_000} MB")
