"""Which statements the claims of a text make: patterns over what its sentences mention and compare.

A pattern is words with a blank between them, which all must hold (``rocdoctor/knowledge/tables/told.yaml`` has them):
``name`` stands in one sentence together with the other plain names, ``name+`` in it or next to it, ``*name`` in any
sentence, ``!name`` not in that sentence, ``!*name`` in none; ``a|b`` is one of them. ``good:name`` is something that
works under a condition, in any sentence, ``bad:name`` what fails. ``good`` and ``bad`` are outcomes of a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.prose.claims import Utterance

_OUTCOMES = ("good", "bad", "same")
_NEAR = 3  # sentences before and behind one, within which what belongs together stands
_UNLIKE = ("advises", "wishes", "guesses")
_SHORT = 7  # sentences: longer texts in which nobody says "I" are pages, lists of changes and the like
_NONE: frozenset[str] = frozenset()
# "Everything works when I switch back to Vulkan": under this condition alone, so the trouble is not over.
_ONLY_WHEN = regex(
    r"(?i)\bworks\b[^.;]{0,30}?\b(?:(?:when|whenever|if) (?:I|we|using|it)|as long as|unless|until|except)\b"
)


@dataclass(frozen=True, slots=True)
class Pattern:
    """What must hold, and what must not, of one sentence, of those beside it, of the text, and of its comparisons."""

    here: tuple[frozenset[str], ...]
    near: tuple[frozenset[str], ...]
    text: tuple[frozenset[str], ...]
    not_here: frozenset[str]
    not_text: frozenset[str]
    compared: tuple[tuple[str, str], ...]


def pattern_of(written: str) -> Pattern:
    """The pattern that a row writes."""
    here, near, text = list[frozenset[str]](), list[frozenset[str]](), list[frozenset[str]]()
    not_here, not_text = set[str](), set[str]()
    compared: list[tuple[str, str]] = []
    for word in written.split():
        options = frozenset(word.strip("!*+").split("|"))
        outcome, _, name = word.partition(":")
        if name:
            compared.append((outcome, name))
        elif word.startswith("!*"):
            not_text |= options
        elif word.startswith("!"):
            not_here |= options
        elif word.startswith("*"):
            text.append(options)
        elif word.endswith("+"):
            near.append(options)
        else:
            here.append(options)
    return Pattern(tuple(here), tuple(near), tuple(text), frozenset(not_here), frozenset(not_text), tuple(compared))


@dataclass(frozen=True, slots=True)
class ReportMarks:
    """Meanings that tell of trouble, that it is over or none, and of whom a sentence speaks.

    ``settled``: it is over where no comparison is made by the sentence, and neither trouble nor a question follows.
    ``mended``: words of a sentence by which its writer may say that the own trouble is over (``ends_well``).
    """

    trouble: frozenset[str]
    resolved: frozenset[str]
    reader: frozenset[str]
    writer: frozenset[str]
    settled: frozenset[str] = _NONE
    mended: frozenset[str] = _NONE
    doubted: frozenset[str] = _NONE  # meanings beside ``mended`` that take it back
    remedies: frozenset[str] = _NONE  # conditions that are no comparison there: "solved by logging in again"


@dataclass(frozen=True, slots=True)
class Account:
    """The claims of a text: of each sentence what it mentions, and the comparisons of all.

    ``names`` are of sentences that tell what is so, empty for others; ``around`` those of the sentences near it, with
    what questions name; ``every`` those of all.
    """

    claims: tuple[Utterance, ...]
    names: tuple[frozenset[str], ...]
    around: tuple[frozenset[str], ...]
    every: frozenset[str]
    compared: Mapping[str, frozenset[str]]


def told_by(claims: Sequence[Utterance], opposites: Mapping[str, str]) -> Account:
    """The claims of a text together; a condition that makes no difference is none."""
    sides: dict[str, set[str]] = {"good": set(), "bad": set(), "same": set()}
    for claim in claims:
        if claim.voice == "tells":
            sides["good"] |= claim.good
            sides["bad"] |= claim.bad
            sides["same"] |= claim.same
    ineffective = sides["same"] | {opposites[name] for name in sides["same"] if name in opposites}
    ineffective |= {name for name in sides["good"] if opposites.get(name) in sides["good"]}
    compared = {side: frozenset(found - ineffective) for side, found in sides.items()}
    said = [one.names.difference(_OUTCOMES, sides["same"]) for one in claims]
    tells = [one.voice == "tells" for one in claims]
    names = [one | claim.outcomes if tell else _NONE for one, claim, tell in zip(said, claims, tells, strict=True)]
    heard = [
        one if tell else each if claim.voice == "asks" else _NONE
        for one, each, claim, tell in zip(names, said, claims, tells, strict=True)
    ]
    around = [_NONE.union(*heard[max(at - _NEAR, 0) : at + _NEAR + 1]) for at in range(len(heard))]
    return Account(tuple(claims), tuple(names), tuple(around), _NONE.union(*heard), compared)


def place_of(pattern: Pattern, told: Account) -> int | None:
    """The sentence (its place among the claims) that carries a pattern; None where it does not hold."""
    if told.every & pattern.not_text or any(name not in told.compared[side] for side, name in pattern.compared):
        return None
    for at, names in enumerate(told.names):
        if not names or any(names.isdisjoint(one) for one in pattern.here) or names & pattern.not_here:
            continue
        if any(told.around[at].isdisjoint(one) for one in pattern.text):
            continue
        if not pattern.here and pattern.text and names.isdisjoint(frozenset().union(*pattern.text)):
            continue
        beside = names.union(*told.names[max(at - 1, 0) : at], *told.names[at + 1 : at + 2])
        if not any(beside.isdisjoint(one) for one in pattern.near):
            return _carrier(pattern, told) if pattern.compared and not pattern.here else at
    return None


def _carrier(pattern: Pattern, told: Account) -> int:
    """The sentence that makes the first comparison of a pattern."""
    side, name = pattern.compared[0]
    for at, claim in enumerate(told.claims):
        if name in {"good": claim.good, "bad": claim.bad, "same": claim.same}[side]:
            return at
    return 0


def trouble_in(told: Account, marks: ReportMarks) -> int | None:
    """The sentence (its place) that tells of trouble that is there; None in a page, a wish, and where it is over."""
    at = next((at for at, one in enumerate(told.names) if one & marks.trouble), None)
    return None if at is not None and is_none(told, marks) else at


def is_none(told: Account, marks: ReportMarks) -> bool:
    """Whether a text in sentences is no report: it is over, a wish, a guess, advice, or speaks of others."""
    if not told.claims:
        return False
    every = [one.names for one in told.claims]
    voices = [one.voice for one in told.claims]
    unlike = sum(1 if one in ("advises", "wishes") else 0.5 for one in voices if one in _UNLIKE)
    over = any(one & marks.resolved for one in every) or _settled(told, marks)
    tells = voices.count("tells")
    own = any(one & marks.trouble and one & marks.writer for one in told.names)
    if over or (unlike and (unlike > tells or (unlike == tells and not own))):
        return True
    addressed = sum(bool(one & marks.reader) for one in every)
    return not any(one & marks.writer for one in every) and (2 * addressed >= len(every) or len(every) > _SHORT)


def _settled(told: Account, marks: ReportMarks) -> bool:
    """Whether the last word on the trouble is that it works."""
    last = next((at for at in range(len(told.claims) - 1, -1, -1) if told.claims[at].names & marks.settled), None)
    if last is None:
        return False
    one, later = told.claims[last], told.claims[last + 1 :]
    return (
        one.voice != "guesses"
        and not (one.good or one.bad)
        and not _ONLY_WHEN.search(one.sentence.text)
        and not any(each.voice == "asks" or "bad" in each.outcomes for each in later)
    )
