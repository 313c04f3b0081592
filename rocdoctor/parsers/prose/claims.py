"""What a sentence claims: which things it names, and under which condition something works or fails.

A sentence is cut into parts at punctuation and conjunctions. A part has an outcome (good, bad, or the same as before)
by its words and what negates them, and conditions ("as root", "in the container"). A condition without an outcome of
its own goes with the next outcome of its sentence, or with the one before where nothing follows: "it works, but only as
root". A negated condition is its opposite: "without the riser".

Only the machine counts: its GPU, its driver, the program on it. A part speaks of it that names one of them, or that
names nothing else ("it fails", "without sudo: denied") behind a part that does. "My browser crashes" is nobody's sign.

Not claimed is what somebody guesses, asks, wishes, advises or tells of long ago.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rocdoctor.parsers.prose.phrases import BREAKS, Mention, Phrases, mentions_in, phrases_of
from rocdoctor.parsers.prose.sentences import Sentence, Word

Outcome = Literal["good", "bad", "same"]
Voice = Literal["tells", "asks", "guesses", "advises", "wishes", "past"]
_VOICES: tuple[Voice, ...] = ("past", "wishes", "advises", "guesses")  # the first that is found counts
_CONTRARY: Mapping[Outcome, Outcome] = {"good": "bad", "bad": "good"}
_SPEEDS = ("<rate>", "<gbs>", "<mbs>")
_ASIDE = 7  # words of a part that leaves out what it says of its condition
_REACH = 3  # words between what negates and what is negated
_CONDITION_REACH = 2
_JOINS = "but while whereas although though however yet and then so because still otherwise until unless instead"
_SPLITS = frozenset((*BREAKS, *_JOINS.split(), "->", "=>", "\u2192"))
_OTHERS = "the a an my our his her their its your this that he she you somebody someone"
_DETERMINERS = frozenset(_OTHERS.split())
_PEOPLE = frozenset(("i", "we"))
_NO_NAMES = "it they these those which who everything all none one always still often also even just only never now"
_NOT_SUBJECTS = _DETERMINERS | _PEOPLE | frozenset((*_NO_NAMES.split(), "sometimes", "then", "again"))
_BEFORE_PLACES = "in on at with for from to by into under over since after before during of"
_PREPOSITIONS = frozenset(_BEFORE_PLACES.split())
_BEFORE_VERBS = "is are was were gets got can does did has had will always still often also even"
_AUXILIARIES = frozenset(_BEFORE_VERBS.split())
_SAYS_NOTHING = ("not", "without", "same", "first-person", "reader")
_FOLLOWS = frozenset(
    ("only", "if", "when", "whenever", "once", "after", "since", "until", "unless", "without", "with", "as")
)


@dataclass(frozen=True, slots=True)
class Grammar:
    """The words of a table: what they mean. ``opposites``: of conditions; the other names are those of meanings."""

    phrases: Phrases
    conditions: frozenset[str]
    opposites: Mapping[str, str]
    voices: Mapping[Voice, frozenset[str]] = field(default_factory=dict)
    machine: frozenset[str] = frozenset()  # meanings that name the machine; none: every part speaks of it
    others: frozenset[str] = frozenset()  # meanings that name something else
    troubles: frozenset[str] = frozenset()  # meanings that count only where a part speaks of the machine


@dataclass(frozen=True, slots=True)
class Utterance:
    """A sentence that its writer holds to be true now.

    ``names``: the meanings that it mentions; ``good``, ``bad``, ``same``: conditions under which it works, fails, and
    makes no difference; ``outcomes``: those of the sentence.
    """

    sentence: Sentence
    voice: Voice
    names: frozenset[str]
    outcomes: frozenset[Outcome] = frozenset()
    good: frozenset[str] = frozenset()
    bad: frozenset[str] = frozenset()
    same: frozenset[str] = frozenset()
    about: bool = True  # its last part speaks of the machine


@dataclass(slots=True)
class _Part:
    first: int
    end: int
    opener: str  # the word that it begins with, or the conjunction before it
    outcome: Outcome | None = None
    conditions: tuple[str, ...] = ()
    inverted: bool = False  # "unless", "otherwise"
    about: bool = True  # it speaks of the machine


def grammar_of(table: Mapping[str, Mapping[str, object]]) -> Grammar:
    """A grammar of the keys ``words``, ``conditions`` (pairs of names), ``voices`` and ``subjects`` of a table."""
    written = {name: [str(one) for one in _listed(value)] for name, value in table["words"].items()}
    opposites: dict[str, str] = {}
    for one, other in table["conditions"].items():
        opposites[one] = str(other)
        opposites[str(other)] = one
    voices: dict[Voice, frozenset[str]] = {
        name: frozenset(map(str, _listed(table["voices"].get(name, [])))) for name in _VOICES
    }
    of = {name: frozenset(map(str, _listed(value))) for name, value in table.get("subjects", {}).items()}
    none: frozenset[str] = frozenset()
    return Grammar(
        phrases_of(written),
        frozenset(opposites),
        opposites,
        voices,
        of.get("machine", none),
        of.get("others", none),
        of.get("troubles", none),
    )


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else [value]


def claims_in(grammar: Grammar, sentences: Iterable[Sentence]) -> tuple[Utterance, ...]:
    """What each sentence claims."""
    found: list[Utterance] = []
    for one in sentences:
        found.append(claim_of(grammar, one, found[-1].about if found else _begins(grammar, one)))
    return tuple(found)


def _begins(grammar: Grammar, first: Sentence) -> bool:
    """Whether a text begins with the machine, though it is named late: "As root it works, as my user no GPU"."""
    names = {one.name for one in mentions_in(grammar.phrases, first.words)}
    return bool(names & grammar.machine) and not names & grammar.others


def claim_of(grammar: Grammar, sentence: Sentence, about: bool = False) -> Utterance:
    """What one sentence claims; ``about``: the sentence before it speaks of the machine."""
    words = sentence.words
    mentions = mentions_in(grammar.phrases, words)
    names = frozenset(one.name for one in mentions)
    voice = _voice(grammar, sentence, names)
    parts = _parts(words)
    for part in parts:
        inside = [one for one in mentions if part.first <= one.first < part.end]
        about = part.about = _about(grammar, words, part, inside, about)
        part.outcome = None if part.inverted or not about else _outcome(grammar, inside)
        part.conditions = tuple(_conditions(grammar, part, inside, mentions)) if about or not _ended(inside) else ()
    strange = [one for one in parts if not one.about]
    names -= grammar.troubles - {
        one.name for one in mentions if not any(each.first <= one.first < each.end for each in strange)
    }
    good, bad, same = set[str](), set[str](), set[str]()
    by: Mapping[Outcome, set[str]] = {"good": good, "bad": bad, "same": same}
    for outcome, conditions in _attached(grammar, parts):
        by[outcome].update(conditions)
    idle = [one for one in parts if one.outcome == "same"]  # what makes no difference is no sign of anything
    names -= {one.name for one in mentions if any(each.first <= one.first < each.end for each in idle)} - {
        one.name for one in mentions if not any(each.first <= one.first < each.end for each in idle)
    }
    if any(one.outcome == "same" and not one.conditions for one in parts):
        same.update(good | bad)
    if _apart(words) and any(one.about for one in parts):
        names |= {"slowness"}
    outcomes: frozenset[Outcome] = frozenset(part.outcome for part in parts if part.outcome is not None)
    return Utterance(sentence, voice, names, outcomes, frozenset(good), frozenset(bad - good), frozenset(same), about)


def _about(grammar: Grammar, words: Sequence[Word], part: _Part, inside: Sequence[Mention], before: bool) -> bool:
    """Whether a part speaks of the machine: it names it, or names nothing else behind a part that does."""
    names = {one.name for one in inside}
    if not grammar.machine or names & grammar.others:
        return not grammar.machine
    if names & grammar.machine:
        return True
    conditions = [one for one in inside if one.name in grammar.conditions]
    known = {one.first for one in inside if one.name not in _SAYS_NOTHING}
    known |= {at for one in conditions for at in range(one.first, one.end + 1)}
    return (
        before
        and not _bare_subject(words, part, inside)
        and not any(
            (
                words[at].text in _DETERMINERS
                and at + 1 not in known
                and (at == 0 or words[at - 1].text not in _PREPOSITIONS)
            )
            or (words[at].text in _PEOPLE and not conditions)
            for at in range(part.first, part.end)
        )
    )


def _bare_subject(words: Sequence[Word], part: _Part, inside: Sequence[Mention]) -> bool:
    """Whether an unknown name does something at the beginning of a part, or behind its condition: "pip fails"."""
    led = {at for one in inside if one.name not in ("good", "bad", "same", "not") for at in range(one.first, one.end)}
    at = next((at for at in range(part.first, part.end) if at not in led), part.end)
    subject = words[at].text.partition("'")[0] if at < part.end else ""  # it's
    if not subject[:1].isalpha() or subject in _NOT_SUBJECTS or subject.endswith("ly"):
        return False
    verb = at + 2 if at + 1 < part.end and words[at + 1].text in _AUXILIARIES else at + 1
    return any(one.first in (at + 1, verb) and one.name in ("good", "bad", "not") for one in inside)


def _ended(inside: Sequence[Mention]) -> bool:
    """Whether a part has an outcome of its own."""
    return any(one.name in ("good", "bad", "same") for one in inside)


def _apart(words: Sequence[Word]) -> bool:
    """Whether two speeds of one unit stand there, of which one is at least twice the other."""
    for kind in _SPEEDS:
        numbers = [one.number for one in words if kind in one.kinds and one.number]
        if len(numbers) > 1 and max(numbers) >= 2 * min(numbers):
            return True
    return False


def _voice(grammar: Grammar, sentence: Sentence, names: frozenset[str]) -> Voice:
    # What asks for the reason of something that is so is no question whether it is so.
    if sentence.question and "why" not in names:
        return "asks"
    for voice, marks in grammar.voices.items():
        if names & marks and not ("first-person" in names and voice == "advises"):
            return voice
    return "tells"


def _parts(words: Sequence[Word]) -> list[_Part]:
    found: list[_Part] = []
    first, opener = 0, ""
    for at, word in enumerate(words):
        if word.text in _SPLITS:
            if at > first:
                found.append(_Part(first, at, opener or words[first].text))
            first, opener = at + 1, "" if word.text in BREAKS else word.text
    if first < len(words):
        found.append(_Part(first, len(words), opener or words[first].text))
    for part in found:
        part.inverted = part.opener == "unless"
    return found


def _outcome(grammar: Grammar, inside: Sequence[Mention]) -> Outcome | None:
    """What a part of a sentence says of the outcome: bad before good, and the same where neither is said."""
    inside = _longest(inside, frozenset(("good", "bad", "same", *grammar.conditions)))
    negators = [one for one in inside if one.name == "not"]
    used: set[Mention] = set()
    found: set[Outcome] = set()
    for one in inside:
        if one.name in ("good", "bad"):
            before = [each for each in negators if 0 <= one.first - each.end <= _REACH]
            used.update(before)
            found.add("good" if (one.name == "good") != (len(before) % 2 == 1) else "bad")
    said_same = any(one.name == "same" for one in inside)
    if said_same and (not found or used):
        return "same"
    if "bad" in found or (not found and any(one not in used for one in negators)):
        return "bad"
    return "good" if found else ("same" if said_same else None)


def _longest(inside: Sequence[Mention], of: frozenset[str]) -> list[Mention]:
    """Mentions, without those that are a part of a longer one of some meanings, and with what it negates in it."""
    long = [one for one in inside if one.name in of and one.end - one.first > 1]
    return [
        one
        for one in inside
        if one.name not in ("good", "bad", "not")
        or not any(
            each.first <= one.first and one.end <= each.end and each.end - each.first > one.end - one.first
            for each in long
        )
    ]


def _conditions(grammar: Grammar, part: _Part, inside: Sequence[Mention], every: Sequence[Mention]) -> Iterable[str]:
    for one in inside:
        if one.name not in grammar.conditions:
            continue
        longer = any(
            other is not one
            and other.name in grammar.conditions
            and other.first <= one.first
            and one.end <= other.end
            and other.end - other.first > one.end - one.first
            for other in every
        )
        if longer:
            continue
        without = any(each.name == "without" and 0 <= one.first - each.end <= _CONDITION_REACH for each in inside)
        yield grammar.opposites[one.name] if without != part.inverted else one.name


def _attached(grammar: Grammar, parts: Sequence[_Part]) -> Iterable[tuple[Outcome, tuple[str, ...]]]:
    """Outcomes with the conditions that go with them.

    Of two opposites of which one has an outcome the other has the contrary: "without sudo nothing, with it my card".
    """
    waiting: list[str] = []
    last: Outcome | None = None
    given: dict[str, Outcome] = {}
    for at, part in enumerate(parts):
        if part.outcome is not None:
            both = (*part.conditions, *waiting)
            given.update(dict.fromkeys(both, part.outcome))
            yield part.outcome, both
            waiting, last = [], part.outcome
        elif part.conditions:
            later = any(one.outcome is not None for one in parts[at + 1 :])
            short = part.end - part.first <= _ASIDE
            contrary = [one for one in part.conditions if short and given.get(grammar.opposites[one]) in _CONTRARY]
            for one in contrary:
                yield _CONTRARY[given[grammar.opposites[one]]], (one,)
            rest = tuple(one for one in part.conditions if one not in contrary)
            if last is not None and (not later or (part.opener in _FOLLOWS and parts[at - 1].outcome is not None)):
                yield last, rest
            else:
                waiting.extend(rest)
    if waiting and last is not None:
        yield last, tuple(waiting)
