"""The report as a document: what to do first, then the findings, then what is unknown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from rocdoctor.judging.subjects import grouped, is_whole, sentence, subject_parts, subjects_text
from rocdoctor.knowledge.lookup import cause_title
from rocdoctor.model.finding import SEVERITIES, Diagnosis, Finding, Fix, StepOutcome
from rocdoctor.model.printable import clean, one_line
from rocdoctor.model.shell_command import is_kernel_parameter
from rocdoctor.model.subject import Subject
from rocdoctor.report import text as text_form
from rocdoctor.report.diagnosis.headline import headline
from rocdoctor.report.diagnosis.unanswered import unanswered_lines
from rocdoctor.report.document import GAP, Block, Code, CommandLines, Fixed, Heading, Note, Pairs, Para, Title
from rocdoctor.report.evidence_words import evidence_place
from rocdoctor.report.machine.summary import HEAD, machine_lines

_MAX_EVIDENCE = 4


def render(
    diagnosis: Diagnosis,
    *,
    width: int = 100,
    colour: bool = False,
    quiet: bool = False,
    verbose: bool = False,
    pasted: bool = False,
) -> str:
    """The report for a terminal; the rest as for ``document``."""
    return text_form.render(document(diagnosis, quiet=quiet, verbose=verbose, pasted=pasted), width, colour)


def document(
    diagnosis: Diagnosis, *, quiet: bool = False, verbose: bool = False, pasted: bool = False
) -> Iterator[Block]:
    """The whole report; ``quiet`` leaves only what is wrong, ``verbose`` adds the checks that found nothing.

    ``pasted``: of a text that somebody else may have sent, so the cause stands first and the machine is "that" one.
    """
    yield Title("rocdoctor")
    yield from _cause(diagnosis) if pasted else _headline(diagnosis)
    if not quiet and (card := tuple(diagnosis.card or machine_lines(diagnosis.machine))):
        yield GAP
        yield Fixed(card, " " * (HEAD + 1))
    for found, name, subjects in grouped(diagnosis.verdicts):
        if not (quiet and found.severity == "info"):
            yield GAP
            yield from _finding(found, name, subjects)
    if not quiet:
        yield GAP
        yield from _closing(diagnosis, pasted, verbose)
        if verbose:
            yield from _silent(diagnosis)


def _finding(found: Finding, name: str, subjects: list[Subject]) -> Iterator[Block]:
    short, places = subject_parts(subjects)
    said = sentence(found.message, subjects)
    yield Note(found.severity, name, subjects_text(subjects), said, short=short, places=tuple(places))
    shown = found.evidence[:_MAX_EVIDENCE]
    yield Pairs(tuple((one_line(one.value), evidence_place(one)) for one in shown))
    if len(found.evidence) > _MAX_EVIDENCE:
        yield Para(f"... and {len(found.evidence) - _MAX_EVIDENCE} more", "    ", item=True)
    if found.confidence == "possible" and found.severity != "info":
        spoken = any(one.voice != "program" for one in found.evidence)
        why = (
            "this rests on the writer's words, not a program's output"
            if spoken
            else "the evidence fits other causes too"
        )
        yield Para(f"only possible: {why}", "  ")
    if found.fix is not None:
        yield from _fix(found.fix, name)
    yield Para(("more: ", Code(f"rocdoctor explain {name}")), "  ", folded=False)


def _fix(fix: Fix, name: str) -> Iterator[Block]:
    after = {"new-login": ", needs a new login", "reboot": ", needs a reboot", "now": ""}[fix.effective]
    if fix.safety == "reboots":
        after = ""  # the word says it
    yield Para(f"fix ({fix.safety}{after}): {fix.text}", "  ")
    yield from command_block(fix.beside_text, "      ")
    yield Para(("verify: ", Code(clean(fix.verify) or f"rocdoctor check {name}")), "  ", folded=False)


def command_block(command: str, indent: str) -> Iterator[Block]:
    """A command as it is: nothing breaks it. A parameter of the kernel is no command."""
    if is_kernel_parameter(command):
        yield Para(("kernel parameter: ", Code(command)), indent, folded=False)
    elif command:
        yield CommandLines(((command,),), indent=indent)


def _headline(diagnosis: Diagnosis) -> Iterator[Block]:
    said = headline(diagnosis)
    yield Para(said.text, bold=True)
    yield from command_block(said.command, "    ")
    if said.because:
        yield Para(f"because of {said.because} (below)", "  ", "    ")


_CERTAINTY = {"certain": "Cause", "likely": "Likely cause", "possible": "Possible cause"}


def _cause(diagnosis: Diagnosis) -> Iterator[Block]:
    """What is wrong, then the first step of its remedy; the whole remedy stands with the finding."""
    main = diagnosis.causes[0] if diagnosis.causes else None
    if diagnosis.open:
        yield Para(left_open(diagnosis), bold=True)
        for one in diagnosis.causes:
            yield Para(f"{cause_title(one.cause)} ({one.cause})", "  ", "    ", item=True)
        yield Para("Do first: run the commands at the end of this report, which tell them apart", "", "  ")
        return
    if main is None or main.finding is None or main.finding.fix is None:
        if diagnosis.worst in (None, "info"):
            yield Para(_nothing_in_text(diagnosis), bold=True)
        else:
            yield from _headline(diagnosis)
        return
    kind = "Not the machine, it seems" if main.cause == "not-environment" else _CERTAINTY[main.confidence]
    yield Para(f"{kind}: {one_line(sentence(main.message, main.subjects))}", "", "  ", bold=True)
    yield Para(f"Do first: {first_step(main.finding.fix.text)}", "", "  ")
    yield from command_block(main.finding.fix.beside_text, "    ")


def left_open(diagnosis: Diagnosis) -> str:
    """That the causes of a diagnosis are what a text leaves, in one sentence."""
    if len(diagnosis.causes) == 1:
        return "This text does not show the cause. The likeliest, which is only possible:"
    return f"This text does not show the cause. {len(diagnosis.causes)} causes are possible, the likeliest first:"


def outcome_words(one: StepOutcome) -> str:
    """What a command may show and what that means: the words of the row where it has some, else the cause."""
    shown, _, meaning = one_line(one.shows).partition(", so ")
    return f"if {shown}: {meaning or (cause_title(one.cause) if one.cause else 'none of these causes')}"


def _nothing_in_text(diagnosis: Diagnosis) -> str:
    if diagnosis.count("unknown") > diagnosis.count("pass"):
        return "Nothing in this text points to a fault of the machine, but it says little about it (see below)."
    return "Nothing in this text points to a fault of the machine."


def first_step(text: str) -> str:
    """The first sentence or clause of a remedy: whole remedies are too much to read at the start."""
    return re.split(r"(?<=[a-z)\]])[.;] ", one_line(text), maxsplit=1)[0].rstrip(".")


def _closing(diagnosis: Diagnosis, pasted: bool, everything: bool) -> Iterator[Block]:
    yield Para(_counts(diagnosis, pasted, everything))
    for one in diagnosis.verdicts:
        if one.state == "crashed":
            words = f"the check {one.check} broke on {one_line(one.subject.label)}: {one_line(one.why)}"
            yield Para(words, "  ", "    ", item=True)
    for problem in diagnosis.problems:
        yield Para(f"note: {one_line(problem)}", "  ", "    ", item=True)
    for line in unanswered_lines(diagnosis.machine.unanswered, everything):
        yield Para(line, "", "  ")
    if diagnosis.threads:
        yield GAP
        yield Heading("Similar reports were settled in:")
        for thread in diagnosis.threads:
            yield Para(Code(thread.address), "  ", folded=False)
            yield Para(f"{thread.settled} (so the {thread.by})", "      ")
    if diagnosis.next:
        yield GAP
        yield Heading(
            "To find out more, run on that machine and add what it prints:" if pasted else "To find out more:"
        )
        for step in diagnosis.next:
            yield from command_block(step.command, "  ")
            yield Para(step.why, "      ")
            for outcome in step.outcomes:
                yield Para(outcome_words(outcome), "        ", "          ", item=True)


def _counts(diagnosis: Diagnosis, pasted: bool, listed: bool) -> str:
    """Findings by severity as they stand above, then what the checks said of each subject."""
    shown = Counter(found.severity for found, _, _ in grouped(diagnosis.verdicts))
    findings = [_number(shown[severity], _NAMES[severity]) for severity in SEVERITIES if shown[severity]]
    counts = [(diagnosis.count(state), words) for state, words in (_STATES_OF_TEXT if pasted else _STATES)]
    checks = ", ".join(f"{number} {words}" for number, words in counts if number)
    if listed:
        checks = checks.replace(_MORE, "").replace(_ALSO, "")
    found = f"Found: {', '.join(findings)}. " if findings else ""
    return f"{found}{'Checks' if pasted else 'Verdicts'}: {checks}." if checks else found.strip()


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


_NAMES = {"error": "error", "warning": "warning", "info": "note"}
_MORE, _ALSO = " (--verbose lists them)", "; --verbose lists them"
_STATES = (
    ("pass", "passed"),
    ("unknown", f"unknown (not enough evidence{_ALSO})"),
    ("not-applicable", "not applicable"),
    ("crashed", "crashed"),
)


_STATES_OF_TEXT = (
    ("pass", "passed"),
    ("unknown", f"cannot tell from this text{_MORE}"),
    ("not-applicable", "do not apply"),
    ("crashed", "crashed"),
)


def _silent(diagnosis: Diagnosis) -> Iterator[Block]:
    """The checks without a finding: unknown and not applicable ones with the reason, then those that passed."""
    found: list[str] = []
    for state in ("unknown", "not-applicable"):
        groups: dict[tuple[str, str], list[Subject]] = {}
        for verdict in diagnosis.verdicts:
            if verdict.state == state:
                groups.setdefault((verdict.check, one_line(verdict.why)), []).append(verdict.subject)
        for (name, why), subjects in groups.items():
            where = "" if is_whole(subjects) else f" {subject_parts(subjects)[0]}"
            found.append(f"{state}: {name}{where}: {why}")
    passed = list(dict.fromkeys(verdict.check for verdict in diagnosis.verdicts if verdict.state == "pass"))
    found += [f"passed: {', '.join(passed)}"] if passed else []
    if found:
        yield GAP
    yield from (Para(line, "  ", "    ", item=True) for line in found)
