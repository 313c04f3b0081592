"""The report as markdown, to paste into an issue."""

from __future__ import annotations

from rocdoctor.judging.subjects import grouped, subjects_text
from rocdoctor.model.finding import Diagnosis, Finding
from rocdoctor.model.printable import one_line
from rocdoctor.model.subject import Subject
from rocdoctor.report.diagnosis.headline import headline
from rocdoctor.report.diagnosis.unanswered import unanswered_lines
from rocdoctor.report.machine.summary import machine_lines
from rocdoctor.report.markdown import code, inline, plain

_MAX_VALUE = 160


def render(diagnosis: Diagnosis) -> str:
    """Headline, machine card, findings with evidence and fix, counts."""
    said = headline(diagnosis)
    lines = ["## rocdoctor", "", f"**{plain(said.text)}**", ""]
    if said.command:
        lines += _fence(said.command, "sh")
    lines += _fence("\n".join(diagnosis.card or machine_lines(diagnosis.machine)), "text")
    for found, name, subjects in grouped(diagnosis.verdicts):
        lines += _finding(found, name, subjects)
    counts = ", ".join(
        f"{diagnosis.count(state)} {words}"
        for state, words in (("pass", "passed"), ("fail", "failed"), ("unknown", "unknown"), ("crashed", "crashed"))
    )
    lines += [f"Verdicts: {counts}."]
    for line in unanswered_lines(diagnosis.machine.unanswered):
        lines += ["", plain(line)]
    return "\n".join(lines) + "\n"


def _fence(text: str, language: str) -> list[str]:
    return [f"```{language}", code(text), "```", ""]


def _finding(found: Finding, name: str, subjects: list[Subject]) -> list[str]:
    lines = [f"### {found.severity}: {name}", "", f"{plain(subjects_text(subjects))}: {plain(found.message)}", ""]
    for one in found.evidence:
        value = one_line(one.value)
        short = value if len(value) <= _MAX_VALUE else value[: _MAX_VALUE - 3] + "..."
        place = one.source + (f":{one.line}" if one.line else "")
        voice = {"words": ", in words", "reply": ", in a reply or a quotation"}.get(one.voice, "")
        lines.append(f"- {inline(short or '(empty)')}" + (f" from {inline(place)}{voice}" if place else ""))
    if found.evidence:
        lines.append("")
    if found.confidence == "possible" and found.severity != "info":
        lines += ["Only possible, on this evidence.", ""]
    if found.fix is not None:
        lines += [f"Fix ({found.fix.safety}): {plain(found.fix.text)}", ""]
        if found.fix.command:
            lines += _fence(found.fix.command, "sh")
    return lines
