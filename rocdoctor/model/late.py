"""Records whose fields are found out when somebody looks at them.

Such a record is one of its kind to all who read it. Reading a field that is known costs nothing extra: a slot that
holds no value is what makes Python ask ``__getattr__``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


Way = Callable[[], Any]


def late(kind: type[T], known: Mapping[str, Any], ways: Mapping[str, Way], rest: Mapping[str, Way] | None = None) -> T:
    """A record of a kind (a dataclass with slots): fields that are known, and a way to each of the others.

    ``rest``: what ``looked_at`` has for a field that nobody looked at, where that is not the default of the kind.
    """
    of: Any = kind
    made: Any = object.__new__(_late_kind(of))
    for name, value in known.items():
        object.__setattr__(made, name, value)
    object.__setattr__(made, "_ways", ways)
    object.__setattr__(made, "_rest", rest or {})
    return made  # type: ignore[no-any-return]


def looked_at(record: T) -> T:
    """A plain record: what is known or was looked at; any other record as it is."""
    kind: Any = getattr(type(record), "_late_of", None)
    return record if kind is None else kind(**{one.name: _settled(record, kind, one) for one in fields(kind)})


def _settled(record: Any, kind: type[Any], one: Field[Any]) -> Any:
    try:
        value = kind.__dict__[one.name].__get__(record)  # the slot itself, without __getattr__
    except AttributeError:
        if one.name in record._rest:
            return record._rest[one.name]()
        factory: Any = one.default_factory
        return one.default if factory is MISSING else factory()
    return tuple(map(looked_at, value)) if type(value) is tuple else looked_at(value)


@cache
def _late_kind(kind: type[Any]) -> type[Any]:
    def find(self: Any, name: str) -> Any:
        ways = object.__getattribute__(self, "_ways")
        if name not in ways:
            raise AttributeError(f"{kind.__name__} has no field '{name}'")
        value = ways[name]()
        object.__setattr__(self, name, value)
        return value

    parts = {"__slots__": ("_rest", "_ways"), "__getattr__": find, "_late_of": kind, "__module__": __name__}
    return type(f"Late{kind.__name__}", (kind,), parts)
