"""The overview's parts as text: what to do first, the machine, what was found, what is unknown. Pure."""

from __future__ import annotations

from collections import Counter

from rich.text import Text

from rocdoctor.judging.subjects import grouped, is_whole, subject_parts
from rocdoctor.model.finding import SEVERITIES, Diagnosis
from rocdoctor.model.printable import clean, one_line
from rocdoctor.report.diagnosis.headline import headline
from rocdoctor.report.diagnosis.text import outcome_words
from rocdoctor.report.diagnosis.unanswered import unanswered_lines
from rocdoctor.report.machine.summary import HEAD, machine_lines
from rocdoctor.report.text import wrap
from rocdoctor.tui.style import SEVERITY_STYLE

_MOST = 8


def first_title(diagnosis: Diagnosis | None) -> str:
    """The heading of the first part: whether there is something to do."""
    return "do first" if diagnosis is not None and headline(diagnosis).to_do else "in short"


def first(diagnosis: Diagnosis, preliminary: bool, width: int) -> Text:
    """The one thing to do first, under ``first_title``."""
    said = headline(diagnosis)
    text = Text(one_line(said.said), style="bold")
    if said.command:
        text.append("\n" + "\n".join(wrap(said.command, width, "  ", "    ")), style="not bold")
    if said.because:
        text.append(f"\nbecause of {said.because}", style="not bold dim")
    if preliminary:
        text.append("\nNot everything has answered yet; this may change.", style="not bold italic")
    return text


def card(diagnosis: Diagnosis, width: int) -> Text:
    """The machine."""
    text = Text()
    for line in machine_lines(diagnosis.machine):
        for part in wrap(line, width, "", " " * (HEAD + 1)):
            text.append(part[:HEAD], style="bold")
            text.append(part[HEAD:] + "\n")
    text.rstrip()
    return text


def found_parts(diagnosis: Diagnosis, width: int) -> Text:
    """Counts, and the findings by name."""
    groups = grouped(diagnosis.verdicts)
    counts = Counter(found.severity for found, _, _ in groups)
    text = Text()
    named = [f"{counts[one]} {_NAMES[one]}{'' if counts[one] == 1 else 's'}" for one in SEVERITIES if counts[one]]
    states = ", ".join(f"{number} {words}" for state, words in _STATES if (number := diagnosis.count(state)))
    said = f"{'found':<{HEAD}} {', '.join(named) or 'nothing wrong'}; verdicts: {states}"
    first, *rest = wrap(said, width, "", " " * (HEAD + 1))
    text.append(first[:HEAD], style="bold")
    text.append("\n".join([first[HEAD:], *rest]))
    for found, name, subjects in groups[:_MOST]:
        where = "" if is_whole(subjects) else subject_parts(subjects)[0]
        text.append(f"\n  {found.severity:<7} ", style=SEVERITY_STYLE[found.severity])
        text.append(f"{name}  ")
        text.append(where, style="dim")
    if len(groups) > _MOST:
        text.append(f"\n  ... and {len(groups) - _MOST} more (key 2)")
    return text


def unknown(diagnosis: Diagnosis, width: int) -> Text:
    """What did not answer, and what would tell more."""
    text = Text()
    for line in unanswered_lines(diagnosis.machine.unanswered, False):
        text.append("\n".join(wrap(line, width, "", "  ")) + "\n")
    if diagnosis.next:
        text.append("to know more\n", style="bold")
    for step in diagnosis.next:
        text.append(f"  {clean(step.command)}\n")
        text.append("\n".join(wrap(one_line(step.why), width, "      ")) + "\n", style="dim")
        for one in step.outcomes:
            text.append("\n".join(wrap(outcome_words(one), width, "        ", "          ")) + "\n", style="dim")
    text.rstrip()
    return text


_NAMES = {"error": "error", "warning": "warning", "info": "note"}
_STATES = (("pass", "passed"), ("unknown", "unknown"), ("not-applicable", "not applicable"), ("crashed", "crashed"))
