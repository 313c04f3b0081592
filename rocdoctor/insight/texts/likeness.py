"""Which causes a report is like, where it says that something does not work and nothing surer is known.

Words alone are weak: they count only in a report (sentences of a writer who tells of trouble, and does not merely ask,
wish, give advice or tell of the past), and only where a single cause stands out: the share of the likeliest cause
decides, since a text that is a little like many causes is like none. At the threshold one sound text in a hundred is
blamed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import replace

from rocdoctor.insight.texts.answers import Applied, filled, holds, values_of
from rocdoctor.insight.texts.named_things import named
from rocdoctor.insight.texts.open_symptoms import tells_of_trouble
from rocdoctor.insight.texts.pasted import vendors
from rocdoctor.knowledge.messages.likeness import Likely, likeness, weighed
from rocdoctor.knowledge.messages.open_symptoms import of_the_domain
from rocdoctor.knowledge.messages.remaining import remaining_causes
from rocdoctor.model.facts import Machine, Message
from rocdoctor.model.lazy_re import regex

SOFTWARE = "not-environment"
MOST = 3  # causes
_SHOWN = 4  # words of a cause
_FURTHER = 10  # a third cause is named whose share is not smaller by more than this factor
_ADVICE = regex(r"(?i)\byou(?:r|'re|'ll)?\b|\bthey\b|\busers?\b")
_FIRST_PERSON = regex(r"(?i)(?<![/-])\b(?:i|i'm|i've|my|we|our|me|us)\b(?![/-])")
_PAST = regex(
    r"(?i)\b(?:since then|please close|closing(?: this| it| the issue)?[.!]|thanks to all|"
    r"(?:was|is|are|were|been) (?:now )?(?:fixed|solved|resolved)|(?:just|only) wonder(?:ing|ed)|out of curiosity|"
    r"works around|no crash|everything (?:works|as it should|out of the box|as in)|went (?:fine|well)|"
    r"(?:is|are) (?:this|that|they|these|those|it) (?:normal|harmless|expected|a problem)|"
    r"no (?:problems?|errors?|issues?)\b(?! (?:with|on|under|in) ))"
)


def features(machine: Machine) -> Mapping[str, int]:
    """What is weighed of a text: its words, the kinds of its signs, and the vendors of GPUs that it names."""
    found = {word: count for word, (count, _) in machine.told.words.items()}
    found.update({one.kind: 1 for one in machine.messages if one.kind.startswith("sign-") and one.role == "now"})
    found.update({f"vendor-{name}": 1 for name in vendors(machine)})
    return found


def is_report(machine: Machine) -> bool:
    """Whether somebody tells of trouble that the machine may be behind."""
    present = {one.kind for one in machine.messages if one.role == "now"}
    return tells_of_machine(present, machine.told.sentences, vendors(machine))


def tells_of_machine(present: Set[str], sentences: Sequence[str], named_vendors: Collection[str]) -> bool:
    """The same for the kinds of messages that stand there, the writer's sentences and the vendors that they name."""
    if not sentences or not (present & of_the_domain() or named_vendors):
        return False
    if not tells_of_trouble(present) or all(one.rstrip().endswith("?") for one in sentences):
        return False
    said = " ".join(sentences)
    return not _PAST.search(said) and (bool(_FIRST_PERSON.search(said)) or not _ADVICE.search(said))


def likely_causes(machine: Machine) -> tuple[Likely, ...]:
    """Two or three causes in the environment that words of the text speak for.

    None where the text is no such report, or no cause stands out.
    """
    found = _standing_out(machine, likeness().threshold)
    near = found[:2] + tuple(one for one in found[2:] if one.share * _FURTHER >= found[0].share)
    return tuple(one for one in near if _own_words(machine, one) and not _contradicted(machine, one.cause))


def hinted_causes(machine: Machine) -> tuple[str, ...]:
    """Causes that are not likely enough to be named, and that a command rules out or shows, the likeliest first."""
    return () if likely_causes(machine) else tuple(one.cause for one in _standing_out(machine, likeness().hints))


def _standing_out(machine: Machine, threshold: float) -> tuple[Likely, ...]:
    if not machine.told.words or not is_report(machine):
        return ()
    found = weighed(likeness(), features(machine), most=3 * _SHOWN)
    blamed = tuple(one for one in found if one.cause != SOFTWARE)[:MOST]
    return blamed if blamed[0].share > threshold and not _contradicted(machine, blamed[0].cause) else ()


def _contradicted(machine: Machine, cause: str) -> bool:
    """Whether the text shows that it is not this cause, whatever its words resemble."""
    values = values_of(machine, ())
    return any(holds(when, machine, values) for when in remaining_causes()[cause].unless)


def how_often(machine: Machine) -> str:
    """How often the likeliest cause was the right one where texts resembled one so closely; empty if not known."""
    found = likely_causes(machine)
    counted = likeness().how_often(found[0].share) if found else None
    return (
        ""
        if counted is None
        else f"Of {counted.answered} earlier reports that resembled one cause this closely, {counted.right} had it."
    )


def resembling(machine: Machine) -> tuple[Applied, ...]:
    """The likely causes as answers; the evidence is the lines with the words that speak for them."""
    found = ((one, answer_for(machine, one.cause)) for one in likely_causes(machine))
    return tuple(replace(answer, messages=_lines(machine, one)) for one, answer in found if answer is not None)


def answer_for(machine: Machine, cause: str) -> Applied | None:
    """What is said of a cause that may be behind it on this machine; None where no answer of the table holds."""
    values = {**values_of(machine, ()), **named(machine)}
    answers = (told for told in remaining_causes()[cause].answers if holds(told.when, machine, values))
    answer = next((told for told in answers if filled(told, values)), None)
    return None if answer is None else Applied(cause, answer, (), values)


def _lines(machine: Machine, likely: Likely) -> tuple[Message, ...]:
    """The words of the text that speak for a cause, with the line of each."""
    return tuple(Message("", machine.told.words[word][1], word) for word in _own_words(machine, likely))


def _own_words(machine: Machine, likely: Likely) -> list[str]:
    return [word for word in likely.words if word in machine.told.words][:_SHOWN]
