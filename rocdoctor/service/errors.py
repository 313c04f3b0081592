"""Wrong arguments and unreadable input, in one line each."""

from __future__ import annotations

from collections.abc import Sequence


class UsageError(Exception):
    """Wrong arguments or unreadable input; the message is one line that names it."""


class InputError(UsageError):
    """An input that cannot be read; the message names it and says why."""


def suggestion(word: str, known: Sequence[str] | dict[str, str]) -> str:
    """``; did you mean 'x'?`` when a known word is near."""
    import difflib  # for the rare mistake alone

    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean '{near[0]}'?" if near else ""
