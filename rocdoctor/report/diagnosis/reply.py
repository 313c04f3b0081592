"""A reply to somebody who posted a text: ``rocdoctor read --format markdown``, to put under an issue as it is.

It says what the text shows, what is likely wrong and how sure that is, what to do, how to see that it helped, and what
to send if it did not. Nothing in it pings a person, links an issue or brings markup from the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rocdoctor.judging.subjects import grouped, is_whole, subjects_text
from rocdoctor.model.finding import SEVERITIES, Cause, Diagnosis, Evidence, Finding, NextStep
from rocdoctor.model.printable import clean, one_line
from rocdoctor.model.subject import Subject
from rocdoctor.report.diagnosis.text import first_step
from rocdoctor.report.evidence_words import evidence_place
from rocdoctor.report.machine.summary import machine_lines
from rocdoctor.report.markdown import code, inline, plain

_MAX_VALUE = 200
_MAX_EVIDENCE = 4
_MAX_OTHERS = 3
_SURE = {
    "certain": "certain, the text says it outright",
    "likely": "likely; what the text shows fits it, though other causes remain",
    "possible": "possible; the evidence is thin, so please check before you change anything",
}
_IN_WORDS = "possible; it rests on what is said in words, not on a program's output, so please check it first"
_RISK = {
    "safe": "safe to try",
    "manual": "it needs a decision or an edit of yours, so read it first",
    "reboots": "needs a reboot",
    "risky": "risky: it can leave the machine in a worse state, so have a way back",
}
_AFTER = {"now": "", "new-login": "; it takes effect at the next login", "reboot": "; it takes effect after a reboot"}


@dataclass(frozen=True, slots=True)
class Recognised:
    """A recognised part: what it is in words, its lines, and why it was not used (empty: it was)."""

    words: str
    first: int
    last: int
    aside: str = ""


def render(diagnosis: Diagnosis, parts: Sequence[Recognised] = ()) -> str:
    """The whole reply."""
    main = diagnosis.causes[0] if diagnosis.causes else None
    grave = [one for one in grouped(diagnosis.verdicts) if one[0].severity != "info"]
    found = main.finding if main is not None else grave[0][0] if grave else None
    lines: list[str] = []
    if found is None or (main is not None and main.finding is None):
        lines += _nothing(diagnosis, parts)
    else:
        check, subjects = (main.check, list(main.subjects)) if main is not None else (grave[0][1], grave[0][2])
        lines += _cause(found, subjects, main is not None and main.cause == "not-environment")
        lines += _to_do(found, main.remedy if main is not None else "", check)
        lines += _others(diagnosis.causes[1:])
    lines += _shown(diagnosis, parts)
    lines += _send(diagnosis.next, found is not None)
    lines += ["---", "_Read from the text above by rocdoctor, without access to the machine. It can be wrong._"]
    return "\n".join(lines) + "\n"


def _cause(found: Finding, subjects: list[Subject], software: bool) -> list[str]:
    about = [] if is_whole(subjects) else [f"Where: {plain(subjects_text(subjects))}.", ""]
    spoken = found.confidence == "possible" and any(one.voice != "program" for one in found.evidence)
    lines = ["Thanks for the report.", ""]
    if software:
        lines += [
            "Nothing in this text blames the machine: it shows no fault of driver, GPU or settings. What it does show "
            "points to the software:",
            "",
        ]
    lines += [
        f"### {'What it looks like' if software else 'Likely cause'}",
        "",
        f"**{plain(found.message)}**",
        "",
        *about,
    ]
    lines += [f"Confidence: {_IN_WORDS if spoken else _SURE[found.confidence]}.", ""]
    if found.evidence:
        lines += ["It rests on:", "", *[_evidence(one) for one in found.evidence[:_MAX_EVIDENCE]]]
        more = len(found.evidence) - _MAX_EVIDENCE
        lines += [*([f"- and {more} more"] if more > 0 else []), ""]
    return lines


def _evidence(one: Evidence) -> str:
    value = one_line(one.value)
    short = value if len(value) <= _MAX_VALUE else value[: _MAX_VALUE - 3] + "..."
    place = evidence_place(one)
    return f"- {inline(short or '(empty)')}" + (f" ({plain(place)})" if place else "")


def _to_do(found: Finding, remedy: str, check: str) -> list[str]:
    fix = found.fix
    lines = ["### What to do", ""]
    if fix is None:
        return [*lines, plain(remedy) or "There is no known remedy.", ""]
    lines += [f"{plain(fix.text).rstrip('.')}.", ""]
    if fix.beside_text:
        lines += _fence([fix.beside_text])
    lines += [f"Risk: {_RISK[fix.safety]}{_AFTER[fix.effective] if fix.safety != 'reboots' else ''}.", ""]
    verify = clean(fix.verify)
    if not fix.judged_again:
        lines += ["To see whether it helped:", "", *_fence([verify])]
    else:
        own = verify or f"rocdoctor check {check}"
        # A check of messages reads texts, of which a machine has none.
        again = "run the failing command again"
        more = "" if check.endswith("-message") else f", or {inline(own)} on that machine"
        lines += [f"To see whether it helped: {again}{more}.", ""]
    return lines


def _others(causes: Sequence[Cause]) -> list[str]:
    if not causes:
        return []
    lines = ["### Also seen", ""]
    for one in sorted(causes, key=lambda cause: SEVERITIES.index(cause.severity))[:_MAX_OTHERS]:
        about = "" if is_whole(one.subjects) else f" On {plain(subjects_text(one.subjects))}."
        lines.append(f"- {plain(one.message)}{about} ({one.confidence}) {plain(_first_step(one))}.")
    return [*lines, ""]


def _first_step(one: Cause) -> str:
    return first_step(one.finding.fix.text if one.finding is not None and one.finding.fix is not None else one.remedy)


def _nothing(diagnosis: Diagnosis, parts: Sequence[Recognised]) -> list[str]:
    shown = any(gpu.vendor in ("amd", "nvidia") for gpu in diagnosis.machine.gpus) or diagnosis.count("pass") > 0
    lines = ["Thanks for the report.", ""]
    if shown:
        return [
            *lines,
            "Nothing in this text points to a fault of the machine (driver, GPU, settings, installed packages). That "
            "is not proof that there is none: the text shows only a part of it.",
            "",
        ]
    general = any(part.aside for part in parts) and not any(not part.aside for part in parts)
    more = " What it says of faults and settings reads as advice or as an example." if general else ""
    return [
        *lines,
        f"This text shows too little of the machine to say what is wrong, or whether anything is.{more}",
        "",
    ]


def _shown(diagnosis: Diagnosis, parts: Sequence[Recognised]) -> list[str]:
    shown = diagnosis.card or machine_lines(diagnosis.machine)
    card = [line for line in shown if not line.startswith("GPU  ") or diagnosis.machine.gpus]
    used = [_part(part) for part in parts if not part.aside]
    unused = [f"{_part(part)}: {part.aside}" for part in parts if part.aside]
    if not card and not used and not unused:
        return []
    lines = ["### What the text shows", ""]
    if card:
        lines += ["```text", *(code(line) for line in card), "```", ""]
    if used:
        lines += [f"Read: {plain(_joined(used))}.", ""]
    if unused:
        lines += [f"Not taken as this machine's state: {plain(_joined(unused))}.", ""]
    return lines


def _part(part: Recognised) -> str:
    return f"{part.words} ({f'line {part.first}' if part.first == part.last else f'lines {part.first}-{part.last}'})"


def _joined(words: Sequence[str]) -> str:
    return "; ".join(words[:8]) + (f"; and {len(words) - 8} more" if len(words) > 8 else "")


def _send(steps: Sequence[NextStep], named: bool) -> list[str]:
    if not steps:
        return []
    own = [step for step in steps if step.ours]
    rest = [step for step in steps if step not in own]
    lines = [f"### {'If that does not help' if named else 'What would help'}", ""]
    if rest:
        lines += ["Please run these on that machine and post what they print, as text rather than as a picture:", ""]
        lines += _fence([line for step in rest for line in (f"# {one_line(step.why)}", step.command)])
    for step in own:
        lines += [f"{'Or, with rocdoctor installed, ' if rest else ''}{inline(step.command)}: {plain(step.why)}.", ""]
    if named:
        lines += ["Please also say which of the steps above you tried and what changed.", ""]
    else:
        lines += ["The exact command that fails, with all that it prints, helps most.", ""]
    return lines


def _fence(commands: Sequence[str]) -> list[str]:
    return ["```sh", *(code(one) for one in commands), "```", ""]
