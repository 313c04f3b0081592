"""The lines of an answer that a finding rests on, with those around them. Pure; long answers make it slow, so it is
done beside the screen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rocdoctor.host.base import Answer
from rocdoctor.model.finding import Evidence
from rocdoctor.model.printable import clean, one_line
from rocdoctor.model.question import Question

_AROUND = 2
_MOST_MATCHES = 4
_SHORT_ANSWER = 6
# A line of JSON may be as long as a file: so much is kept on each side of the value.
_KEPT = 400


@dataclass(frozen=True, slots=True)
class ExcerptLine:
    """A line with its number from 1; ``marked`` ones hold the value, at ``spans`` of ``text`` where it stands there."""

    number: int
    text: str
    marked: bool = False
    spans: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some lines of an answer; ``note`` says what they are, or why there are none."""

    lines: tuple[ExcerptLine, ...] = ()
    note: str = ""


def excerpt(evidence: Evidence, answer: Answer | None) -> Excerpt:
    """What to show beside a value."""
    if Question.of(evidence.source).verb == "table":
        return Excerpt(note="from a table that comes with rocdoctor")
    if answer is None or answer.status == "not-asked":
        return Excerpt(note="the text of this source was not kept")
    if not answer.ok:
        return Excerpt(note=one_line(answer.in_words))
    lines = answer.lines()
    if not lines:
        return Excerpt(note="the answer is empty")
    if "\0" in answer.text[:4096]:
        return Excerpt(note=f"binary data, {len(answer.data)} bytes")
    if evidence.line is not None and 1 <= evidence.line <= len(lines):
        return _around(lines, [evidence.line], evidence.value)
    found = _lines_with(lines, evidence.value)
    if found:
        return _around(lines, found, evidence.value)
    if len(lines) <= _SHORT_ANSWER:
        return Excerpt(tuple(_line(lines, number, "", False) for number in range(1, len(lines) + 1)))
    return Excerpt(note=f"it follows from all {len(lines)} lines of the answer, not from one of them")


def _lines_with(lines: list[str], value: str) -> list[int]:
    """The numbers of the few lines in which the value stands; short values stand anywhere by chance."""
    if len(value) < 4:
        return []
    found = [number for number, line in enumerate(lines, start=1) if value in line]
    return found if len(found) <= _MOST_MATCHES else []


def _around(lines: list[str], wanted: list[int], value: str) -> Excerpt:
    shown = {near for number in wanted for near in range(number - _AROUND, number + _AROUND + 1)}
    numbers = sorted(number for number in shown if 1 <= number <= len(lines))
    result = tuple(_line(lines, number, value, number in wanted) for number in numbers)
    literal = any(line.spans for line in result)
    return Excerpt(result, "" if literal else "the marked line is where it was read")


def _line(lines: list[str], number: int, value: str, marked: bool) -> ExcerptLine:
    raw = lines[number - 1]
    at = _find(raw, value)[0][0] if marked and len(raw) > 2 * _KEPT and _find(raw, value) else 0
    begin, end = max(0, at - _KEPT), at + _KEPT
    cut = ("... " if begin else "") + raw[begin:end] + (" ..." if end < len(raw) else "")
    text = clean(cut).replace("\n", " ").expandtabs(4)
    return ExcerptLine(number, text, marked, tuple(_find(text, value)) if marked else ())


def _find(text: str, value: str) -> list[tuple[int, int]]:
    """Where the value stands in a line: as it is, else its numbers."""
    wanted = one_line(value)
    if not wanted:
        return []
    found = [(one.start(), one.end()) for one in re.finditer(re.escape(wanted), text, re.IGNORECASE)]
    if found and len(wanted) > 1 and not wanted.isdigit():
        return found
    squeezed = one_line(text)
    if len(squeezed) > 3 and (squeezed in wanted or wanted.rstrip(".") in squeezed):
        return [(len(text) - len(text.lstrip()), len(text.rstrip()))]  # the value is the line, or several of them
    for token in _telling(wanted):
        bare = token[1:] if re.fullmatch(r"x\d+", token) else token  # a width is written x4 and 4
        whole = rf"(?<![0-9A-Za-z.])x?{re.escape(bare)}(?![0-9A-Za-z])"
        spans = [(one.start(), one.end()) for one in re.finditer(whole, text, re.IGNORECASE)]
        if spans:
            return spans[:_MOST_MATCHES]
    return []


def _telling(value: str) -> list[str]:
    """The numbers and the names with digits; words of a value stand in many lines."""
    words = re.split(r"[\s,;:=()]", value)
    return [word.strip(".'\"") for word in words if any(letter.isdigit() for letter in word)]


def merged(parts: list[Excerpt]) -> Excerpt:
    """Several excerpts of one answer as one."""
    lines: dict[int, ExcerptLine] = {}
    for part in parts:
        for line in part.lines:
            before = lines.get(line.number)
            if before is None or (line.marked and not before.marked):
                lines[line.number] = line
            elif line.marked and line.text == before.text:
                spans = tuple(sorted({*before.spans, *line.spans}))
                lines[line.number] = ExcerptLine(line.number, line.text, True, _apart(spans))
    notes = list(dict.fromkeys(part.note for part in parts if part.note))
    return Excerpt(tuple(lines[number] for number in sorted(lines)), "; ".join(notes))


def _apart(spans: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Spans that overlap made one."""
    result: list[tuple[int, int]] = []
    for begin, end in spans:
        if result and begin <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((begin, end))
    return tuple(result)
