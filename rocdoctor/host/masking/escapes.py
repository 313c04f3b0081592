"""Colours and other escape sequences of terminals, which must not hide what they stand in or beside.

A line is masked once without them; where that changes it, it loses them. Else they stay, and the line is masked as it
is.
"""

from __future__ import annotations

from collections.abc import Callable

from rocdoctor.model.lazy_re import regex

# As a terminal gets them (ECMA-48: CSI, OSC and two signs), and as scripts and logs write a CSI.
_ESCAPE = regex(
    r"(?:\x1b\[|\x9b)[0-?]{0,40}[ -/]{0,4}[@-~]|\x1b\][^\x07\x1b\n]{0,2000}(?:\x07|\x1b\\)?|\x1b[ -/]{0,4}[0-~]|"
    r"(?:\\(?:033|e|x1[bB]|u001[bB])|\^\[|#033)\[[0-9;:?]{0,40}[A-Za-z]"
)
_SIGNS = ("\x1b", "\x9b", "\\033[", "\\e[", "\\x1b[", "\\x1B[", "\\u001b[", "\\u001B[", "^[[", "#033[")


def without_escapes(text: str) -> str:
    """The text as it is seen."""
    return _ESCAPE.sub("", text) if any(sign in text for sign in _SIGNS) else text


def mask_seen(text: str, mask: Callable[[str], str]) -> str:
    """The masked text; lines that are masked only when seen without their escapes lose these."""
    seen = without_escapes(text)
    if seen == text:
        return mask(text)
    masked, lines = mask(seen).split("\n"), text.split("\n")
    if len(masked) != len(lines):  # a key of several lines became one
        return "\n".join(masked)
    told = [made if made != plain else line for line, plain, made in zip(lines, seen.split("\n"), masked, strict=True)]
    return mask("\n".join(told))
