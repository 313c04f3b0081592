"""Whether the values of a dataclass are of the kinds that its fields say, where they come from a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from functools import lru_cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

Test = Callable[[Any], bool]


def fits(value: Any) -> bool:
    """Whether all fields of a dataclass, and of those in it, hold what they say; texts of numbers are none."""
    kind: Any = type(value)
    return bool(_test(kind)(value))


@lru_cache(maxsize=256)
def _test(hint: Any) -> Test:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda _: True
    if hint is float:
        return lambda value: type(value) in (int, float) and abs(value) < 1e300
    if origin is Literal:
        return lambda value: isinstance(value, str) and value in inner
    if origin in (Union, UnionType):
        tests = [_test(one) for one in inner]
        return lambda value: any(one(value) for one in tests)
    if origin in (list, dict):
        test = _test(inner[-1])
        if origin is list:
            return lambda value: type(value) is list and all(map(test, value))
        return lambda value: type(value) is dict and all(map(test, value.values()))
    if is_dataclass(hint):
        fields = [(name, _test(one)) for name, one in get_type_hints(hint).items()]
        return lambda value: type(value) is hint and all(test(getattr(value, name)) for name, test in fields)
    return lambda value: type(value) is hint  # yes and no are no numbers
