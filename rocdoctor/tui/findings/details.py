"""What a finding's page needs beside the verdicts: the manual page, and the lines of the evidence. Slow; no screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rocdoctor.host.base import Answer, Host
from rocdoctor.judging.next_steps import missing_outputs, topic_of
from rocdoctor.model.evidence import Known, Unknown
from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import Diagnosis, Evidence, NextStep
from rocdoctor.model.question import Question
from rocdoctor.model.question_commands import command_of
from rocdoctor.model.shell_command import ShellCommand, shell
from rocdoctor.tui.findings.excerpt import Excerpt, excerpt, merged
from rocdoctor.tui.findings.findings_list import FindingsRow

# A question that was put, or that nobody put, and that has no answer here.
_OPEN = ("denied", "timeout", "failed", "not-asked")


@dataclass(frozen=True, slots=True)
class Shown:
    """The values that were read from one source, and the lines in which they stand."""

    source: str
    evidence: tuple[Evidence, ...]
    excerpt: Excerpt


@dataclass(frozen=True, slots=True)
class Details:
    """``manual``: the check's own page; ``shown``: the first subject's evidence; ``steps``: what would tell more."""

    manual: str = ""
    shown: tuple[Shown, ...] = ()
    steps: tuple[NextStep, ...] = ()


def recorded(host: Host, question: str) -> Answer | None:
    """The answer that was given when the machine was judged; a live machine is not asked anew."""
    from rocdoctor.host.overlay import OverlayHost
    from rocdoctor.host.recorder import Recorder

    if isinstance(host, OverlayHost):
        return host.answers.get(question) or recorded(host.inner, question)
    if isinstance(host, Recorder):
        return host.answers.get(question)
    return None if host.kind == "live" else host.ask(question)


def look_up(host: Host, row: FindingsRow, diagnosis: Diagnosis) -> Details:
    """Read the page and the lines."""
    from rocdoctor.service.session import chosen_checks

    try:
        checks, _ = chosen_checks((row.check,), ())
        manual = checks[0].manual if checks else ""
    except Exception:  # a check that was in the user's folder and is gone: the finding stands without its page
        manual = ""
    found = row.finding
    shown = tuple(_shown(host, found.evidence)) if found is not None else ()
    return Details(manual, shown, steps_for(host, row, diagnosis) if row.state == "unknown" else ())


def _shown(host: Host, evidence: Sequence[Evidence]) -> list[Shown]:
    groups: dict[str, list[Evidence]] = {}
    for one in evidence:
        groups.setdefault(one.source, []).append(one)
    answers = {source: recorded(host, source) if source else None for source in groups}
    return [
        Shown(source, tuple(those), merged([excerpt(one, answers[source]) for one in those]))
        for source, those in groups.items()
    ]


def steps_for(host: Host, row: FindingsRow, diagnosis: Diagnosis) -> tuple[NextStep, ...]:
    """What would answer an unknown verdict, as far as it is known: never invented."""
    gap = row.members[0].gap
    if gap is None:
        return ()
    topic = topic_of(diagnosis.machine, gap)
    steps = [step for step in diagnosis.next if step.answers == topic]
    unimported = topic == "interpreter" and _not_imported(diagnosis.machine, gap)
    if host.kind == "live" and unimported:
        steps.append(
            NextStep(
                shell("rocdoctor check {check} --import-torch", check=row.check),
                "Imports torch, which shows it",
            )
        )
    command = command_of(gap.source.question) if gap.source is not None and gap.reason in _OPEN else ShellCommand("")
    if command and topic != "kernel-log":
        why = "Run it on this machine: it" if host.kind == "live" else "Run it on that machine: it"
        steps.append(NextStep(command, f"{why} answers the open question"))
    if host.kind == "text" and not steps:
        cause = diagnosis.causes[0].cause if diagnosis.causes else ""
        steps += missing_outputs(diagnosis.machine, host.available(), cause)
    elif host.kind != "live" and gap.reason == "not-asked" and not unimported:  # a bundle does not import it either
        steps.append(NextStep("rocdoctor bundle", "Run it on that machine: it records everything that rocdoctor asks"))
    return tuple(dict.fromkeys(steps))


def _not_imported(machine: Machine, gap: Unknown) -> bool:
    """Whether importing torch would tell: the interpreter has answered, and was not asked to."""
    return isinstance(machine.torch.interpreter, Known) and gap.reason == "not-asked"


def reads_itself(row: FindingsRow) -> bool:
    """Whether it was judged by what this very process was started with, which no fix elsewhere changes.

    Variables, limits and groups of a process are those of its start.
    """
    asked = [Question.of(one.source) for member in row.members if member.finding for one in member.finding.evidence]
    return any(one.verb in ("env", "open") or one.path.startswith("/proc/self/") for one in asked)
