"""Findings that rest on the words of people alone: no output of a program, no log, no setting shows what they say.

Such a finding is at most a warning. Where the whole text is sentences it stands only if they tell of trouble of the
machine: people also tell what works, ask what to buy, or complain of something else on the same desk.

Where the writer says at the end that the trouble is over, what the text shows is a note, and no cause.
"""

from __future__ import annotations

from dataclasses import replace

from rocdoctor.knowledge.messages.program_errors import told_by_people
from rocdoctor.knowledge.messages.told import MENDED, SOUND, TROUBLE
from rocdoctor.model.facts import Machine
from rocdoctor.model.finding import Finding, Verdict
from rocdoctor.model.of_same import of_same

_MESSAGES = "text"  # the question that holds the messages of programs
_PRINTED = "torch-sees-no-gpu"  # what a program answered, told in the words of the sentence
_WHY = "said only in words, and not about a problem of the machine"


def weighed(machine: Machine, verdict: Verdict) -> Verdict:
    """The verdict, held back or milder where its finding rests on words alone."""
    found = verdict.finding
    if found is None or found.severity == "info":
        return verdict
    if MENDED in _kinds(machine):
        return replace(verdict, finding=replace(found, severity="info"))
    if not _in_words(found):
        return verdict
    if machine.told.alone and not _of_trouble(machine, found):
        return replace(verdict, state="not-applicable", finding=None, why=_WHY)
    return replace(verdict, finding=replace(found, severity="warning"))


@of_same
def _kinds(machine: Machine) -> frozenset[str]:
    return frozenset(one.kind for one in machine.messages)


def _in_words(found: Finding) -> bool:
    """Whether all evidence is of the text, and none of it what a program prints."""
    return bool(found.evidence) and all(
        one.source == _MESSAGES and (told_by_people(one.kind) if one.kind else found.undecided)
        for one in found.evidence
    )


def _of_trouble(machine: Machine, found: Finding) -> bool:
    """Whether the text tells of trouble of the machine; for what only resembles, no word that it is sound is enough."""
    present = _kinds(machine)
    return bool(present & {TROUBLE, _PRINTED}) or (found.undecided and SOUND not in present)
