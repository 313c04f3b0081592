"""Phrases with a meaning: which of them stand in the words of a sentence.

A phrase is words in a row. In a table it may hold ``work~`` (works, worked, working), ``a|b`` (one of them), ``(the)``
(may be missing), ``_`` (any word), ``...`` (up to four words of one clause) and kinds of words such as ``<w>``, with a
bound where one is meant: ``<c>=90`` (from 90 on).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rocdoctor.parsers.prose.sentences import Word

BREAKS = frozenset(",;:.()?!")
_GAP = 4  # words
_MOST_FORMS = 400  # of one phrase
_VOWELS = "aeiou"
_Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mention:
    """A meaning, and the words (from, to) that have it."""

    name: str
    first: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class Phrases:
    """Phrases by their first word: (the words after it, the meaning)."""

    by_first: Mapping[str, tuple[tuple[_Parts, str], ...]]
    bounds: Mapping[str, tuple[str, ...]]  # kinds of words, and the first words that are such a kind with a bound
    names: frozenset[str]


def phrases_of(table: Mapping[str, Iterable[str]]) -> Phrases:
    """The phrases of a table of meanings, ready to be looked for."""
    found: dict[str, list[tuple[_Parts, str]]] = {}
    for name, written in table.items():
        for phrase in written:
            for parts in forms_of(phrase):
                found.setdefault(parts[0], []).append((parts[1:], name))
    bounds: dict[str, tuple[str, ...]] = {}
    for first in found:
        kind, bound, _ = first.partition("=")
        if bound and kind[:1] == "<":
            bounds[kind] = (*bounds.get(kind, ()), first)
    return Phrases({first: tuple(dict.fromkeys(rest)) for first, rest in found.items()}, bounds, frozenset(table))


def forms_of(phrase: str) -> list[_Parts]:
    """The phrases without alternatives that a written one stands for."""
    forms: list[_Parts] = [()]
    for word in phrase.lower().split():
        optional = word[0] == "(" and word[-1] == ")"
        options = [form for one in word.strip("()").split("|") for form in _inflected(one)]
        forms = [*(forms if optional else ()), *((*form, option) for form in forms for option in options)][:_MOST_FORMS]
    return [form for form in forms if form and form[0] not in ("_", "...")]


def _inflected(word: str) -> list[str]:
    """The forms of a regular verb or noun that is written with ``~``."""
    if not word.endswith("~"):
        return [word]
    stem = word[:-1]
    if stem.endswith("e"):
        return [stem, f"{stem}s", f"{stem}d", f"{stem[:-1]}ing"]
    if stem.endswith("y") and stem[-2] not in _VOWELS:
        return [stem, f"{stem[:-1]}ies", f"{stem[:-1]}ied", f"{stem}ing"]
    doubled = stem
    short = len(stem) <= 4 and sum(letter in _VOWELS for letter in stem) == 1
    if short and stem[-1] not in f"{_VOWELS}wxyks" and stem[-2] in _VOWELS:
        doubled = stem + stem[-1]
    plural = f"{stem}es" if stem.endswith(("s", "sh", "ch", "x", "z")) else f"{stem}s"
    return [stem, plural, f"{doubled}ed", f"{doubled}ing"]


def mentions_in(phrases: Phrases, words: Sequence[Word]) -> tuple[Mention, ...]:
    """Every phrase that stands in the words, by its place."""
    found: dict[Mention, None] = {}
    for at, word in enumerate(words):
        for key in (word.text, *word.kinds, *_bounded(phrases, word)):
            for rest, name in phrases.by_first.get(key, ()):
                end = _end(words, at + 1, rest)
                if end is not None:
                    found[Mention(name, at, end)] = None
    return tuple(found)


def _bounded(phrases: Phrases, word: Word) -> Iterator[str]:
    for kind in word.kinds:
        for key in phrases.bounds.get(kind, ()):
            if _fits(word, key):
                yield key


def _end(words: Sequence[Word], at: int, rest: _Parts) -> int | None:
    """Where a phrase ends whose next words are ``rest``; None where it does not stand there."""
    for place, part in enumerate(rest):
        if part == "...":
            for step in range(_GAP + 1):
                if any(one.text in BREAKS for one in words[at : at + step]):
                    return None
                end = _end(words, at + step, rest[place + 1 :])
                if end is not None:
                    return end
            return None
        if at >= len(words) or not _fits(words[at], part):
            return None
        at += 1
    return at


def _fits(word: Word, part: str) -> bool:
    if part == "_":
        return word.text not in BREAKS
    if part[0] == "<" and "=" in part:
        kind, _, least = part.partition("=")
        return kind in word.kinds and word.number is not None and word.number >= float(least)
    return part == word.text or part in word.kinds
