"""A comparison of machines as markdown, to paste into an issue."""

from __future__ import annotations

from collections.abc import Iterable

from rocdoctor.compare.differences import Comparison
from rocdoctor.report.diagnosis.markdown import inline, plain
from rocdoctor.report.diff.diff_words import gaps, headline, parties, reasons, rows, several, undecided


def render(found: Comparison) -> str:
    """Headline, a table of two machines or a list of those that differ, and what is not known."""
    lines = ["## rocdoctor diff", "", f"**{plain(headline(found))}**", ""]
    if len(found.names) == 2:
        counted = rows(one for one in found.differences if one.drift)
        if counted:
            lines += _row(("", "what", *(plain(name) for name in found.names)))
            lines += ["| --- | --- | --- | --- |"]
            for row in counted:
                lines += _row((plain(row.where), plain(row.what), *(plain(value) for value in row.values)))
            lines.append("")
    else:
        listed = [
            f"- {inline(name)}: {plain('; '.join(why))}"
            for number, name in enumerate(found.names)
            if (why := reasons(found, number))
        ]
        lines += [*listed, ""] if listed else []
        for row in undecided(found):
            who = "; ".join(f"{plain(value)} ({plain(names)})" for value, names in parties(found, row))
            lines += [f"- {plain(f'{row.where} {row.what}'.strip())}, without a majority: {who}", ""]
    missing = [f"- {inline(name)}: {plain(several(what, 12))}" for name, what in gaps(found)]
    if missing:
        lines += ["Not known there, and so not compared:", "", *missing, ""]
    return "\n".join(lines)


def _row(cells: Iterable[str]) -> list[str]:
    return [f"| {' | '.join(cells)} |"]
