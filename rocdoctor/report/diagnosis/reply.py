"""A reply to somebody who posted a text, as a document: ``rocdoctor read --format markdown`` prints it for an issue.

It says what the text shows, what is likely wrong and how sure that is, what to do, how to see that it helped, and what
to send if it did not. Nothing in it pings a person, links an issue or brings markup from the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rocdoctor.judging.subjects import grouped, is_whole, sentence, subjects_text
from rocdoctor.knowledge.lookup import cause_title
from rocdoctor.model.finding import SEVERITIES, Cause, Diagnosis, Finding, NextStep
from rocdoctor.model.printable import clean, one_line
from rocdoctor.model.subject import Subject
from rocdoctor.report.diagnosis.text import command_block, first_step, left_open, outcome_words
from rocdoctor.report.document import Block, Closing, Code, CommandLines, Fixed, Heading, Para, Strong
from rocdoctor.report.evidence_words import evidence_place
from rocdoctor.report.machine.summary import machine_lines
from rocdoctor.report.text import cut

_MAX_VALUE = 200  # signs of a line that is quoted: more than a terminal shows
_MAX_EVIDENCE = 4
_MAX_OTHERS = 3
_SURE = {
    "certain": "certain, the text says it outright",
    "likely": "likely; what the text shows fits it, though other causes remain",
    "possible": "possible; the evidence is thin, so please check before you change anything",
}
_IN_WORDS = "possible; it rests on the writer's words, not on a program's output, so please check it first"
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


def document(diagnosis: Diagnosis, parts: Sequence[Recognised] = ()) -> Iterator[Block]:
    """The whole reply."""
    yield Para("Thanks for the report.")
    main = diagnosis.causes[0] if diagnosis.causes else None
    grave = [one for one in grouped(diagnosis.verdicts) if one[0].severity != "info"]
    found = main.finding if main is not None else grave[0][0] if grave else None
    if found is None or (main is not None and main.finding is None):
        yield from _nothing(diagnosis, parts)
    elif diagnosis.open:
        yield from _open(diagnosis)
    else:
        check, subjects = (main.check, list(main.subjects)) if main is not None else (grave[0][1], grave[0][2])
        yield from _cause(found, subjects, main is not None and main.cause == "not-environment")
        yield from _to_do(found, main.remedy if main is not None else "", check)
        yield from _others(diagnosis.causes[1:])
    if diagnosis.threads:
        yield Heading("Much the same, settled before")
        for one in diagnosis.threads:  # as code: an address would link the two threads
            yield Para((Code(one.address), f": {one.settled} (so the {one.by})"), item=True)
    yield from _shown(diagnosis, parts)
    yield from _send(diagnosis.next, found is not None, diagnosis.open)
    yield Closing("Read from the text above by rocdoctor, without access to the machine. It can be wrong.")


def _cause(found: Finding, subjects: list[Subject], software: bool) -> Iterator[Block]:
    spoken = found.confidence == "possible" and any(one.voice != "program" for one in found.evidence)
    if software:
        yield Para(
            "Nothing in this text blames the machine: it shows no fault of driver, GPU or settings. What it does show "
            "points to the software:"
        )
    yield Heading("What it looks like" if software else "Likely cause")
    yield Para(sentence(found.message, subjects), bold=True)
    if not is_whole(subjects):
        yield Para(f"Where: {subjects_text(subjects)}.")
    yield Para(f"Confidence: {_IN_WORDS if spoken else _SURE[found.confidence]}.")
    if found.evidence:
        yield Para("It rests on:")
        for one in found.evidence[:_MAX_EVIDENCE]:
            place = evidence_place(one)
            yield Para((Code(cut(one_line(one.value), _MAX_VALUE)), f" ({place})" if place else ""), item=True)
        if (more := len(found.evidence) - _MAX_EVIDENCE) > 0:
            yield Para(f"and {more} more", item=True)


def _open(diagnosis: Diagnosis) -> Iterator[Block]:
    """What a symptom leaves: each cause with its first step, and that the commands below tell them apart."""
    yield Heading("What may be behind it")
    yield Para(left_open(diagnosis))
    for one in diagnosis.causes:
        yield Para((Strong(f"{cause_title(one.cause)}."), f" {one.message} {_first_step(one)}."), item=True)
    rests = [evidence for one in diagnosis.causes[:1] if one.finding is not None for evidence in one.finding.evidence]
    if rests:
        yield Para("It rests on:")
        for each in rests[:_MAX_EVIDENCE]:
            place = evidence_place(each)
            yield Para((Code(cut(one_line(each.value), _MAX_VALUE)), f" ({place})" if place else ""), item=True)
    yield Para("Please change nothing yet: the commands below tell these apart.")


def _to_do(found: Finding, remedy: str, check: str) -> Iterator[Block]:
    fix = found.fix
    yield Heading("What to do")
    if fix is None:
        yield Para(remedy or "There is no known remedy.")
        return
    yield Para(f"{fix.text.rstrip('.')}.")
    yield from command_block(fix.beside_text, "")
    yield Para(f"Risk: {_RISK[fix.safety]}{_AFTER[fix.effective] if fix.safety != 'reboots' else ''}.")
    verify = clean(fix.verify)
    if not fix.judged_again:
        yield Para("To see whether it helped:")
        yield CommandLines(((verify,),))
        return
    own = verify or f"rocdoctor check {check}"
    # A check of messages reads texts, of which a machine has none.
    more = () if check.endswith("-message") else (", or ", Code(own), " on that machine")
    yield Para(("To see whether it helped: run the failing command again", *more, "."))


def _others(causes: Sequence[Cause]) -> Iterator[Block]:
    if causes:
        yield Heading("Also seen")
    for one in sorted(causes, key=lambda cause: SEVERITIES.index(cause.severity))[:_MAX_OTHERS]:
        about = "" if is_whole(one.subjects) else f" On {subjects_text(one.subjects)}."
        yield Para(f"{one.message}{about} ({one.confidence}) {_first_step(one)}.", item=True)


def _first_step(one: Cause) -> str:
    return first_step(one.finding.fix.text if one.finding is not None and one.finding.fix is not None else one.remedy)


def _nothing(diagnosis: Diagnosis, parts: Sequence[Recognised]) -> Iterator[Block]:
    if any(gpu.vendor in ("amd", "nvidia") for gpu in diagnosis.machine.gpus) or diagnosis.count("pass") > 0:
        yield Para(
            "Nothing in this text points to a fault of the machine (driver, GPU, settings, installed packages). That "
            "is not proof that there is none: the text shows only part of it."
        )
        return
    general = any(part.aside for part in parts) and not any(not part.aside for part in parts)
    more = " What it says about faults and settings reads as advice or as an example." if general else ""
    yield Para(f"This text shows too little of the machine to say what is wrong, or whether anything is.{more}")


def _shown(diagnosis: Diagnosis, parts: Sequence[Recognised]) -> Iterator[Block]:
    shown = diagnosis.card or machine_lines(diagnosis.machine)
    card = tuple(line for line in shown if not line.startswith("GPU  ") or diagnosis.machine.gpus)
    used = [_part(part) for part in parts if not part.aside]
    unused = [f"{_part(part)}: {part.aside}" for part in parts if part.aside]
    if card or used or unused:
        yield Heading("What the text shows")
    yield Fixed(card)
    if used:
        yield Para(f"Read: {_joined(used)}.")
    if unused:
        yield Para(f"Not counted as this machine's state: {_joined(unused)}.")


def _part(part: Recognised) -> str:
    return f"{part.words} ({f'line {part.first}' if part.first == part.last else f'lines {part.first}-{part.last}'})"


def _joined(words: Sequence[str]) -> str:
    return "; ".join(words[:8]) + (f"; and {len(words) - 8} more" if len(words) > 8 else "")


def _send(steps: Sequence[NextStep], named: bool, is_open: bool) -> Iterator[Block]:
    if not steps:
        return
    own = [step for step in steps if step.ours]
    rest = [step for step in steps if step not in own]
    named = named and not is_open
    yield Heading("What tells them apart" if is_open else "If that does not help" if named else "What would help")
    if rest:
        yield Para("Please run these on that machine and post what they print, as text rather than as a picture:")
        yield CommandLines(tuple((line,) for step in rest for line in _asked(step)))
    for step in own:
        yield Para(
            (
                "Or, with rocdoctor installed, " if rest else "",
                Code(step.command),
                f": {step.why}.",
            )
        )
    if named:
        yield Para("Please also say which of the steps above you tried and what changed.")
    else:
        yield Para("The exact command that fails, with everything it prints, helps most.")


def _asked(step: NextStep) -> Iterator[str]:
    yield f"# {one_line(step.why)}"
    yield from (f"#   {outcome_words(one)}" for one in step.outcomes)
    yield step.command
