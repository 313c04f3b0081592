"""Text from outside made safe to print: nothing in it may drive a terminal or reorder what is read."""

from __future__ import annotations

import re

_UNSAFE = re.compile(
    # Strings that a terminal takes in up to a terminator (titles, clipboard); unterminated, only their start goes.
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]{0,500}(?:\x07|\x1b\\|\x9c)"
    r"|(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]"
    r"|\x1b[ -/]{0,8}[0-~]"
    # What is left of control characters, marks that turn the direction of text, line separators, halves of characters.
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_BLANKS = re.compile(r"\s+")


def clean(text: str) -> str:
    """The text without control sequences; tabs and line ends stay."""
    return _UNSAFE.sub("", text)


def one_line(text: str) -> str:
    """The text without control sequences, in one line."""
    return _BLANKS.sub(" ", clean(text)).strip()
