"""The error texts, and the signs of symptoms, in what a person pasted."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING

from rocdoctor.host.base import Host
from rocdoctor.model.facts import Message
from rocdoctor.model.lazy_re import regex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocdoctor.parsers.prose.statements import Account, Pattern

QUESTION = "text"
_FRAMES = 400  # messages whose sentences are looked at: more stand in logs alone
# Signs that a title of a report may tell, and such a title: none of a change.
_OF_TITLES = ("sign-worse-since-update", "sign-counts-no-gpu")
_TITLE = regex(
    r"(?i)# (?!\W{0,3}(?:fix|feat|docs?|tests?|ci|chore|refactor|add|support|improve|raise|handle)\w{0,3}\b)"
)
_NAMES = ("names-", "mentions-")  # kinds that name a thing, and tell of no fault
_SHORT = 8  # lines of sentences, above which a title belongs to what is told
_FAREWELL = 3  # lines that may follow where the writer says that all is over
_HEAD, _TAIL = 48_000, 16_000  # characters in which signs are looked for: people tell of them first, or at the end


def collect_messages(host: Host) -> tuple[Message, ...]:
    """Every known text in the pasted text; empty for hosts that hold none."""
    if host.kind != "text":
        return ()
    answer = host.ask(QUESTION)
    if not answer.ok or not answer.data:
        return ()
    from rocdoctor.knowledge.messages.message_frames import frame_rows, own_expressions
    from rocdoctor.knowledge.messages.open_symptoms import foreign_sign_rows, sign_signatures
    from rocdoctor.knowledge.messages.program_errors import message_literals
    from rocdoctor.parsers.logs.message_frames import frame_of, frame_says
    from rocdoctor.parsers.logs.message_match import FoundMessage, find_messages
    from rocdoctor.parsers.own.speakers import parse_voices
    from rocdoctor.parsers.prose.foreign_signs import foreign_signs

    told = host.ask("voices") if "voices" in host.available() else None
    passages = parse_voices(told.text) if told is not None and told.ok else ()
    general = sorted((one.first, one.last) for one in passages if (one.question, one.voice) == (QUESTION, "advice"))
    ends = list(accumulate((last for _, last in general), max))  # the last line of all passages up to one
    text = answer.text

    account = _account(host)
    over = _mended_at(account)  # what stands above is over, if its writer says so at the end

    lines = text.split("\n")
    program = frozenset(
        at
        for one in passages
        if (one.question, one.voice) == (QUESTION, "program")
        for at in range(one.first - 1, one.last)
    )
    framed: dict[tuple[int, int], bool] = {}

    def quoted(found: FoundMessage) -> bool:
        """Whether the sentences around a message say that it is not of the writer's machine now."""
        key = (found.line, found.column)
        if key not in framed and len(framed) < _FRAMES:
            frame = frame_of(lines, program, found.line, found.column, found.length)
            framed[key] = frame_says(frame_rows(), own_expressions(), frame) is not None
        return framed.get(key, False)

    def role(found: FoundMessage) -> str:
        place = bisect_right(general, found.line, key=lambda passage: passage[0])
        if found.line <= over and found.role == "now":
            return "advice"
        if place and found.line <= ends[place - 1]:
            return "advice"
        # A title is marked as a comment of code is.
        if found.line == 1 and found.kind in _OF_TITLES and _TITLE.match(text):
            return "advice" if quoted(found) else "now"
        fault = found.role == "now" and not found.kind.startswith(_NAMES)
        return "advice" if fault and quoted(found) else found.role

    signs = (
        replace(one, line=one.line + above)
        for above, part in _ends(text)
        for one in find_messages(sign_signatures(), part)
    )
    found = (
        Message(one.kind, one.line, one.text, dict(one.values), role(one), one.narrated)
        for one in (*find_messages(message_literals(), text), *signs)
    )
    foreign = (
        Message(kind, line, said, {}, "now", narrated=True)
        for kind, line, said in foreign_signs(foreign_sign_rows(), text[:_HEAD])
        if line > over
    )
    return (*found, *foreign, *_statements(account), *_whole_is_over(text, over))


