"""What a trait is, and when two values of one say the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rocdoctor.knowledge.load import numbers
from rocdoctor.model.units import binary_size

Group = Literal["gpu", "link", "host", "version", "setting"]
# text: equal or not. near: a size in bytes that kernels and tools round. number: less is worse. words: a set of words.
# version: some sources tell less of one (7.2 for 7.2.0, Ubuntu 24.04 for Ubuntu 24.04.3 LTS). release: the first two
# numbers alone, since a package is named after its release (rocm6.4) and the library has a build number (6.4.43482).
Kind = Literal["text", "near", "number", "words", "version", "release"]

NEAR = 0.02  # our choice: kernels keep some MiB for themselves and tools round to MB, a lost module is far more


@dataclass(frozen=True, slots=True)
class Trait:
    """One trait: ``words`` name it in a sentence, ``why`` says what rests on it, ``grave`` that a change is a risk."""

    key: str
    group: Group
    words: str
    why: str
    kind: Kind = "text"
    unit: str = ""
    grave: bool = False


def text(value: object) -> str:
    """A value as traits hold it: one line of printable signs, so that a file can hold it and give the same back."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g}"
    words = str(value)
    if not words.isprintable():
        words = "".join(sign if sign.isprintable() else " " for sign in words)
    return " ".join(words.split())


def number(value: str) -> float | None:
    """The number of a value of the kinds ``near`` and ``number``."""
    try:
        found = float(value)
    except ValueError:
        return None
    return found if abs(found) < 1e18 else None  # also no NaN


def same(trait: Trait, a: str, b: str) -> bool:
    """Whether two values of a trait say the same."""
    if a == b:
        return True
    if trait.kind in ("near", "number"):
        one, other = number(a), number(b)
        if one is None or other is None:
            return False
        return abs(one - other) <= (NEAR * max(abs(one), abs(other)) if trait.kind == "near" else 0.0)
    if trait.kind == "version":
        short, long = sorted((a, b), key=len)
        return bool(short) and long.startswith(short) and long[len(short)] in ".-+ "
    if trait.kind == "release":
        return numbers(a)[:2] == numbers(b)[:2] != ()
    return trait.kind == "words" and set(a.split()) == set(b.split())


def shown(trait: Trait, value: str) -> str:
    """A value for people, with its unit."""
    if trait.unit == "bytes":
        size = number(value)
        return value if size is None else binary_size(int(size))
    return f"{value} {trait.unit}" if trait.unit and number(value) is not None else value
