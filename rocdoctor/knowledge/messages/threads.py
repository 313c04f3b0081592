"""Public threads in which somebody had the same and it was settled (``threads.yaml``)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from typing import Literal

from rocdoctor.knowledge.load import load_table

ConfirmedBy = Literal["reporter", "maintainer", "participant"]


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread: its cause, the checks and kinds of messages that it is about, what settled it, and who says so."""

    cause: str
    about: tuple[str, ...]
    name: str  # owner/repository#number
    settled: str
    day: str
    by: ConfirmedBy

    @property
    def address(self) -> str:
        """Where it can be read; of a pull request too, to which the site leads."""
        repository, _, number = self.name.partition("#")
        return f"https://github.com/{repository}/issues/{number}"


@cache
def threads() -> tuple[Thread, ...]:
    """Every thread of the table."""
    return tuple(
        Thread(row["cause"], tuple(row["about"]), row["at"], row["settled"], str(row["day"]), row["by"])
        for row in load_table("threads")["threads"]
    )


def threads_like(cause: str, present: Collection[str], most: int = 2) -> tuple[Thread, ...]:
    """The first threads of a cause that are about a check that found it, or a message that stands there."""
    found = (one for one in threads() if one.cause == cause and not set(one.about).isdisjoint(present))
    return tuple(one for _, one in zip(range(most), found, strict=False))
