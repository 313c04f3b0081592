"""Whose a message is, by the sentence in which a person quotes it and by those beside it.

The message is read as ``<M>`` and other quotations as ``<Q>``, so that one expression holds for every message. What a
program prints by itself has no sentence of its own: the one that leads to its block, and those behind it, speak of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.logs.log_match import compiled

Place = Literal["here", "before", "after", "all"]

MESSAGE, QUOTATION = "<M>", "<Q>"
_LINES = 8  # of a paragraph in front of a message and behind it
_BLOCK = 60  # lines of output above a message, beyond which nothing leads to it any more
_GAP = 3  # empty lines between a sentence and the block that it leads to
_BEHIND = 2  # sentences behind a message
_LONGEST = 600  # characters of a line, and of a sentence
_ITEM = regex(r"\s{0,8}(?:[-*+\u2022]\s|\d{1,2}[.)]\s|\|)")
_STAMPED = regex(r"\s{0,8}(?:\[\s{0,8}\d|\d{4}-\d\d-\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:|\w+ \w+ \d{1,7} \[)")
_QUOTED = regex(
    r"\"[^\"\n]{2,300}\"|\u00ab[^\u00bb\n]{2,300}\u00bb|[\u300c\u300e][^\u300d\u300f\n]{2,300}[\u300d\u300f]"
)
_END = regex(r"(?<=[.!?])[\"')]{0,2}\s{1,4}(?=\S)|(?<=[\u3002\uff01\uff1f])")
_NO_END = regex(r"(?i)\b(?:e\.g|i\.e|etc|vs|ca|approx|resp|incl|no|nr|ver|cf|mr|dr|st)\.\Z")


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around a message: its sentence with ``<M>`` in it, the one before, and the two behind it."""

    here: str
    before: str = ""
    after: str = ""

    @property
    def whole(self) -> str:
        """All of it as one text."""
        return f"{self.before} {self.here} {self.after}".strip()


@dataclass(frozen=True, slots=True)
class FrameRow:
    """What a frame must look like; ``stands``: whatever its writer says else. ``words``: one of them is there."""

    kind: str
    where: Place
    match: str
    words: tuple[str, ...] = ()
    never: str | None = None
    stands: bool = False


def frame_of(lines: Sequence[str], program: frozenset[int], line: int, column: int, length: int) -> Frame:
    """The frame of a message: ``line`` (from 1), ``column`` in the stripped line; ``program``: lines in code blocks."""
    at = line - 1
    first, end = _paragraph(lines, program, at)
    text, offset = "", 0
    for one in range(first, end):
        if one == at:
            offset = len(text) + max(min(column, len(lines[one].strip())), 0)
        text += lines[one].strip()[:_LONGEST] + " "
    masked, place = _masked(text, offset, length)
    sentences = _sentences(masked)
    number = next((n for n, (begin, stop) in enumerate(sentences) if begin <= place < stop), 0)
    said = [masked[begin:stop].strip()[:_LONGEST] for begin, stop in sentences]
    before = said[number - 1] if number else _leading(lines, program, first)
    behind = said[number + 1 : number + 1 + _BEHIND]
    if len(behind) < _BEHIND:
        behind += _following(lines, program, end)[: _BEHIND - len(behind)]
    return Frame(said[number] if said else MESSAGE, before, " ".join(behind))


def frame_says(rows: Sequence[FrameRow], own: Sequence[str], frame: Frame) -> str | None:
    """The kind of the first row that says that a message is not of the writer's machine now; None where none does."""
    whole = frame.whole
    low = whole.lower()
    mine: bool | None = None
    for row in rows:
        if row.words and not any(word in low for word in row.words):
            continue
        text = {"here": frame.here, "before": frame.before, "after": frame.after, "all": whole}[row.where]
        if not text or not compiled(row.match).search(text) or (row.never and compiled(row.never).search(whole)):
            continue
        if not row.stands:
            if mine is None:
                mine = any(compiled(one).search(whole) for one in own)
            if mine:
                continue
        return row.kind
    return None


