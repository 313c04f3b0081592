"""What people tell in words, as rows of ``told.yaml`` over the words of ``told_words.yaml``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from rocdoctor.knowledge.load import load_table, words
from rocdoctor.knowledge.messages.answers import When, when_of

if TYPE_CHECKING:  # every check reads names of kinds here, and little evidence holds sentences
    from rocdoctor.parsers.prose.claims import Grammar
    from rocdoctor.parsers.prose.statements import Pattern, ReportMarks

NO_REPORT = "told-no-report"
"""The sentences of the text are a page, a wish, a guess, advice, or tell of what is over."""

TROUBLE = "told-trouble"
"""A sentence tells of trouble of the machine that is there."""

OWN_TROUBLE = "told-own-trouble"
"""A sentence tells of trouble of the writer's own GPU (a row of ``told_states.yaml``)."""

SOUND = "told-sound"
"""A sentence tells that the machine works, and none of trouble of it."""

MENDED = "told-mended"
"""The writer says at the end of the text that the trouble is over: what the text shows is over too."""


@dataclass(frozen=True, slots=True)
class ToldAnswer:
    """A cause that a statement points to; without a sentence or a way out of its own the general one is said."""

    cause: str
    text: str = ""
    source: str = ""
    explains: tuple[str, ...] = ()
    when: When = field(default_factory=When)
    fix: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True)
class ToldKind:
    """A comparison or a state; ``despite``: what does not speak against it; ``trouble``: it is trouble by itself."""

    kind: str
    means: str
    patterns: tuple[Pattern, ...]
    answers: tuple[ToldAnswer, ...]
    despite: tuple[str, ...]
    examples: tuple[str, ...]
    counters: tuple[str, ...]
    trouble: bool = False


@cache
def told_grammar() -> Grammar:
    """The words of people and what they mean."""
    from rocdoctor.parsers.prose.claims import grammar_of

    return grammar_of(load_table("told_words"))


@cache
def report_marks() -> ReportMarks:
    """Which meanings show whether a text is a report of trouble."""
    from rocdoctor.parsers.prose.statements import ReportMarks

    table = load_table("told_words")

    def of(name: str) -> frozenset[str]:
        return frozenset(words(table["reports"][name]))

    return ReportMarks(
        trouble=of("trouble"),
        resolved=of("resolved"),
        reader=of("reader"),
        writer=of("writer"),
        settled=of("settled"),
        mended=of("mended"),
        doubted=of("doubted"),
        remedies=of("remedies"),
    )


@cache
def told_kinds() -> tuple[ToldKind, ...]:
    """The kinds of comparisons, then those of states, in the order in which they count."""
    return tuple(_kind(row) for table in ("told", "told_states") for row in load_table(table)["statements"])


def _kind(row: Mapping[str, Any]) -> ToldKind:
    from rocdoctor.parsers.prose.statements import pattern_of

    return ToldKind(
        row["kind"],
        row["means"],
        tuple(pattern_of(one) for one in row["told"]),
        _answers(row.get("says", ())),
        words(row.get("despite")),
        words(row.get("example")),
        words(row.get("counter")),
        row.get("trouble") is True,
    )


def _answers(rows: Sequence[Mapping[str, Any]]) -> tuple[ToldAnswer, ...]:
    return tuple(
        ToldAnswer(
            one["cause"],
            one.get("text", ""),
            one.get("source", ""),
            words(one.get("explains")),
            when_of(one.get("when", {})),
            one.get("fix", ""),
            one.get("command", ""),
        )
        for one in rows
    )
