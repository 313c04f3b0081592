"""What the linter found, for people: a line with file and line first, as compilers write it; or markdown."""

from __future__ import annotations

from collections.abc import Iterable

from rocdoctor.model.finding import Finding, Verdict
from rocdoctor.model.printable import clean, one_line
from rocdoctor.report.markdown import inline, plain
from rocdoctor.report.text import Style, wrap

_COLOURS = {"error": "31;1", "warning": "33", "info": "36"}


def render(
    verdicts: Iterable[Verdict], files: int, *, width: int = 100, colour: bool = False, markdown: bool = False
) -> str:
    """Every finding with its line, and how many files were read."""
    rows = [(verdict, verdict.finding) for verdict in verdicts if verdict.finding is not None]
    style = Style(colour)
    lines: list[str] = ["## rocdoctor lint", ""] if markdown else []
    for verdict, found in rows:
        lines += _markdown(verdict, found) if markdown else _text(verdict, found, width, style)
    crashed = [verdict for verdict in verdicts if verdict.state == "crashed"]
    told = [
        f"{verdict.check} crashed on {one_line(verdict.subject.label)}: {one_line(verdict.why)}" for verdict in crashed
    ]
    lines += [plain(one) for one in told] if markdown else told
    read = "1 file" if files == 1 else f"{files} files"
    found_words = "1 finding" if len(rows) == 1 else f"{len(rows)} findings"
    lines.append(f"{found_words} in {read}." if rows else f"Nothing found in {read}.")
    return "\n".join(lines) + "\n"


def _text(verdict: Verdict, found: Finding, width: int, style: Style) -> list[str]:
    head = f"{clean(one_line(verdict.subject.label))}: {style(found.severity, _COLOURS[found.severity])}: "
    sure = "" if found.confidence != "possible" else " (possible)"
    lines = [f"{head}{clean(one_line(found.message))}{sure} [{verdict.check}]"]
    if found.fix is not None:
        lines += wrap(f"fix: {found.fix.text}", width, "    ")
    return lines


def _markdown(verdict: Verdict, found: Finding) -> list[str]:
    head = f"- **{found.severity}** {inline(verdict.subject.label)}"
    line = f"{head}: {plain(found.message)} ({verdict.check}, {found.confidence})"
    return [line, *([f"  Fix: {plain(found.fix.text)}"] if found.fix is not None else []), ""]