def _account(host: Host) -> Account | None:
    """What the writer claims in sentences; None where the text holds none."""
    if "sentences" not in host.available():
        return None
    from rocdoctor.knowledge.messages.told import report_marks, told_grammar
    from rocdoctor.parsers.own.told_words import parse_sentence_lines
    from rocdoctor.parsers.prose.claims import claims_in
    from rocdoctor.parsers.prose.sentences import sentences_in
    from rocdoctor.parsers.prose.statements import told_by

    grammar = told_grammar()
    told = parse_sentence_lines(host.ask("sentences").text)
    title = _title(host, len(told))
    account = told_by(claims_in(grammar, sentences_in((*title, *told))), grammar.opposites)
    if title and not (account.names and account.names[0] & report_marks().trouble):  # it tells of no trouble itself
        account = told_by(claims_in(grammar, sentences_in(told)), grammar.opposites)
    return account


def _title(host: Host, lines: int) -> tuple[tuple[int, str], ...]:
    """The title of a short report as its first sentence; none of a change, and none above a long text."""
    first = host.ask(QUESTION).text.partition("\n")[0]
    if not 0 < lines <= _SHORT or not _TITLE.match(first) or first.startswith("# ["):
        return ()
    return ((1, first[2:402]),)


def _mended_at(told: Account | None) -> int:
    """The line (from 1) on which the writer says that it is over; 0 where nobody does."""
    if told is None:
        return 0
    from rocdoctor.knowledge.messages.told import report_marks
    from rocdoctor.parsers.prose.ends_well import mended_at

    return mended_at(told, report_marks()) or 0


def _whole_is_over(text: str, line: int) -> tuple[Message, ...]:
    """That all of the text is over, where nothing is shown below the line (from 1) on which its writer says so."""
    from rocdoctor.knowledge.messages.told import MENDED
    from rocdoctor.parsers.prose.ends_well import announces_success

    lines = text.split("\n")
    if not line and announces_success(text):
        return (Message(MENDED, 1, lines[0].strip()[:200], {}, "now", narrated=True),)
    if not line:
        return ()
    below = [one for one in lines[line:] if one.strip()]
    if len(below) > _FAREWELL or any(one.lstrip().startswith(("```", "~~~", "$", "#", ">", "|")) for one in below):
        return ()
    return (Message(MENDED, line, lines[line - 1].strip()[:200], {}, "now", narrated=True),)


def _statements(told: Account | None) -> tuple[Message, ...]:
    """What the writer tells in sentences: each kind once, at the sentence that carries it."""
    if told is None:
        return ()
    from rocdoctor.knowledge.messages.told import NO_REPORT, SOUND, TROUBLE, report_marks, told_kinds
    from rocdoctor.parsers.prose.statements import is_none, trouble_in

    claims = told.claims
    if is_none(told, report_marks()):
        first = claims[0].sentence
        return (Message(NO_REPORT, first.line, first.text, {}, "now", narrated=True),)
    places = {one.kind: at for one in told_kinds() if (at := _first_place(one.patterns, told)) is not None}
    trouble = trouble_in(told, report_marks())
    if trouble is None:
        trouble = min((places[one.kind] for one in told_kinds() if one.trouble and one.kind in places), default=None)
    if trouble is None:
        tells = (one for one in claims if one.voice == "tells")
        sound = next((one.sentence for one in tells if "good" in one.outcomes), None)
        return (Message(SOUND, sound.line, sound.text, {}, "now", narrated=True),) if sound is not None else ()
    sentence = claims[trouble].sentence
    found = [Message(TROUBLE, sentence.line, sentence.text, {}, "now", narrated=True)]
    for kind, at in places.items():
        sentence = claims[at].sentence
        found.append(Message(kind, sentence.line, sentence.text, {}, "now", narrated=True))
    return tuple(found)


def _first_place(patterns: Sequence[Pattern], told: Account) -> int | None:
    """The sentence that carries the first pattern which holds."""
    from rocdoctor.parsers.prose.statements import place_of

    return next((at for one in patterns if (at := place_of(one, told)) is not None), None)


def _ends(text: str) -> tuple[tuple[int, str], ...]:
    """(lines above it, part): the whole of a short text, the beginning and the end of a long one."""
    if len(text) <= _HEAD + _TAIL:
        return ((0, text),)
    head, start = text.rfind("\n", 0, _HEAD), text.find("\n", len(text) - _TAIL) + 1
    head = head if head > 0 else _HEAD
    return ((0, text[:head]), (text.count("\n", 0, start), text[start:]))
