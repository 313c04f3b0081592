"""The form of a question: one line of text, a verb and what it is put to (``host/base.py`` lists the verbs)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Question:
    """A question taken apart; the line of text stays the key of its answer."""

    verb: str  # read, list, run, python ...; of a text that quotes no question its first word
    rest: str = ""  # the path, the pattern or the command line

    @staticmethod
    @lru_cache(4096)
    def of(text: str) -> Question:
        """The parts of a question."""
        verb, _, rest = text.partition(" ")
        return Question(verb, rest)

    @property
    def program(self) -> str:
        """The name of the program that ``run`` starts, without its folder; "" for other verbs."""
        return self.rest.split(" ", 1)[0].rsplit("/", 1)[-1] if self.verb == "run" else ""

    @property
    def path(self) -> str:
        """The file of ``read``; "" for other verbs."""
        return self.rest if self.verb == "read" else ""
