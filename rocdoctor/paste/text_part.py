"""A recognised part of a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rocdoctor.paste.clean_text import Clean
from rocdoctor.paste.passage_roles import Role


@dataclass(frozen=True, slots=True)
class TextPart:
    """Lines of a text that answer a question; only parts of the role "now" do answer it.

    ``numbers`` are the lines of the text (from 1), one for each line of ``body``.
    """

    question: str
    body: str
    numbers: tuple[int, ...]
    role: Role = "now"
    working: bool = False  # the text says that it shows the working state

    @property
    def first(self) -> int:
        """The first line, counted from 1."""
        return self.numbers[0]

    @property
    def last(self) -> int:
        """The last line, counted from 1."""
        return self.numbers[-1]


def of_lines(
    clean: Clean, question: str, indices: Sequence[int], role: Role = "now", working: bool = False
) -> TextPart:
    """The part that consists of some lines (indices)."""
    body = "\n".join(clean.lines[at] for at in indices)
    return TextPart(question, body, tuple(at + 1 for at in indices), role, working)
