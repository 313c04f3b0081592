"""The report for a terminal: what to do first, then the findings, then what is unknown."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

from rocdoctor.check import SEVERITIES, Evidence, Finding, Verdict
from rocdoctor.diagnose import Diagnosis
from rocdoctor.report.summary import machine_lines

_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-Z\\-_]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_COLOURS = {"error": "31;1", "warning": "33", "info": "36"}


def clean(text: str) -> str:
    """Text from outside without anything that could drive a terminal."""
    return _ESCAPES.sub("", text)


class Style:
    """Colours when they are wanted, nothing otherwise: no word depends on them."""

    def __init__(self, colour: bool) -> None:
        self.colour = colour

    def __call__(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and code else text


def subjects_text(labels: Iterable[str]) -> str:
    """Subjects in few words: ``gpu 0-7`` with the PCI addresses behind, as they were named otherwise."""
    labels = list(dict.fromkeys(labels))
    numbered = [re.fullmatch(r"gpu (\d+)(?: \(([^)]*)\))?", label) for label in labels]
    if len(labels) < 2 or not all(numbered):
        return ", ".join(labels)
    numbers = sorted(int(found[1]) for found in numbered if found)
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    short = ",".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)
    addresses = [found[2] for found in numbered if found and found[2]]
    return f"gpu {short}" + (f" ({', '.join(addresses)})" if addresses else "")


def grouped(verdicts: Iterable[Verdict]) -> list[tuple[Finding, str, list[str]]]:
    """(finding, check, subjects): the same finding on several subjects is one."""
    groups: dict[tuple[str, str, str], tuple[Finding, str, list[str]]] = {}
    for verdict in verdicts:
        if verdict.finding is not None:
            key = (verdict.check, verdict.finding.severity, verdict.finding.message)
            groups.setdefault(key, (verdict.finding, verdict.check, []))[2].append(verdict.subject)
    return sorted(groups.values(), key=lambda one: SEVERITIES.index(one[0].severity))


def _wrap(text: str, width: int, indent: str) -> list[str]:
    lines: list[str] = []
    for part in clean(text).split("\n"):
        lines += textwrap.wrap(
            part, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        ) or [""]
    return lines


def evidence_lines(evidence: Iterable[Evidence], width: int) -> list[str]:
    """Value and source side by side, values aligned."""
    rows = [(clean(one.value)[:90], one.source + (f":{one.line}" if one.line else "")) for one in evidence]
    left = min(max((len(value) for value, _ in rows), default=0), 44)
    return [f"    {value:<{left}}  {source}"[: max(width, 60) + 40].rstrip() for value, source in rows]


def finding_lines(found: Finding, name: str, subjects: list[str], width: int, style: Style) -> list[str]:
    """One finding as the design shows it."""
    head = f"{style(f'{found.severity:<7}', _COLOURS[found.severity])} {style(name, '1')}"
    lines = [f"{head}  {subjects_text(subjects)}", *_wrap(found.message, width, "  ")]
    lines += evidence_lines(found.evidence[:4], width)
    if len(found.evidence) > 4:
        lines.append(f"    ... and {len(found.evidence) - 4} more")
    if found.fix is not None:
        fix = found.fix
        after = {"new-login": ", needs a new login", "reboot": ", needs a reboot", "now": ""}[fix.effective]
        lines += _wrap(f"fix ({fix.safety}{after}): {fix.text}", width, "  ")
        if fix.command and fix.command not in fix.text:
            lines.append(f"      {clean(fix.command)}")
        lines.append(f"  verify: {clean(fix.verify) or f'rocdoctor check {name}'}")
    lines.append(f"  more: rocdoctor explain {name}")
    return lines


def first_line(diagnosis: Diagnosis) -> str:
    """The one thing to do first, or that there is nothing."""
    if diagnosis.causes:
        main = diagnosis.causes[0]
        return f"Do first: {main.remedy or main.message}"
    failed = [verdict for verdict in diagnosis.verdicts if verdict.finding is not None]
    if any(verdict.finding is not None and verdict.finding.severity != "info" for verdict in failed):
        found = grouped(failed)[0][0]
        return f"Do first: {found.fix.text if found.fix else found.message}"
    machine = diagnosis.machine
    usable = [gpu for gpu in machine.gpus if gpu.vendor in ("amd", "nvidia")]
    if not usable and machine.gpus_complete:
        return "Nothing to fix. No AMD or NVIDIA GPU here: training runs on the CPU (gloo back end)."
    if not usable:
        return "Nothing to fix in this evidence. It shows no AMD or NVIDIA GPU."
    if diagnosis.count("unknown") > diagnosis.count("pass"):
        return "Nothing wrong in what this evidence shows, which is little: see what is unknown below."
    return "Nothing to fix."


def render(diagnosis: Diagnosis, *, width: int = 100, colour: bool = False, quiet: bool = False) -> str:
    """The whole report."""
    style = Style(colour)
    lines = [style(line, "1") for line in _wrap(first_line(diagnosis), width, "")]
    if not quiet:
        lines += ["", *(clean(line)[:200] for line in machine_lines(diagnosis.machine))]
    groups = grouped(diagnosis.verdicts)
    for found, name, subjects in groups:
        if quiet and found.severity == "info":
            continue
        lines += ["", *finding_lines(found, name, subjects, width, style)]
    if not quiet:
        lines += ["", *_wrap(_counts(diagnosis), width, "")]
        crashed = [verdict for verdict in diagnosis.verdicts if verdict.state == "crashed"]
        lines += [f"  the check {one.check} broke on {one.subject}: {clean(one.why)}" for one in crashed]
        lines += [f"  note: {clean(problem)}" for problem in diagnosis.problems]
        if diagnosis.next:
            lines += ["", "To know more:"]
            for step in diagnosis.next:
                lines += [f"  {clean(step.command)}", *_wrap(step.why, width, "      ")]
    return "\n".join(lines) + "\n"


def _counts(diagnosis: Diagnosis) -> str:
    counts = [(diagnosis.count(state), words) for state, words in _STATES]
    return "Checks: " + ", ".join(f"{number} {words}" for number, words in counts if number) + "."


_STATES = (
    ("pass", "passed"), ("fail", "failed"), ("unknown", "unknown (not enough evidence)"),
    ("not-applicable", "not applicable"), ("crashed", "crashed"),
)  # fmt: skip
