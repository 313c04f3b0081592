"""The report for a terminal: what to do first, then the findings, then what is unknown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from rocdoctor.judging.subjects import grouped, is_whole, subject_parts, subjects_text
from rocdoctor.model.finding import SEVERITIES, Diagnosis, Evidence, Finding, Fix
from rocdoctor.model.printable import clean, one_line
from rocdoctor.model.subject import Subject
from rocdoctor.report.diagnosis.headline import headline
from rocdoctor.report.diagnosis.unanswered import unanswered_lines
from rocdoctor.report.evidence_words import evidence_place
from rocdoctor.report.machine.summary import HEAD, machine_lines
from rocdoctor.report.text import Style, wrap

_COLOURS = {"error": "31;1", "warning": "33", "info": "36"}
_MAX_VALUE = 160
_MAX_EVIDENCE = 4


def evidence_lines(evidence: Iterable[Evidence], width: int) -> list[str]:
    """Value and source side by side, values aligned; where both do not fit, the source stands below."""
    rows = [(one_line(one.value), evidence_place(one)) for one in evidence]
    left = min(max((len(value) for value, _ in rows), default=0), width // 2 - 4)
    lines: list[str] = []
    for value, source in rows:
        beside = f"    {value:<{left}}  {source}".rstrip()
        if len(beside) <= width:
            lines.append(beside)
        else:
            short = value if len(value) <= _MAX_VALUE else value[: _MAX_VALUE - 3] + "..."
            lines += [*wrap(short, width, "    ", "      "), *wrap(f"from {source}" if source else "", width, "      ")]
    return [line for line in lines if line.strip()]


def finding_lines(found: Finding, name: str, subjects: list[Subject], width: int, style: Style) -> list[str]:
    """One finding as the design shows it."""
    lines = _head(found, name, subjects, width, style)
    lines += wrap(found.message, width, "  ")
    lines += evidence_lines(found.evidence[:_MAX_EVIDENCE], width)
    if len(found.evidence) > _MAX_EVIDENCE:
        lines.append(f"    ... and {len(found.evidence) - _MAX_EVIDENCE} more")
    if found.confidence == "possible" and found.severity != "info":
        spoken = any(one.voice != "program" for one in found.evidence)
        why = "what is said in words, not an output" if spoken else "this evidence, which fits other causes too"
        lines += wrap(f"only possible: it rests on {why}", width, "  ")
    if found.fix is not None:
        lines += _fix_lines(found.fix, name, width)
    lines.append(f"  more: rocdoctor explain {name}")
    return lines


def _head(found: Finding, name: str, subjects: list[Subject], width: int, style: Style) -> list[str]:
    short, addresses = subject_parts(subjects)
    plain = f"{found.severity:<7} {name}  "
    head = f"{style(f'{found.severity:<7}', _COLOURS[found.severity])} {style(name, '1')}  "
    whole = subjects_text(subjects)
    if len(plain + whole) <= width:
        return [head + whole]
    if addresses:
        return [head + short, *wrap("at " + ", ".join(addresses), width, "  ", "     ")]
    first, *rest = wrap(short, width, " " * len(plain), " " * len(plain))
    return [head + first.lstrip(), *rest]


def _fix_lines(fix: Fix, name: str, width: int) -> list[str]:
    after = {"new-login": ", needs a new login", "reboot": ", needs a reboot", "now": ""}[fix.effective]
    if fix.safety == "reboots":
        after = ""  # the word says it
    lines = wrap(f"fix ({fix.safety}{after}): {fix.text}", width, "  ")
    if fix.beside_text:
        lines.append(f"      {clean(fix.beside_text)}")
    return [*lines, f"  verify: {clean(fix.verify) or f'rocdoctor check {name}'}"]


def render(
    diagnosis: Diagnosis,
    *,
    width: int = 100,
    colour: bool = False,
    quiet: bool = False,
    verbose: bool = False,
    pasted: bool = False,
) -> str:
    """The whole report; ``quiet`` leaves only what is wrong, ``verbose`` adds the checks that found nothing.

    ``pasted``: of a text that somebody else may have sent, so the cause stands first and the machine is "that" one.
    """
    style = Style(colour)
    lines = _cause_lines(diagnosis, width, style) if pasted else _headline_lines(diagnosis, width, style)
    if not quiet:
        lines.append("")
        for line in diagnosis.card or machine_lines(diagnosis.machine):
            lines += wrap(line, width, "", " " * (HEAD + 1))
    for found, name, subjects in grouped(diagnosis.verdicts):
        if not (quiet and found.severity == "info"):
            lines += ["", *finding_lines(found, name, subjects, width, style)]
    if not quiet:
        lines += ["", *_closing_lines(diagnosis, width, pasted, verbose)]
        if verbose:
            lines += _silent_lines(diagnosis, width)
    return "\n".join(lines) + "\n"


def _headline_lines(diagnosis: Diagnosis, width: int, style: Style) -> list[str]:
    said = headline(diagnosis)
    lines = [style(line, "1") for line in wrap(said.text, width, "")]
    if said.command:
        lines.append(f"    {clean(said.command)}")
    if said.because:
        lines += wrap(f"because of {said.because} (below)", width, "  ", "    ")
    return lines


_CERTAINTY = {"certain": "Cause", "likely": "Likely cause", "possible": "Possible cause"}


def _cause_lines(diagnosis: Diagnosis, width: int, style: Style) -> list[str]:
    """What is wrong, then the first step of its remedy; the whole remedy stands with the finding."""
    main = diagnosis.causes[0] if diagnosis.causes else None
    if main is None or main.finding is None or main.finding.fix is None:
        if diagnosis.worst in (None, "info"):
            return [style(line, "1") for line in wrap(_nothing_in_text(diagnosis), width, "")]
        return _headline_lines(diagnosis, width, style)
    kind = "Not the machine, it seems" if main.cause == "not-environment" else _CERTAINTY[main.confidence]
    lines = [style(line, "1") for line in wrap(f"{kind}: {one_line(main.message)}", width, "", "  ")]
    lines += wrap(f"Do first: {first_step(main.finding.fix.text)}", width, "", "  ")
    if main.finding.fix.beside_text:
        lines.append(f"    {clean(main.finding.fix.beside_text)}")
    return lines


def _nothing_in_text(diagnosis: Diagnosis) -> str:
    if diagnosis.count("unknown") > diagnosis.count("pass"):
        return "Nothing in this text points to a fault of the machine, but it shows only little of it (see below)."
    return "Nothing in this text points to a fault of the machine."


def first_step(text: str) -> str:
    """The first sentence or clause of a remedy: whole remedies are too much to read at the start."""
    return re.split(r"(?<=[a-z)\]])[.;] ", one_line(text), maxsplit=1)[0].rstrip(".")


def _closing_lines(diagnosis: Diagnosis, width: int, pasted: bool = False, everything: bool = False) -> list[str]:
    lines = wrap(_counts_of_text(diagnosis) if pasted else _counts(diagnosis), width, "")
    crashed = [verdict for verdict in diagnosis.verdicts if verdict.state == "crashed"]
    for one in crashed:
        lines += wrap(
            f"the check {one.check} broke on {one_line(one.subject.label)}: {one_line(one.why)}", width, "  ", "    "
        )
    for problem in diagnosis.problems:
        lines += wrap(f"note: {one_line(problem)}", width, "  ", "    ")
    for line in unanswered_lines(diagnosis.machine.unanswered, everything):
        lines += wrap(line, width, "", "  ")
    if diagnosis.next:
        more = "To know more, run on that machine and add what it prints:" if pasted else "To know more:"
        lines += ["", more]
        for step in diagnosis.next:
            lines += [f"  {clean(step.command)}", *wrap(step.why, width, "      ")]
    return lines


def _counts(diagnosis: Diagnosis) -> str:
    """Findings by severity as they stand above, then what the checks said of each subject."""
    shown = Counter(found.severity for found, _, _ in grouped(diagnosis.verdicts))
    findings = [_number(shown[severity], _NAMES[severity]) for severity in SEVERITIES if shown[severity]]
    counts = [(diagnosis.count(state), words) for state, words in _STATES]
    checks = ", ".join(f"{number} {words}" for number, words in counts if number)
    return " ".join(
        [f"Found: {', '.join(findings)}." if findings else "", f"Verdicts: {checks}." if checks else ""]
    ).strip()


def _counts_of_text(diagnosis: Diagnosis) -> str:
    shown = Counter(found.severity for found, _, _ in grouped(diagnosis.verdicts))
    findings = [_number(shown[severity], _NAMES[severity]) for severity in SEVERITIES if shown[severity]]
    counts = [(diagnosis.count(state), words) for state, words in _STATES_OF_TEXT]
    checks = ", ".join(f"{number} {words}" for number, words in counts if number)
    found = f"Found: {', '.join(findings)}. " if findings else ""
    return f"{found}Checks: {checks}." if checks else found.strip()


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


_NAMES = {"error": "error", "warning": "warning", "info": "note"}
_STATES = (
    ("pass", "passed"),
    ("unknown", "unknown (not enough evidence; --verbose lists them)"),
    ("not-applicable", "not applicable"),
    ("crashed", "crashed"),
)


_STATES_OF_TEXT = (
    ("pass", "passed"),
    ("unknown", "cannot tell from this text (--verbose lists them)"),
    ("not-applicable", "do not apply"),
    ("crashed", "crashed"),
)


def _silent_lines(diagnosis: Diagnosis, width: int) -> list[str]:
    """The checks without a finding: unknown and not applicable ones with the reason, then those that passed."""
    lines: list[str] = []
    for state in ("unknown", "not-applicable"):
        groups: dict[tuple[str, str], list[Subject]] = {}
        for verdict in diagnosis.verdicts:
            if verdict.state == state:
                groups.setdefault((verdict.check, one_line(verdict.why)), []).append(verdict.subject)
        for (name, why), subjects in groups.items():
            where = "" if is_whole(subjects) else f" {subject_parts(subjects)[0]}"
            lines += wrap(f"{state}: {name}{where}: {why}", width, "  ", "    ")
    passed = list(dict.fromkeys(verdict.check for verdict in diagnosis.verdicts if verdict.state == "pass"))
    if passed:
        lines += wrap(f"passed: {', '.join(passed)}", width, "  ", "    ")
    return ["", *lines] if lines else []
