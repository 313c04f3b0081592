"""Outputs of programs, recognised by how they look, wherever they stand in a text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from rocdoctor.paste.clean_text import Clean
from rocdoctor.paste.output_kinds import KINDS, PROSE, OutputKind
from rocdoctor.paste.passage_roles import role_of_block, shows_working
from rocdoctor.paste.text_part import TextPart, of_lines
from rocdoctor.paste.word_index import WordIndex


def listings(clean: Clean, stops: set[int], index: WordIndex) -> Iterator[TextPart]:
    """The parts that look like outputs; ``stops``: the lines (indices) of prompts, where an output ends."""
    for kind in KINDS:
        hinted = any(index.may_hold((hint,)) and (_has_no_digit(hint) or hint in clean.text) for hint in kind.hints)
        if not hinted and not (kind.sign and kind.sign.search(clean.alike.text)):
            continue
        match, shape = kind.line.match, (kind.shape or kind.line).match
        lines = index.lines(kind.words) if kind.words else clean.alike.where(shape)
        hits = [at for at in lines if clean.lines[at] and match(clean.lines[at])]
        if len(hits) < kind.least:
            continue
        yield from _ranges(clean, kind, hits, stops) if kind.until else _lines(clean, kind, hits, stops)


def _has_no_digit(word: str) -> bool:
    return not any(map(str.isdigit, word))


def _lines(clean: Clean, kind: OutputKind, hits: list[int], stops: set[int]) -> Iterator[TextPart]:
    """Matching lines, those of one passage together (with gaps of a few lines), each passage with its role."""
    groups: list[list[int]] = []
    ordered = sorted(stops)
    for at in hits:
        near = (
            groups
            and at - groups[-1][-1] <= 40
            and not _between(ordered, groups[-1][-1], at)
            and clean.quotes[at] == clean.quotes[groups[-1][0]]
        )
        indices = [at]
        if kind.more:
            indent = len(clean.lines[at]) - len(clean.lines[at].lstrip())
            step = at + 1
            while (
                step < len(clean.lines) and step - at < 400 and step not in stops and _deeper(clean.lines, step, indent)
            ):
                if clean.lines[step] and not kind.line.match(clean.lines[step]):
                    indices.append(step)
                step += 1
        if near:
            groups[-1] += indices
        else:
            groups.append(indices)
    for group in groups[:500]:
        yield _part(clean, kind.question, sorted(set(group)))


def _deeper(lines: list[str], step: int, indent: int) -> bool:
    """Whether a line is indented more than this, or is what was left empty above such a line."""
    at = step if lines[step] or step + 1 >= len(lines) else step + 1
    return len(lines[at]) - len(lines[at].lstrip()) > indent


def _between(stops: list[int], low: int, high: int) -> bool:
    place = bisect_right(stops, low)
    return place < len(stops) and stops[place] < high


def _ranges(clean: Clean, kind: OutputKind, hits: list[int], stops: set[int]) -> Iterator[TextPart]:
    done = -1
    for at in hits[:2000]:
        if at <= done:
            continue
        end = at + 1
        block = clean.blocks[at]
        indent = len(clean.lines[at]) - len(clean.lines[at].lstrip())
        blanks = 0
        while (
            end < len(clean.lines)
            and end not in stops
            and clean.blocks[end] == block
            and clean.quotes[end] == clean.quotes[at]
        ):
            line = clean.lines[end]
            blanks = 0 if line.strip() else blanks + 1
            if not block and indent < 4 and _is_prose(clean, end):
                break
            if not block and indent >= 4 and line.strip() and len(line) - len(line.lstrip()) < 4:
                break
            if blanks > 3 or (kind.until is not None and kind.until.match(line)):
                end += 1 if line.strip() else 0
                break
            end += 1
        start = at
        while start > 0 and at - start < kind.before and _frames(clean.lines[start - 1].strip()):
            start -= 1
        done = end - 1
        while end > at + 1 and not clean.lines[end - 1].strip():
            end -= 1
        yield _part(clean, kind.question, list(range(start, end)))


def _frames(line: str) -> bool:
    """Whether a line is the upper edge of a table, a declaration of XML, or an opening bracket of JSON."""
    return line.startswith(("+", "=", "<")) or line in ("{", "[")


def _is_prose(clean: Clean, at: int) -> bool:
    """Whether a sentence begins after a blank line."""
    return not clean.lines[at - 1].strip() and bool(PROSE.match(clean.lines[at]))


def _part(clean: Clean, question: str, indices: list[int]) -> TextPart:
    role = role_of_block(clean, indices[0], indices[-1], setting=False)
    return of_lines(clean, question, indices, role, shows_working(clean, indices[0]))
