"""The overview's parts as text: what to do first, the machine, what was found, what is unknown. Pure."""

from __future__ import annotations

from collections import Counter

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from rocdoctor.judging.subjects import grouped
from rocdoctor.model.finding import SEVERITIES, Diagnosis
from rocdoctor.model.printable import clean, one_line
from rocdoctor.report.diagnosis.text import outcome_words
from rocdoctor.report.diagnosis.unanswered import unanswered_lines
from rocdoctor.report.machine.summary import HEAD, machine_lines
from rocdoctor.report.text import wrap
from rocdoctor.tui.findings.findings_list import FindingsRow
from rocdoctor.tui.story import Story
from rocdoctor.tui.style import SEVERITY_STYLE


def first(told: Story, width: int) -> Text:
    """What is wrong, then what to do; ids last."""
    text = Text()
    if told.wrong and told.title != "do next":
        text.append("\n".join(wrap(one_line(told.wrong), width, "")) + "\n", style="bold")
    ahead = "Do first: " if told.heading != told.title else ""
    style = "not bold" if text.plain else "bold"
    text.append("\n".join(wrap(ahead + one_line(told.todo), width, "")), style=style)
    if told.wrong and told.title == "do next":
        text.append("\n" + "\n".join(wrap(one_line(told.wrong), width, "")), style="dim")
    if told.typed:
        text.append("\n" + "\n".join(wrap(told.typed, width, "  ", "    ")), style="bold")
    key = {"findings": "Enter shows why", "setup": "key 7 shows all steps"}[told.area]
    if told.because:
        text.append("\n" + "\n".join(wrap(f"because of {told.because}; {key}", width, "", "  ")), style="not bold dim")
    elif told.area == "setup":
        text.append(f"\n{key}", style="not bold dim")
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


def counts(diagnosis: Diagnosis, width: int, changed: str = "") -> Text:
    """How many findings and verdicts there are, and, where it is told here, what has ``changed``: two lines at most."""
    number = Counter(found.severity for found, _, _ in grouped(diagnosis.verdicts))
    named = [f"{number[one]} {_NAMES[one]}{'' if number[one] == 1 else 's'}" for one in SEVERITIES if number[one]]
    states = ", ".join(f"{count} {words}" for state, words in _STATES if (count := diagnosis.count(state)))
    said = f"{'found':<{HEAD}} {', '.join(named) or 'nothing wrong'}; verdicts: {states}"
    head, *rest = wrap(said, width, "", " " * (HEAD + 1))
    text = Text(head[:HEAD], style="bold")
    text.append("\n".join([head[HEAD:], *rest]), style="not bold")
    if changed:
        head, *rest = wrap(f"{'changed':<{HEAD}} {one_line(changed)}", width, "", " " * (HEAD + 1))
        if len(rest) > 1:
            rest = [set_cell_size(rest[0], min(cell_len(rest[0]), width - 1)) + "…"]
        text.append(f"\n{head[:HEAD]}", style="bold").append("\n".join([head[HEAD:], *rest]), style="not bold")
    return text


def found_row(row: FindingsRow, width: int, tall: int = 1) -> Text:
    """A finding in one line: how grave, of what, the sentence; its name where there is room.

    In several lines (``tall``) all of the sentence that they hold.
    """
    found = row.finding
    assert found is not None
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append(f"{found.severity:<8}", style=SEVERITY_STYLE[found.severity])
    if row.where:
        text.append(f"{row.where}  ")
    message = one_line(row.said)
    if tall > 1:
        lines = wrap(f"{text.plain}{message}", width, "", " " * 8)
        if len(lines) > tall:
            lines = [
                *lines[: tall - 1],
                set_cell_size(lines[tall - 1], min(cell_len(lines[tall - 1]), width - 1)) + "…",
            ]
        text.append("\n".join(lines)[len(text.plain) :])
        if cell_len(lines[-1]) + 2 + len(row.check) <= width:
            text.append(f"  {row.check}", style="dim")
        elif len(lines) < tall:
            text.append(f"\n{'':<8}{row.check}", style="dim")
        return text
    room = width - text.cell_len - len(row.check) - 2
    if room >= max(30, min(cell_len(message), 60)):
        cut = cell_len(message) > room
        text.append(f"{set_cell_size(message, room - 1)}…  " if cut else f"{message}  ")
        text.append(row.check, style="dim")
    else:
        text.append(message)
    return text


def unknown(diagnosis: Diagnosis, width: int) -> Text:
    """What did not answer, and what would tell more."""
    text = Text()
    for line in unanswered_lines(diagnosis.machine.unanswered, False):
        text.append("\n".join(wrap(line, width, "", "  ")) + "\n")
    if diagnosis.next:
        text.append("to find out more\n", style="bold")
    for step in diagnosis.next:
        text.append(f"  {clean(step.command)}\n")
        text.append("\n".join(wrap(one_line(step.why), width, "      ")) + "\n", style="dim")
        for one in step.outcomes:
            text.append("\n".join(wrap(outcome_words(one), width, "        ", "          ")) + "\n", style="dim")
    text.rstrip()
    return text


_NAMES = {"error": "error", "warning": "warning", "info": "note"}
_STATES = (("pass", "passed"), ("unknown", "unknown"), ("not-applicable", "not applicable"), ("crashed", "crashed"))
