"""A comparison of machines as a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from rocdoctor.compare.differences import Comparison
from rocdoctor.model.printable import one_line
from rocdoctor.report.diff.diff_words import DiffRow, gaps, headline, parties, reasons, rows, several, undecided
from rocdoctor.report.document import GAP, Block, Code, Heading, Para, Table, Title

_WHERE, _WHAT = 9, 36  # columns
_MOST_REASONS = 8
_MOST_GAPS = 12


def document(found: Comparison, *, quiet: bool = False) -> Iterator[Block]:
    """Two machines side by side; of more, those that differ from the majority.

    ``quiet`` leaves the differences alone: of three or more machines one line each, the name, a tab and the reasons.
    """
    if not quiet:
        yield Title("rocdoctor diff")
        yield Para(headline(found), bold=True)
    yield from _pair(found, quiet) if len(found.names) == 2 else _fleet(found, quiet)
    if not quiet:
        yield from _closing(found)


def _pair(found: Comparison, quiet: bool) -> Iterator[Block]:
    facts = [one for one in found.differences if one.drift and one.kind != "finding"]
    findings = [one for one in found.differences if one.drift and one.kind == "finding"]
    column = min(_WHAT, max((len(one.what) for one in facts), default=0))
    names = [one_line(name) for name in found.names]
    for title, chosen in (("Facts", facts), ("Findings", findings)):
        if chosen:
            if not quiet:
                yield GAP
                yield Heading(title, colour="1")
            listed = rows(chosen)
            cells = tuple((row.where, row.what, *row.values) for row in listed)
            yield Table(("", "what", *names), cells, partial(_laid, listed, names, column))


def _laid(listed: Sequence[DiffRow], names: Sequence[str], column: int, width: int) -> tuple[Block, ...]:
    """A difference a line; a finding and what is too long for that have a line for each machine."""
    blocks: list[Block] = []
    for row in listed:
        head = f"  {row.where:<{_WHERE}} {row.what:<{column}} "
        line = f"{head} {row.values[0]} -> {row.values[1]}"
        if row.kind != "finding" and len(line) <= width:
            blocks.append(Para(line, folded=False))
            continue
        blocks.append(Para(head.rstrip(), folded=False))
        blocks += [Para(f"{name}: {value}", " " * 6, " " * 8) for name, value in zip(names, row.values, strict=True)]
    return tuple(blocks)


def _fleet(found: Comparison, quiet: bool) -> Iterator[Block]:
    listed = [(name, why) for number, name in enumerate(found.names) if (why := reasons(found, number))]
    if listed and not quiet:
        yield GAP
    for name, why in listed:
        left = len(why) - _MOST_REASONS
        words = "; ".join(why[:_MOST_REASONS]) + (f"; and {left} more" if left > 0 else "")
        yield Para((Code(one_line(name), "1"), "\t", words), item=True, folded=False)
    rest = undecided(found)
    if rest and not quiet:
        yield GAP
        yield Heading("Without a majority", colour="1")
        for row in rest:
            yield Para(f"  {' '.join(part for part in (row.where, row.what) if part)}", folded=False)
            for value, who in parties(found, row):
                yield Para(f"{value}: {who}", " " * 6, " " * 8, item=True)


def _closing(found: Comparison) -> Iterator[Block]:
    moment = rows(one for one in found.differences if not one.drift)
    if moment:
        yield GAP
        yield Heading("Of the moment, not counted")
        yield Para(", ".join(sorted({f"{row.where} {row.what}".strip() for row in moment})), "  ")
    missing = gaps(found)
    if missing:
        yield GAP
        yield Heading("Not known there, and so not compared")
        for name, what in missing[:_MOST_GAPS]:
            words = several([one_line(one) for one in what], 8)
            yield Para((Code(name), ": ", words), "  ", "    ", item=True)
        if len(missing) > _MOST_GAPS:
            yield Para(f"and {len(missing) - _MOST_GAPS} more machines", "  ", item=True)
