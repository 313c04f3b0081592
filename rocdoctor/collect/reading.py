"""Small steps between a host's answers and facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from rocdoctor.host.base import Answer, Host
from rocdoctor.model.evidence import Fact, Known, Unknown

T = TypeVar("T")


def as_fact(answer: Answer, parse: Callable[[str], T | None], line: int | None = 1) -> Fact[T]:
    """A parsed answer: Known, or why not. What a parser gives back as None is unparsable."""
    if not answer.ok:
        return answer.unknown()
    value = parse(answer.text)
    if value is None:
        shown = answer.text.strip()[:40]
        return Unknown(f"{answer.question}: '{shown}' is not a usable value", "unparsable", answer.source())
    return Known(value, answer.source(line))


def read_fact(host: Host, path: str, parse: Callable[[str], T | None]) -> Fact[T]:
    """The fact in a file of one value."""
    return as_fact(host.ask(f"read {path}"), parse)


def read_text(host: Host, path: str) -> str | None:
    """The text of a file, None when there is no answer."""
    answer = host.ask(f"read {path}")
    return answer.text if answer.ok else None


# More entries than any real folder of /sys that is listed has (PCI functions of a server with many virtual ones).
MAX_PATHS = 4096


def names_in(host: Host, pattern: str, limit: int = MAX_PATHS) -> list[str]:
    """The paths that match a pattern, ``limit`` at most; empty also when nothing is known."""
    answer = host.ask(f"list {pattern}")
    return answer.lines()[:limit] if answer.ok else []


def word(text: str) -> str | None:
    """A stripped word, None when empty."""
    return text.strip() or None
