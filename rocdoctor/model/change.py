"""Changes that a fix needs and that a program can make without judgement: a finding's ``Fix`` may list them.

A check lists changes only where they are all of the fix, hold for every reader of the finding, and can be taken back.
What depends on a condition that only a person can judge ("if nothing else needs it") has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

# The word of a command that stands for the person whose machine it is, also under sudo.
USER = "$USER"


@dataclass(frozen=True, slots=True)
class Unset:
    """A variable that no start-up file shall set any more: its line there becomes a comment."""

    name: str


@dataclass(frozen=True, slots=True)
class KernelValue:
    """One word in files of the kernel below /sys or /proc/sys, until the next restart.

    ``path`` may hold ``*`` for the part of a name: every file that matches gets the word.
    """

    path: str
    value: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command that root runs, as a list of words; ``undo`` takes it back (nothing where nothing stays).

    ``changes`` are the files that it changes. ``USER`` among the words is the person.
    """

    words: tuple[str, ...]
    undo: tuple[tuple[str, ...], ...] = ()
    changes: tuple[str, ...] = ()


Change: TypeAlias = Unset | KernelValue | Command


def joining(groups: Sequence[str]) -> Command:
    """The person joins groups. Undoing leaves those that the group file had before (``repair.fixes.steps`` looks)."""
    return Command(
        ("usermod", "-aG", ",".join(groups), USER),
        tuple(("gpasswd", "-d", USER, group) for group in groups),
        ("/etc/group", "/etc/gshadow"),
    )
