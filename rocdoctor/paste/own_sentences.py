"""The sentences that the writer of a text says in words: no output, no reply of others, no page of advice.

The answer to the question ``sentences``: one JSON object a line, {"line", "text", "plain"}. Of long texts the beginning
and the end are looked at, where people say what they want. ``plain`` is false where a sentence begins like a command,
a label or an item of a list, and goes on in words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from rocdoctor.model.lazy_re import regex
from rocdoctor.paste.clean_text import Clean
from rocdoctor.paste.speakers import function_words, is_sentence

_FIRST, _LAST = 400, 150  # lines
_LONGEST = 600  # characters of one line
_WORD = regex(r"[A-Za-z']{2,}")
_FEWEST = 4  # words of a sentence
# How lines of logs, listings and programs begin, and what stands in lines of logs alone.
_LISTED = regex(
    r"\s{0,40}(?:[-=*#>|+.]|\[|\d{2,4}[-:/]|\S{1,40}\[\d{1,9}\]:|[A-Z]{4,9}[: ]\s?[\d:[(]|"
    r"\S{1,120}:\d{1,9}:\d{1,9} |[a-z_]{1,60}\(|\S{1,60}: \S{1,200} |"
    r"(?:checking|building|copying|unpacking|patching|configuring|running) \S|"
    r"(?:INFO|WARNING|WARN|ERROR|DEBUG|NCCL|File|Traceback|at|in)\b)"
)
_SHOWN = regex(
    r"\s{0,40}(?:[#>|+<{]|\[|\d{2,4}[-:/]\d|(?:INFO|WARNING|WARN|ERROR|DEBUG|File|Traceback)\b)|"
    r"\S{1,40}: \S{1,40}:|\s{4}|\t|--\s|(?:checking|building|copying|unpacking|patching|configuring|running) \S"
)
# What a writer adds below, where the first word looks like that of a log.
_ADDED = regex(r"\s{0,4}[*_]{0,2}(?:Update|UPDATE|Edit|EDIT|Solved|SOLVED|Solution|SOLUTION|P\.?S\.?)[*_]{0,2} ?\d?: ")
# How a writer says that it is over, however short.
_OVER = regex(
    r"\s{0,4}[*_]{0,2}(?:Fixed|Solved|Resolved)(?:[*_]{0,2}[.!]?\s*\Z| (?:it |this )?(?:by|with|now|after)\b)"
)
_ENOUGH, _SHARE = 2, 12  # words without a meaning of their own, and of how many words one of them is such a word
_LOGGED = regex(r"NCCL (?:INFO|WARN)|\.py:\d{1,6}\]|\b\d\d:\d\d:\d\d\b")


def sentence_rows(clean: Clean, others: frozenset[int]) -> str:
    """The answer; ``others``: the lines (indices) that somebody else wrote."""
    return "\n".join(
        json.dumps({"line": at + 1, "text": clean.lines[at][:_LONGEST], "plain": plain})
        for at, plain in _sentences(clean, others)
    )


def _sentences(clean: Clean, others: frozenset[int]) -> Iterator[tuple[int, bool]]:
    count = len(clean.lines)
    for at in (*range(min(count, _FIRST)), *range(max(_FIRST, count - _LAST), count)):
        line = clean.lines[at]
        if _OVER.match(line) and at not in others and at not in clean.guides and not clean.blocks[at]:
            yield at, True
            continue
        if len(line) < 12 or at in others or at in clean.guides or clean.blocks[at] or _LOGGED.search(line[:100]):
            continue
        many = len(_WORD.findall(line[:400])) >= _FEWEST
        if many and (not _LISTED.match(line) or _ADDED.match(line)) and is_sentence(clean, at):
            yield at, True
        elif many and _goes_on_in_words(line):
            yield at, False


def _goes_on_in_words(line: str) -> bool:
    """Whether a line that begins like a command, a label or an item is a sentence all the same."""
    told = line[:400]
    return (
        not _SHOWN.match(told)
        and function_words(told) >= _ENOUGH
        and len(_WORD.findall(told)) >= 2 * _FEWEST
        and function_words(told) * _SHARE >= len(told.split())
    )
