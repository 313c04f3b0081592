"""How sure a finding may be at most, by who says what it stands on.

The rule, for the evidence of a finding:

* every fact that it cites must hold, so the weakest counts;
* of several messages of programs each would do, so the strongest counts;
* what stands only in words ("I have an RX 580"), in a quotation or in somebody's reply makes a finding at most
  ``possible``; outputs, settings in code, commands and filled-in forms leave it as it is.

A finding without evidence, and evidence of a machine itself, are not touched.
"""

from __future__ import annotations

from dataclasses import replace

from rocdoctor.model.facts import Machine, Passage
from rocdoctor.model.finding import Evidence, Finding

_MESSAGES = "text"  # the question that holds the messages of programs
_RANK = ("program", "words", "reply")


def capped(machine: Machine, found: Finding) -> Finding:
    """The finding with the voice of each piece of its evidence, and a confidence that these allow."""
    if not machine.passages or not found.evidence:
        return found
    evidence = tuple(replace(one, voice=voice_of(machine.passages, one)) for one in found.evidence)
    lines = {message.line for message in machine.messages}
    messages = [one.voice for one in evidence if one.source == _MESSAGES and one.line in lines]
    others = [one.voice for one in evidence if not (one.source == _MESSAGES and one.line in lines)]
    decisive = [*others, *([min(messages, key=_RANK.index)] if messages else [])]
    if all(voice == "program" for voice in decisive):
        return replace(found, evidence=evidence)
    return replace(found, evidence=evidence, confidence="possible")


def voice_of(passages: tuple[Passage, ...], evidence: Evidence) -> str:
    """Whose words the line of an evidence is: of the first passage that holds it."""
    for one in passages:
        if one.question == evidence.source and one.first <= (evidence.line or 0) <= one.last:
            return one.voice
    return "program"