def _paragraph(lines: Sequence[str], program: frozenset[int], at: int) -> tuple[int, int]:
    """The lines (indices) that a person wrote as one text around a line; that line alone in output and in lists."""
    if at in program or _STAMPED.match(lines[at][:40]):
        return at, at + 1
    first, end = at, at + 1
    while first and at - first < _LINES and not _ITEM.match(lines[first][:20]) and _goes_on(lines, program, first - 1):
        first -= 1
    while end < len(lines) and end - at < _LINES and _goes_on(lines, program, end):
        if _ITEM.match(lines[end][:20]):
            break
        end += 1
    return first, end


def _goes_on(lines: Sequence[str], program: frozenset[int], at: int) -> bool:
    return bool(lines[at].strip()) and at not in program and not _STAMPED.match(lines[at][:40])


def _leading(lines: Sequence[str], program: frozenset[int], first: int) -> str:
    """The sentence that leads to what begins on a line: the last one above its block, list or table."""
    at = first
    while at and first - at < _BLOCK and _goes_on_as_output(lines, program, at, first):
        at -= 1
    gap = 0
    while at and gap <= _GAP and not lines[at - 1].strip():
        at, gap = at - 1, gap + 1
    if not at or gap > _GAP or first - at >= _BLOCK or at - 1 in program:
        return ""
    begin, end = _paragraph(lines, program, at - 1)
    text, _ = _masked(" ".join(one.strip()[:_LONGEST] for one in lines[begin:end]) + " ", -1, 0)
    sentences = _sentences(text)
    return text[slice(*sentences[-1])].strip()[-_LONGEST:] if sentences else ""


def _goes_on_as_output(lines: Sequence[str], program: frozenset[int], at: int, first: int) -> bool:
    """Whether the line above ``at`` belongs to the same output, list or table as the line ``first``."""
    above = lines[at - 1]
    if first in program:
        return at - 1 in program
    if not above.strip() or at - 1 in program:
        return False
    here = _ITEM.match(lines[first][:20])
    return bool(_ITEM.match(above[:20])) if here else bool(_STAMPED.match(above[:40]))


def _following(lines: Sequence[str], program: frozenset[int], end: int) -> list[str]:
    """The first sentences of the paragraph that follows."""
    at = end
    while at < len(lines) and at in program and at - end < _BLOCK:
        at += 1
    gap = 0
    while at < len(lines) and gap <= _GAP and not lines[at].strip():
        at, gap = at + 1, gap + 1
    if at >= len(lines) or at in program or gap > _GAP:
        return []
    begin, stop = _paragraph(lines, program, at)
    text, _ = _masked(" ".join(one.strip()[:_LONGEST] for one in lines[begin:stop]) + " ", -1, 0)
    return [text[first:last].strip()[:_LONGEST] for first, last in _sentences(text)]


def _masked(text: str, at: int, length: int) -> tuple[str, int]:
    """The text with its quotations as marks, that around the message as ``<M>``, and where this stands."""
    found, place, last = list[str](), 0, 0
    covered = False
    for one in _QUOTED.finditer(text):
        mine = one.start() <= at < one.end()
        if not mine and not covered and at >= 0 and at < one.start():
            found.append(text[last:at])
            place = sum(map(len, found))
            found.append(MESSAGE)
            last, covered = min(at + length, one.start()), True
        found.append(text[last : one.start()])
        if mine:
            place = sum(map(len, found))
            covered = True
        found.append(MESSAGE if mine else QUOTATION)
        last = one.end()
    if not covered and at >= 0:
        found.append(text[last:at])
        place = sum(map(len, found))
        found.append(MESSAGE)
        last = max(at + length, last)
    found.append(text[last:])
    return "".join(found), place


def _sentences(text: str) -> list[tuple[int, int]]:
    """Where the sentences of a text begin and end."""
    ends = [one.end() for one in _END.finditer(text) if not _NO_END.search(text[max(one.start() - 8, 0) : one.start()])]
    bounds = [0, *ends, len(text)]
    return [(begin, end) for begin, end in pairwise(bounds) if text[begin:end].strip()]
