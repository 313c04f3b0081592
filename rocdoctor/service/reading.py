"""The diagnosis of a pasted text: its lines, what was recognised in it, and the reply to who posted it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rocdoctor.collect import collect
from rocdoctor.host.base import Host
from rocdoctor.insight.texts.likeness import hinted_causes
from rocdoctor.insight.texts.open_symptoms import marks, telling_apart
from rocdoctor.insight.texts.settled_threads import settled_threads
from rocdoctor.judging.check import Check
from rocdoctor.judging.diagnose import diagnose
from rocdoctor.judging.next_steps import missing_outputs, with_missing
from rocdoctor.model.finding import Diagnosis, Evidence, Finding
from rocdoctor.model.question import Question
from rocdoctor.paste import TextHost
from rocdoctor.report.diagnosis.reply import Recognised
from rocdoctor.service.session import read_from


def judged(host: Host, checks: Sequence[Check], problems: Sequence[str] = ()) -> Diagnosis:
    """The diagnosis; of a pasted text with the questions that it leaves open."""
    diagnosis = diagnose(collect(host), checks, [*problems, *read_from(host)])
    if host.kind != "text":
        return with_missing(diagnosis, host.kind)
    main = diagnosis.causes[0].cause if diagnosis.causes else ""
    causes = [one.cause for one in diagnosis.causes]
    told = telling_apart(diagnosis.machine, causes) if diagnosis.open or not causes else ()
    if not causes and not told:
        told = marks(hinted_causes(diagnosis.machine))
    known = {step.command for step in (*diagnosis.next, *told)}
    more = [step for step in missing_outputs(diagnosis.machine, host.available(), main) if step.command not in known]
    more = [*told, *more]
    return replace(diagnosis, next=(*diagnosis.next, *more), threads=settled_threads(diagnosis))


def with_lines_of_text(diagnosis: Diagnosis, host: Host) -> Diagnosis:
    """The same with evidence of a pasted text placed by the lines of the text, which people have before them."""
    base = getattr(host, "inner", host)
    if not isinstance(base, TextHost):
        return diagnosis

    def placed(one: Evidence) -> Evidence:
        lines = base.places.get(one.source, [])
        if one.source == "text" and one.line is not None:
            return replace(one, source=f"line {one.line}", line=None)
        if one.line is not None and 0 < one.line <= len(lines):
            return replace(one, source=f"line {lines[one.line - 1]}", line=None)
        return replace(one, source="tables of rocdoctor") if Question.of(one.source).verb == "table" else one

    def found(one: Finding) -> Finding:
        return replace(one, evidence=tuple(placed(each) for each in one.evidence))

    verdicts = tuple(
        one if one.finding is None else replace(one, finding=found(one.finding)) for one in diagnosis.verdicts
    )
    causes = tuple(one if one.finding is None else replace(one, finding=found(one.finding)) for one in diagnosis.causes)
    return replace(diagnosis, verdicts=verdicts, causes=causes)


def recognised(host: Host) -> list[dict[str, object]]:
    """Every part of a pasted text that was recognised: its question, role, and first and last line."""
    base = getattr(host, "inner", host)  # --add lays answers over the text
    if not isinstance(base, TextHost):
        return []
    return [
        {"question": part.question, "role": part.role, "first_line": min(part.numbers), "last_line": max(part.numbers)}
        for part in base.recognised
    ]


def named_parts(parts: list[dict[str, object]]) -> list[Recognised]:
    return [
        Recognised(
            _words(part),
            int(str(part["first_line"])),
            int(str(part["last_line"])),
            "" if part["role"] == "now" else _ROLES[str(part["role"])],
        )
        for part in parts
    ]


def _words(part: dict[str, object]) -> str:
    question = str(part["question"])
    return _NAMES.get(question, question.removeprefix("run ").removeprefix("read "))


def listing(parts: list[dict[str, object]]) -> str:
    """The parts for people; of a long text the first ones."""
    if not parts:
        return "\nNothing in this text was recognised as evidence about a machine.\n"
    rows = []
    for part in parts[:40]:
        first, last = part["first_line"], part["last_line"]
        place = f"line {first}" if first == last else f"lines {first}-{last}"
        aside = "" if part["role"] == "now" else f"  (not used: {_ROLES[str(part['role'])]})"
        rows.append(f"  {place:<16} {_words(part)}{aside}\n")
    more = f"  and {len(parts) - 40} more\n" if len(parts) > 40 else ""
    return "\nRecognised in this text:\n" + "".join(rows) + more


_ROLES = {
    "tried": "was tried or taken back",
    "advice": "advice",
    "other": "another machine, a quotation or a comparison",
}

_NAMES = {
    "stated": "names of cards, systems and versions",
    "env": "environment variables",
    "commands": "commands that start or install something",
    "log nccl": "log of NCCL or RCCL",
    "log torch": "log of a training job",
    "dump torch": "dump of torch's flight recorder",
}
