"""How sure a finding may be at most, by who says what it stands on.

The rule, for the evidence of a finding:

* every fact that it cites must hold, so the weakest counts;
* of several messages of programs each would do, so the strongest counts;
* what stands only in words ("I have an RX 580"), in a quotation or in somebody's reply makes a finding at most
  ``possible``; outputs, settings in code, commands and filled-in forms leave it as it is.

A finding without evidence, and evidence of a machine itself, are not touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rocdoctor.model.facts import Machine, Message, Passage
from rocdoctor.model.facts.software import Voice
from rocdoctor.model.finding import Finding
from rocdoctor.model.of_same import of_same

_MESSAGES = "text"  # the question that holds the messages of programs
_RANK = ("program", "words", "reply")
_LONG = 40  # lines of a passage above which they are not kept one by one


def capped(machine: Machine, found: Finding) -> Finding:
    """The finding with the voice of each piece of its evidence, and a confidence that these allow."""
    if not machine.passages or not found.evidence:
        return found
    voices, lines = _voices(machine.passages), _lines(machine.messages)
    evidence = tuple(replace(one, voice=voices.of(one.source, one.line or 0)) for one in found.evidence)
    messages = [one.voice for one in evidence if one.source == _MESSAGES and one.line in lines]
    others = [one.voice for one in evidence if not (one.source == _MESSAGES and one.line in lines)]
    decisive = [*others, *([min(messages, key=_RANK.index)] if messages else [])]
    if all(voice == "program" for voice in decisive):
        return replace(found, evidence=evidence)
    return replace(found, evidence=evidence, confidence="possible")


class _Voices:
    """Whose words a line of an answer is: of the first passage that holds it."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._of_line: dict[tuple[str, int], int] = {}  # the place of the passage
        self._long: list[int] = []
        self._passages = passages
        for at, one in enumerate(passages):
            if one.last - one.first >= _LONG:
                self._long.append(at)
                continue
            for line in range(one.first, one.last + 1):
                self._of_line.setdefault((one.question, line), at)

    def of(self, question: str, line: int) -> Voice:
        found = self._of_line.get((question, line), len(self._passages))
        for at in self._long:
            if at > found:
                break
            one = self._passages[at]
            if one.question == question and one.first <= line <= one.last:
                return one.voice
        return self._passages[found].voice if found < len(self._passages) else "program"


@of_same
def _voices(passages: tuple[Passage, ...]) -> _Voices:
    return _Voices(passages)


@of_same
def _lines(messages: tuple[Message, ...]) -> frozenset[int]:
    return frozenset(message.line for message in messages)
