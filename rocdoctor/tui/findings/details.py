"""What a finding's page needs beside the verdicts: the manual page, and the lines of the evidence. Slow; no screen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rocdoctor.host.base import Answer, Host
from rocdoctor.model.finding import Diagnosis, Evidence, NextStep
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.question_commands import command_of
from rocdoctor.model.shell_command import ShellCommand, shell
from rocdoctor.tui.findings.excerpt import Excerpt, excerpt, merged
from rocdoctor.tui.findings.findings_list import Row

_ASKED = regex(r"((?:read|run|list|stat|space|link|open|env|python)\b[^:]{0,300}?): ")


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


def look_up(host: Host, row: Row, diagnosis: Diagnosis) -> Details:
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


def steps_for(host: Host, row: Row, diagnosis: Diagnosis) -> tuple[NextStep, ...]:
    """What would answer an unknown verdict, as far as it is known: never invented."""
    steps: list[NextStep] = []
    why = row.why
    if "kernel log" in why:
        steps += [step for step in diagnosis.next if "dmesg" in step.command]
    if re.search(r"torch|python|interpreter", why):
        steps += [step for step in diagnosis.next if "--python" in step.command]
    if host.kind == "live" and "torch was not imported" in why:
        steps.append(
            NextStep(
                shell("rocdoctor check {check} --import-torch", check=row.check),
                "it imports torch, and then it is known",
            )
        )
    if re.search(r"sleep|suspend", why):
        steps += [step for step in diagnosis.next if "--wake" in step.command]
    asked = _ASKED.match(why)
    command = command_of(asked[1]) if asked else ShellCommand("")
    if command and "no such file" not in why:
        where = "on this machine" if host.kind == "live" else "asked on that machine"
        steps.append(NextStep(command, f"{where}, this is the question that has no answer here"))
    if host.kind == "text" and not steps:
        from rocdoctor.judging.next_steps import missing_outputs

        cause = diagnosis.causes[0].cause if diagnosis.causes else ""
        steps += missing_outputs(diagnosis.machine, host.available(), cause)
    elif host.kind != "live" and re.search(r"evidence|does not cover|in this text", why):
        steps.append(NextStep("rocdoctor bundle", "on that machine: it records everything that rocdoctor asks"))
    return tuple(dict.fromkeys(steps))


def reads_itself(row: Row) -> bool:
    """Whether it was judged by what this very process was started with, which no fix elsewhere changes.

    Variables, limits and groups of a process are those of its start.
    """
    sources = [one.source for member in row.members if member.finding for one in member.finding.evidence]
    return any(one == "env" or one.startswith(("read /proc/self/", "open ")) for one in sources)
