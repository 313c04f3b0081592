"""The sentences that the writer of a text says in words: no output, no reply of others, no page of advice.

The answer to the question ``sentences``: one JSON object a line, {"line", "text"}. Of long texts the beginning and the
end are looked at, where people say what they want.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from rocdoctor.model.lazy_re import regex
from rocdoctor.paste.clean_text import Clean
from rocdoctor.paste.speakers import is_sentence

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
_LOGGED = regex(r"NCCL (?:INFO|WARN)|\.py:\d{1,6}\]|\b\d\d:\d\d:\d\d\b")


def sentence_rows(clean: Clean, others: frozenset[int]) -> str:
    """The answer; ``others``: the lines (indices) that somebody else wrote."""
    return "\n".join(
        json.dumps({"line": at + 1, "text": clean.lines[at][:_LONGEST]}) for at in _sentences(clean, others)
    )


def _sentences(clean: Clean, others: frozenset[int]) -> Iterator[int]:
    count = len(clean.lines)
    for at in (*range(min(count, _FIRST)), *range(max(_FIRST, count - _LAST), count)):
        line = clean.lines[at]
        if len(line) < 12 or at in others or at in clean.guides or not is_sentence(clean, at):
            continue
        if not _LISTED.match(line) and not _LOGGED.search(line[:100]) and len(_WORD.findall(line[:400])) >= _FEWEST:
            yield at
