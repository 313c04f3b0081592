"""Pasted text as a host: recognisers cut out the parts that they know, and these answer what a machine would be asked.

Every answer is marked as an excerpt: what the text does not show is unknown. Beside the questions of a machine there
are some of a text alone:

================  ============================================================================================
``text``          the whole text without quoting, markup and escape sequences; line N is line N of what was given
``stated``        what it says in its own words, one JSON object a line (``rocdoctor.paste.statements``)
``commands``      what it shows to be started or installed, one JSON object a line (``rocdoctor.paste.command_lines``)
``log nccl``      the lines that NCCL or RCCL printed
``log torch``     the text, where torch or its launcher tells of ranks that failed or waited
``dump torch``    dumps of torch's flight recorder, as JSON
``voices``        which lines are somebody's words, one JSON object a line (``rocdoctor.paste.speakers``)
``sentences``     what the writer says in words, one JSON object a line (``rocdoctor.paste.own_sentences``)
================  ============================================================================================

Each part has a role: the machine now, something that was tried, advice, or something other (another machine, a quoted
message, a comparison, the working one of two states). Only parts of the first kind answer questions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from rocdoctor.host.base import Answer, Kind
from rocdoctor.paste.cards_present import overridden_targets, settled
from rocdoctor.paste.clean_text import Clean, clean
from rocdoctor.paste.command_lines import commands
from rocdoctor.paste.command_lines import parts as command_parts
from rocdoctor.paste.container_launch import launches
from rocdoctor.paste.env_settings import parts as setting_parts
from rocdoctor.paste.env_settings import settings
from rocdoctor.paste.file_lines import file_lines
from rocdoctor.paste.job_logs import job_parts, without_dumps
from rocdoctor.paste.listings import listings
from rocdoctor.paste.named_cards import Card, cards, machine_count, merged
from rocdoctor.paste.output_kinds import COLLECT_ENV
from rocdoctor.paste.own_sentences import sentence_rows
from rocdoctor.paste.passage_roles import role_of_block, shows_working
from rocdoctor.paste.shell_sections import ShellSection, question_of, sections
from rocdoctor.paste.speakers import replies, voice_rows
from rocdoctor.paste.statements import parts as stated_parts
from rocdoctor.paste.statements import said
from rocdoctor.paste.text_part import TextPart, of_lines
from rocdoctor.paste.word_index import WordIndex

__all__ = ["TextHost", "TextPart", "open_text", "recognise"]

# Parts of these questions are joined when a text has several; of all others one is chosen.
_JOINED = frozenset(
    {
        "run dmesg",
        "log nccl",
        "run lspci -k",
        "run ls -l /dev/kfd /dev/dri",
        "run pip freeze",
        "env",
        "commands",
        "run lsmod",
        "run dkms status",
        "run scontrol show node",
    }
)
_TROUBLE = ("error", "not loaded", "failed", "fail", "unable", "denied", "no devices", "cannot")


def open_text(text: str, origin: str) -> TextHost:
    """A host over pasted text."""
    text, dumps = without_dumps(text)
    cleaned = clean(text)
    found = [*job_parts(cleaned, dumps), *_parts(cleaned)]
    answers, places = _answers(cleaned, found)
    answers["text"] = Answer("text", "ok", cleaned.text.encode(), truncated=cleaned.truncated, complete=False)
    return TextHost(answers, origin, recognised=tuple(found), places=places)


def recognise(text: str) -> list[Answer]:
    """The answers that stand in a text, without that to ``text``."""
    text, dumps = without_dumps(text)
    cleaned = clean(text)
    return list(_answers(cleaned, [*job_parts(cleaned, dumps), *_parts(cleaned)])[0].values())


def _parts(cleaned: Clean) -> list[TextPart]:
    index = WordIndex(cleaned)
    found = sections(cleaned)
    stops = {section.line for section in found}
    result = [part for section in found if (part := _of_section(cleaned, section)) is not None]
    covered = {(family, number) for part in result for family in (_family(part.question),) for number in part.numbers}
    result += [part for part in listings(cleaned, stops, index) if not _names(part) & covered]
    shown = {part.question for part in result}
    result += [part for part in file_lines(cleaned, index) if part.question not in shown]
    # What collect_env prints of systems and cards is read as labelled lines too.
    taken = {number - 1 for part in result if part.question not in (COLLECT_ENV, "env") for number in part.numbers}
    set_here = settings(cleaned, found, index)
    result += setting_parts(set_here)
    given = commands(cleaned, found, index)
    result += command_parts(given)
    mentions = settled(cleaned, cards(cleaned, taken, index), overridden_targets(set_here))
    chosen = _counted(cleaned, merged(mentions), mentions)
    values = [*said(cleaned, taken, stops, index), *launches(given)]
    result += stated_parts(cleaned, values, chosen, mentions)
    return sorted(result, key=lambda part: (part.first, part.question))


def _family(question: str) -> str:
    """The program of a question, without its options."""
    return question.split(" -")[0]


def _names(part: TextPart) -> set[tuple[str, int]]:
    """The ends of a part, by which one that a command has named already is found."""
    return {(_family(part.question), part.first), (_family(part.question), part.last)}


def _of_section(cleaned: Clean, section: ShellSection) -> TextPart | None:
    question = question_of(section.command)
    if question is None:
        return None
    indices = list(range(section.first, section.end))
    while indices and not cleaned.lines[indices[-1]].strip():
        indices.pop()
    while indices and not cleaned.lines[indices[0]].strip():
        indices.pop(0)
    if not indices or len(indices) > 100_000:
        return None
    role = role_of_block(cleaned, section.line, indices[-1], setting=False)
    return of_lines(cleaned, question, indices, role, shows_working(cleaned, section.line))


def _counted(cleaned: Clean, chosen: list[Card], mentions: list[Card]) -> list[Card]:
    """The cards, with the number that the text gives for the only kind of them ("a machine with 8 GPUs: MI100")."""
    kinds = [card for card in chosen if not card.integrated]
    if len(kinds) != 1 or kinds[0].count > 1:
        return chosen
    number = machine_count(cleaned, [card.line for card in mentions if card.role == "now"])
    if number is None or not 1 < number <= 16:
        return chosen
    one = kinds[0]
    many = Card(one.line, one.vendor, one.name, one.gfx, one.capability, number, one.role, one.integrated, one.key)
    return [many if card is one else card for card in chosen]


def _answers(cleaned: Clean, found: list[TextPart]) -> tuple[dict[str, Answer], dict[str, list[int]]]:
    """(the answers, for each of their lines the line of the text that it came from)."""
    others = replies(cleaned)
    groups: dict[str, list[TextPart]] = {}
    for part in found:
        if part.role == "now" and part.body:
            groups.setdefault(part.question, []).append(part)
    chosen: dict[str, list[TextPart]] = {}
    for question, parts in groups.items():
        # Of a failing and a working state the failing one counts, of the writer's and a reply's the writer's.
        failing = [part for part in parts if not part.working] or parts
        own = [part for part in failing if part.first - 1 not in others] or failing
        chosen[question] = own if question in _JOINED else [_telling(own)]
    answers = {
        question: Answer(question, "ok", "\n".join(part.body for part in parts).encode(), complete=False)
        for question, parts in chosen.items()
    }
    numbers = {question: [number for part in parts for number in part.numbers] for question, parts in chosen.items()}
    body = voice_rows(cleaned, numbers, others)
    for question, rows in (("voices", body), ("sentences", sentence_rows(cleaned, others))):
        if rows:
            answers[question] = Answer(question, "ok", rows.encode(), complete=False)
    return answers, numbers


def _telling(parts: list[TextPart]) -> TextPart:
    """The part that shows trouble, else the longest, the later one of equals."""
    bad = [part for part in parts if any(word in part.body[:20_000].lower() for word in _TROUBLE)]
    return max(enumerate(bad or parts), key=lambda one: (len(one[1].body), one[0]))[1]


@dataclass
class TextHost:
    """A host that answers from pasted text; ``recognised`` has every part, also those that do not answer."""

    answers: dict[str, Answer]
    origin: str
    kind: Kind = "text"
    recognised: tuple[TextPart, ...] = field(default=())
    read_from: str = ""  # which files it was put together from
    places: dict[str, list[int]] = field(default_factory=dict)  # question -> the text's line of each line of its answer

    def ask(self, question: str) -> Answer:
        answer = self.answers.get(question)
        if answer is None and question.startswith("list "):
            return self._list(question)
        return answer or Answer(question, "not-asked", complete=False)

    def _list(self, question: str) -> Answer:
        """The files of a pattern that the text shows."""
        pattern = question[5:]
        depth = pattern.count("/")
        paths = {name[5:] for name in self.answers if name.startswith("read /")}
        above = {"/".join(path.split("/")[:count]) for path in paths for count in range(2, path.count("/") + 1)}
        found = sorted(path for path in paths | above if path.count("/") == depth and fnmatchcase(path, pattern))
        status = "ok" if found else "not-asked"
        return Answer(question, status, "\n".join(found).encode(), complete=False)  # type: ignore[arg-type]

    def prefetch(self, questions: Iterable[str]) -> None:
        pass

    def available(self) -> tuple[str, ...]:
        return tuple(self.answers)
