"""A file that an emitter writes, and the comments in it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class File:
    """One file: its name (no folders), its text, and whether it is a program to run."""

    name: str
    text: str
    executable: bool = False


def plain(text: str) -> str:
    """A text as one line of printable signs, so that what a machine or user is called never ends a comment."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def comment(reason: str, mark: str = "#", indent: str = "", width: int = 100) -> Iterator[str]:
    """The lines of a comment."""
    for line in textwrap.wrap(plain(reason), width - len(indent), break_on_hyphens=False):
        yield f"{indent}{mark} {line}"
