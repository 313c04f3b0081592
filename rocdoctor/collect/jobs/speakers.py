"""Whose words the evidence of a text is."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace

from rocdoctor.host.base import Host
from rocdoctor.model.evidence import Known
from rocdoctor.model.facts import Machine, Message, Passage
from rocdoctor.model.facts.software import Voice
from rocdoctor.parsers.own.speakers import parse_voices

_QUESTION = "voices"


def with_voices(host: Host, machine: Machine) -> Machine:
    """The machine with the passages that are somebody's words; the first passage that holds a line counts."""
    answer = host.ask(_QUESTION) if _QUESTION in host.available() else None
    told = parse_voices(answer.text) if answer is not None and answer.ok else ()
    voices = _at_lines(told, sorted({message.line for message in machine.messages}))
    messages = [_of_message(message, voices[message.line]) for message in machine.messages]
    said = [*messages, *(one for one in told if one.voice not in ("program", "advice"))]
    if all(one.voice == "program" for one in said):
        return machine
    return replace(machine, passages=(*said, *_of_tables(machine, said)))


def _at_lines(told: Sequence[Passage], lines: list[int]) -> dict[int, set[str]]:
    """The voices of some lines of the text, which ascend."""
    found: dict[int, set[str]] = {line: set() for line in lines}
    for one in told:
        if one.question == "text":
            for line in lines[bisect_left(lines, one.first) : bisect_right(lines, one.last)]:
                found[line].add(one.voice)
    return found


def _of_message(message: Message, voices: set[str]) -> Passage:
    voice: Voice = "program"
    if message.role == "quoted" or "reply" in voices:
        voice = "reply"
    elif message.narrated and "program" not in voices:
        voice = "words"
    return Passage("text", message.line, message.line, voice)


def _of_tables(machine: Machine, said: list[Passage]) -> list[Passage]:
    """What a table tells of a card that is named in words alone is no surer than the name."""
    found: list[Passage] = []
    for gpu in machine.gpus:
        if not isinstance(gpu.name, Known) or not isinstance(gpu.gfx, Known):
            continue
        source, line = gpu.name.source, gpu.name.source.line or 0
        holding = [p for p in said if p.question == source.question and p.first <= line <= p.last]
        voice: Voice = holding[0].voice if holding else "program"
        if gpu.gfx.source.line is None and voice != "program":
            found.append(Passage(gpu.gfx.source.question, 0, 0, voice))
    return found
