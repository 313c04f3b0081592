"""Which causes a report is like, where it says that something does not work and nothing surer is known.

Words alone are weak: they count only in a report (sentences of a writer who tells of trouble, and does not give advice
or tell of the past), where nothing speaks against the machine, and above a threshold at which no sound text was blamed
when the weights were fitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rocdoctor.insight.texts.answers import Applied, filled, holds, values_of
from rocdoctor.insight.texts.named_things import named
from rocdoctor.insight.texts.pasted import vendors
from rocdoctor.knowledge.messages.likeness import Likely, likeness, weighed
from rocdoctor.knowledge.messages.open_symptoms import of_the_domain, of_trouble, speaking_against
from rocdoctor.knowledge.messages.remaining import remaining_causes
from rocdoctor.model.facts import Machine, Message
from rocdoctor.model.lazy_re import regex

SOFTWARE = "not-environment"
MOST = 3  # causes
_SHOWN = 4  # words of a cause
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
    if present & speaking_against() or not machine.told.sentences:
        return False
    if not present & of_trouble() or not (present & of_the_domain() or vendors(machine)):
        return False
    said = " ".join(machine.told.sentences)
    if all(one.rstrip().endswith("?") for one in machine.told.sentences):
        return False
    return not _PAST.search(said) and (bool(_FIRST_PERSON.search(said)) or not _ADVICE.search(said))


def likely_causes(machine: Machine) -> tuple[Likely, ...]:
    """At most three causes in the environment that words of the text speak for.

    None where the text is no such report, or too little like one.
    """
    return _above(machine, likeness().threshold) if machine.told.words else ()


def hinted_causes(machine: Machine) -> tuple[str, ...]:
    """Causes that are not likely enough to be named, and that a command rules out or shows, the likeliest first."""
    return () if likely_causes(machine) else tuple(one.cause for one in _above(machine, likeness().hints))


def _above(machine: Machine, threshold: float) -> tuple[Likely, ...]:
    if not machine.told.words or not is_report(machine):
        return ()
    found = weighed(likeness(), features(machine), most=3 * _SHOWN)
    blamed = [one for one in found if one.cause != SOFTWARE]
    if sum(one.share for one in blamed) <= threshold:
        return ()
    return tuple(one for one in blamed[:MOST] if _own_words(machine, one))


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
