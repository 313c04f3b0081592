"""A comparison of machines for a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rocdoctor.compare.differences import Comparison
from rocdoctor.model.printable import one_line
from rocdoctor.report.diagnosis.text import Style, wrap
from rocdoctor.report.diff.diff_words import Row, gaps, headline, parties, reasons, rows, undecided

_WHERE, _WHAT = 9, 36  # columns
_MOST_REASONS = 8
_MOST_GAPS = 12


def render(found: Comparison, *, width: int = 100, colour: bool = False, quiet: bool = False) -> str:
    """Two machines side by side; of more, those that differ from the majority.

    ``quiet`` leaves the differences alone: of three or more machines one line each, the name, a tab and the reasons.
    """
    style = Style(colour)
    lines: list[str] = []
    if not quiet:
        lines += [style(line, "1") for line in wrap(headline(found), width, "")]
    lines += _pair(found, width, style, quiet) if len(found.names) == 2 else _fleet(found, width, style, quiet)
    if not quiet:
        lines += _closing(found, width)
    return "\n".join(lines) + "\n" if lines else ""


def _pair(found: Comparison, width: int, style: Style, quiet: bool) -> list[str]:
    counted = [one for one in found.differences if one.drift]
    column = min(_WHAT, max((len(one.what) for one in counted if one.kind != "finding"), default=0))
    lines: list[str] = []
    for title, chosen in (
        ("Facts", [one for one in counted if one.kind != "finding"]),
        ("Findings", [one for one in counted if one.kind == "finding"]),
    ):
        if chosen:
            lines += [] if quiet else ["", style(title, "1")]
            for row in rows(chosen):
                lines += _row(found, row, width, column)
    return lines


def _row(found: Comparison, row: Row, width: int, column: int) -> list[str]:
    head = f"  {row.where:<{_WHERE}} {row.what:<{column}} "
    line = f"{head} {row.values[0]} -> {row.values[1]}"
    if row.kind != "finding" and len(line) <= width:
        return [line]
    lines = [head.rstrip()]
    for name, value in zip(found.names, row.values, strict=True):
        lines += wrap(f"{one_line(name)}: {value}", width, "      ", "        ")
    return lines


def _fleet(found: Comparison, width: int, style: Style, quiet: bool) -> list[str]:
    lines: list[str] = []
    for number, name in enumerate(found.names):
        why = reasons(found, number)
        if why:
            left = len(why) - _MOST_REASONS
            words = "; ".join(why[:_MOST_REASONS]) + (f"; and {left} more" if left > 0 else "")
            lines.append(f"{style(one_line(name), '1')}\t{words}")
    if lines and not quiet:
        lines.insert(0, "")
    rest = undecided(found)
    if rest and not quiet:
        lines += ["", style("Without a majority", "1")]
        for row in rest:
            lines.append(f"  {' '.join(part for part in (row.where, row.what) if part)}")
            for value, who in parties(found, row):
                lines += wrap(f"{value}: {who}", width, "      ", "        ")
    return lines


def _closing(found: Comparison, width: int) -> list[str]:
    lines: list[str] = []
    moment = rows(one for one in found.differences if not one.drift)
    if moment:
        lines += ["", "Of the moment, not counted"]
        lines += _named(sorted({f"{row.where} {row.what}".strip() for row in moment}), width)
    missing = gaps(found)
    if missing:
        lines += ["", "Not known there, and so not compared"]
        for name, what in missing[:_MOST_GAPS]:
            lines += wrap(f"{name}: {_several(what)}", width, "  ", "    ")
        if len(missing) > _MOST_GAPS:
            lines.append(f"  and {len(missing) - _MOST_GAPS} more machines")
    return lines


def _named(words: Iterable[str], width: int) -> list[str]:
    return wrap(", ".join(words), width, "  ", "  ")


def _several(what: tuple[str, ...], most: int = 8) -> str:
    left = len(what) - most
    return ", ".join(one_line(one) for one in what[:most]) + (f" and {left} more" if left > 0 else "")
