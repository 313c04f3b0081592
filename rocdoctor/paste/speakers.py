"""Who says what in a text: a program, the writer in words of their own, or somebody who replies.

The answer to the question ``voices``: one JSON object a line, {"question", "first", "last", "voice"}, with lines of
that question's answer counted from 1. Voices: "words" for sentences, "reply" for what another person wrote in a thread
and for quotations, "advice" for pages that speak of faults in general,
"program" for code blocks, in which nobody speaks. What no row names is a program's or a form's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from rocdoctor.model.facts.software import Voice
from rocdoctor.model.lazy_re import regex
from rocdoctor.paste.clean_text import Clean

_LABEL = regex(r"[\s|*_#>\u2022+-]{0,10}[A-Za-z][\w /()&.-]{0,40}(?:\*\*|__)?\s{0,20}[:=|](?:\*\*|__)?(?:\s|\Z)")
_TITLE = regex(
    r"[\s*_#>]{0,10}(?:title|subject|re|fwd|description|update|edit|solved|solution|p\.?s\.?)[*_]{0,2}\s?:",
    re.IGNORECASE,
)
_COMMAND = regex(
    r"\s{0,12}(?:[$%>❯➜]\s|\S{1,60}[$#]\s|(?:export|setenv|sudo|docker|podman|python3?|torchrun|srun|mpirun|pip3?)\s"
    r"|[A-Za-z_]\w{1,60}=|-{1,2}\w|\[|\d{4}-\d\d|[|+<{])"
)
_WORD = regex(
    r"\b(?:the|an?|is|are|was|were|on|in|of|my|our|i|we|it|with|and|or|to|for|but|not|this|that|when|have|has|had|"
    r"use|using|get|got|from|at|after|before|because|does|do|than|then|so|here|there|be|been|which|will|can)\b",
    re.IGNORECASE,
)
_FIRST_PERSON = regex(r"\b(?:i|i'm|i've|we|my|our)\b", re.IGNORECASE)
# "name commented on 5 May", "@name wrote:", "name replied 3 days ago", and what mail programs put above an answer.
_SPEAKER = regex(
    r"[\s*_#>|-]{0,8}(?:On .{4,60}, )?@?(?P<who>[A-Za-z][\w.'-]{1,40}(?: [A-Z][\w.'-]{1,30})?)(?: \([^()]{1,40}\))?"
    r"(?: \[bot\])? (?P<what>opened (?:(?:this|the) )?(?:issue|discussion|on)|commented|replied|answered|wrote|said|"
    r"posted)"
    r"(?: (?:on|this|an?|\d|last|yesterday|today|the|edited|·|\().{0,60})?\s{0,2}:?[*_]{0,2}\s*\Z",
    re.IGNORECASE,
)
_SAID = regex(r" (?:opened|commented|replied|answered|wrote|said|posted)", re.IGNORECASE)
_AUTHOR = regex(r"\s{0,4}(?:author|op|original poster|reporter)\s*\Z", re.IGNORECASE)
_RUN = regex(rb"\x01+")
_PRONOUNS = frozenset({"i", "we", "it", "he", "she", "they", "you", "this", "that", "who", "also", "just", "already"})


def is_sentence(clean: Clean, line: int) -> bool:
    """Whether a line (index) is written in words: no code, no label with a value, no command, no row of a table."""
    text = clean.lines[line][:1000]
    if clean.blocks[line] or text.startswith(("    ", "\t")) or _COMMAND.match(text):
        return False
    if _LABEL.match(text) and not _TITLE.match(text):
        # "My setup: ..." is a label; one that begins with a clause is none.
        return bool(_FIRST_PERSON.search(text.partition(":")[0])) and len(_WORD.findall(text)) >= 3
    words = _WORD.findall(text)
    return len(words) >= 2 or bool(_FIRST_PERSON.search(text)) or (bool(words) and text.lstrip()[:1] in "#*")


def function_words(text: str) -> int:
    """How many words of a text are such as stand in every sentence (the, is, with ...)."""
    return len(_WORD.findall(text))


def replies(clean: Clean) -> frozenset[int]:
    """The lines (indices) that somebody other than the first speaker wrote, and those that are quoted."""
    found = {at for at, depth in enumerate(clean.quotes) if depth}
    first: str | None = None
    since: int | None = None  # the line from which on somebody else speaks
    if not _SAID.search(clean.alike.text):
        return frozenset(found)
    for at in clean.alike.where(_names_speaker):
        speaker = None if clean.blocks[at] else _SPEAKER.match(clean.lines[at])
        if speaker is None or (who := speaker["who"].lower()) in _PRONOUNS:
            continue
        # What stands above the first heading is the first message, of a writer who is not named.
        if first is None and (not any(one.strip() for one in clean.lines[:at]) or "opened" in speaker["what"]):
            first = who
        following = clean.lines[at + 1 : at + 3]
        foreign = who != first and not any(_AUTHOR.match(one) for one in following)
        if foreign and since is None:
            since = at
        elif not foreign and since is not None:
            found.update(range(since, at))
            since = None
    if since is not None:
        found.update(range(since, len(clean.lines)))
    return frozenset(found)


def _names_speaker(line: str) -> bool:
    return 8 < len(line) < 200 and bool(_SPEAKER.match(line))


def voice_rows(clean: Clean, answers: Mapping[str, Sequence[int]], others: frozenset[int]) -> str:
    """The answer; ``answers``: question -> the text's line of each line of its answer, ``others``: the replies."""
    return "\n".join(_rows(clean, answers, others))


def _rows(clean: Clean, answers: Mapping[str, Sequence[int]], others: frozenset[int]) -> Iterator[str]:
    replied = {at + 1 for at in others}
    for question, numbers in answers.items():
        if question in ("stated", "commands") or (question != "env" and not others):
            continue
        if question == "env":
            spoken: list[Voice | None] = [_voice(clean, number - 1, others) for number in numbers]
            at = 1
            for voice, members in groupby(spoken):
                count = sum(1 for _ in members)
                if voice is not None:
                    yield _row(question, at, at + count - 1, voice)
                at += count
        else:
            yield from _runs(question, map(replied.__contains__, numbers), "reply")
    for number in sorted({*answers.get("stated", ()), *answers.get("commands", ())}):
        if number - 1 not in others and is_sentence(clean, number - 1):
            yield _row("text", number, number, "words")
    lines = range(len(clean.lines))
    if others:
        yield from _runs("text", map(others.__contains__, lines), "reply")
    if clean.guides:
        yield from _runs("text", map(clean.guides.__contains__, lines), "advice")
    if any(clean.blocks):
        yield from _runs("text", map(bool, clean.blocks), "program")


def _voice(clean: Clean, line: int, others: frozenset[int]) -> Voice | None:
    if line in others:
        return "reply"
    return "words" if is_sentence(clean, line) else None


def _runs(question: str, marked: Iterable[bool], voice: Voice) -> Iterator[str]:
    """A row for each run of marked lines."""
    for run in _RUN.finditer(bytes(marked)):
        yield _row(question, run.start() + 1, run.end(), voice)


def _row(question: str, first: int, last: int, voice: Voice) -> str:
    return json.dumps({"question": question, "first": first, "last": last, "voice": voice})
