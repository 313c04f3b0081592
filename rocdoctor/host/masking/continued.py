"""Secrets of commands that go on over several lines: what a program is given may stand lines below its name.

Pure: text in, text out; every line stays at its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice, pairwise

from rocdoctor.host.masking.rules import VALUE_TOKEN, MaskingTables
from rocdoctor.host.masking.secrets import mask_secrets
from rocdoctor.model.lazy_re import regex

Note = Callable[[str, str], None]
Span = tuple[int, int]

# Lines that end with the sign that a shell, cmd or PowerShell goes on after, and the one that follows them.
_GOES_ON = regex(r"(?<=[^\s\\`^])[ \t]{1,8}[\\`^][ \t\r]{0,4}\n")
_JOINT = regex(r"[ \t]{1,8}[\\`^][ \t\r]{0,4}\n[ \t>|#]{0,60}")
_TOKEN = regex(r"masked-[a-z-]{1,40}")
# A word that goes on in the next line, and the names that may be divided so.
_AT_HYPHEN = regex(r"(?<=[A-Za-z0-9])-[ \t\r]{0,4}\n[ \t>|#]{0,8}(?=[A-Za-z0-9])")
_WORD_BEFORE = regex(r"[A-Za-z]{1,20}\Z")
_WORD_AFTER = regex(r"[A-Za-z]{1,20}")
_TELLS = regex(r"(?i:pass|secret|token|credential|key|pwd|pw\b)")
_NAME = regex(r"(?i:pass(?:word|phrase|code)|secret|credentials?|token)s?")
_MOST_COMMANDS = 4000
_MOST_HYPHENS, _MOST_PARTS = 2000, 3
_MOST_LINES = 60
_LONGEST_LINE = 400


def mask_continued(text: str, tables: MaskingTables, note: Note) -> str:
    """The text with the secrets of commands masked as if each stood on one line."""
    commands = list(islice(_commands(text), _MOST_COMMANDS))
    if not commands:
        return text
    joined = [_JOINT.sub(" ", text[start:end]) for start, end in commands]
    masked = mask_secrets("\n".join(joined), tables, _nowhere).split("\n")
    if len(masked) != len(joined):
        return text
    out: list[str] = []
    position = 0
    for (begin, stop), before, after in zip(commands, joined, masked, strict=True):
        if before == after:
            continue
        places = list(_places(text[begin:stop]))
        for (start, end), token in replaced_spans(before, after):
            first, last = begin + places[start], begin + places[end - 1] + 1
            secret = text[first:last]
            if first < position or "\n" in secret:
                continue
            note(token.removeprefix("masked-") if token != VALUE_TOKEN else "secret-value", secret)
            out += [text[position:first], token]
            position = last
    return "".join([*out, text[position:]]) if out else text


def mask_hyphenated(text: str, tables: MaskingTables, note: Note) -> str:
    """The text with the secrets masked that a line end divides at a hyphen, as prose is set: each line has its part."""
    runs = [_one_line(text, *run) for run in islice(_hyphenated(text), _MOST_HYPHENS)]
    runs = [run for run in runs if _TELLS.search(run[0])]
    masked = mask_secrets("\n".join(joined for joined, _ in runs), tables, _nowhere).split("\n") if runs else []
    if len(masked) != len(runs):
        return text
    out: list[str] = []
    position = 0
    for (before, places), after in zip(runs, masked, strict=True):
        for (start, end), token in replaced_spans(before, after) if before != after else ():
            first, last = places[start], places[end - 1] + 1
            if first < position or "\n" not in text[first:last]:
                continue
            note(token.removeprefix("masked-") if token != VALUE_TOKEN else "secret-value", before[start:end])
            between = (joint[0].lstrip("-") for joint in _AT_HYPHEN.finditer(text, first, last))
            out += [text[position:first], token, *(f"{one}{token}" for one in between)]
            position = last
    return "".join([*out, text[position:]]) if out else text


def _hyphenated(text: str) -> Iterator[Span]:
    """Where runs of lines are of which each but the last ends in the middle of a word."""
    start = end = lines = 0
    for joint in _AT_HYPHEN.finditer(text):
        first = text.rfind("\n", max(end, joint.start() - _LONGEST_LINE), joint.start()) + 1
        if joint.start() >= end or lines >= _MOST_PARTS:
            if end:
                yield start, end
            start, lines = max(first, end, joint.start() - _LONGEST_LINE), 0
        lines += 1
        stop = text.find("\n", joint.end(), joint.end() + _LONGEST_LINE)
        end = stop if stop >= 0 else min(len(text), joint.end() + _LONGEST_LINE)
    if end > start:
        yield start, end


def _one_line(text: str, begin: int, stop: int) -> tuple[str, list[int]]:
    """Such lines as one, and for each of its signs the place in the text; the hyphen of a telling name goes."""
    signs: list[str] = []
    places: list[int] = []
    position = begin
    for joint in _AT_HYPHEN.finditer(text, begin, stop):
        before, after = _WORD_BEFORE.search(text, begin, joint.start()), _WORD_AFTER.match(text, joint.end(), stop)
        word = (before[0] if before else "") + (after[0] if after else "")
        upto = joint.start() + (_NAME.fullmatch(word) is None)
        signs.append(text[position:upto])
        places += range(position, upto)
        position = joint.end()
    signs.append(text[position:stop])
    return "".join(signs), [*places, *range(position, stop)]


def _commands(text: str) -> Iterator[Span]:
    """Where runs of lines are of which each but the last goes on in the next; of long lines the part at the joint."""
    start = end = 0
    lines = 0
    for joint in _GOES_ON.finditer(text):
        if not lines or joint.start() >= end or lines >= _MOST_LINES:
            if lines:
                yield start, end
            first = max(end if lines else 0, joint.start() - _LONGEST_LINE)
            start = max(first, text.rfind("\n", first, joint.start()) + 1)
            lines = 0
        lines += 1
        end = text.find("\n", joint.end(), joint.end() + _LONGEST_LINE)
        end = end if end >= 0 else min(len(text), joint.end() + _LONGEST_LINE)
    if lines:
        yield start, end


def replaced_spans(before: str, after: str) -> Iterator[tuple[Span, str]]:
    """What stands in a text before in place of the words of masking that it has after, in order."""
    ends = [0, *(place for token in _TOKEN.finditer(after) for place in token.span()), len(after)]
    pieces = [after[start:end] for start, end in pairwise(ends)]
    at = len(pieces[0]) if before.startswith(pieces[0]) else -1
    for token, following in zip(pieces[1::2], pieces[2::2], strict=True):
        if at < 0:
            return
        if before.startswith(token + following, at):  # it was there before
            at += len(token) + len(following)
            continue
        start = before.find(following, at + 1) if following else len(before)
        if start < 0:
            return
        yield (at, start), token
        at = start + len(following)


def _places(command: str) -> Iterator[int]:
    """For each sign of the joined command its place in the lines."""
    position = 0
    for joint in _JOINT.finditer(command):
        yield from range(position, joint.start())
        yield joint.start()
        position = joint.end()
    yield from range(position, len(command))


def _nowhere(_cls: str, _value: str) -> None:
    pass
