"""What the message of a program points to, as rows of the tables: ``says`` and ``ask`` of ``messages_*.yaml``.

An answer is a sentence with the values of the message, a remedy and the condition under which it holds. Texts and
commands hold ``{name}`` (a value of the message, or ``gpu``, ``gfx``, ``system`` of the machine) or ``{name|words}``
with what is said where the message does not hold it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from rocdoctor.knowledge.load import words
from rocdoctor.knowledge.messages.program_errors import Confidence, message_rows

Place = Literal["container", "wsl", "slurm", "windows"]


@dataclass(frozen=True, slots=True)
class When:
    """What must hold for an answer; what is empty is not asked. Of a list one is enough, but for ``without``.

    ``vendor``: of a GPU that is named, or none is named; ``named``: one of it is named. ``gfx``: the target of an AMD
    GPU; ``values``: values of the message: words in which ``*`` stands for any signs. ``lacks``: a value that lists
    targets, without that of the GPU. ``below``: two values that are numbers, the first less than 3/4 of the second.
    ``every``: kinds that must all stand in the text, where of ``together`` one is enough. ``driver_below``: the NVIDIA
    driver is known and older; ``toolkit_from``: a CUDA toolkit of this release or a newer one is known. ``traits``:
    what must all be known of the machine, by names of ``rocdoctor.insight.texts.traits``; a name behind ``not-`` must
    not be. ``unlike``: two values that are both known and differ. ``capability_below``: NVIDIA GPUs are named, and each
    is known to be of an older compute capability than this one.
    """

    vendor: str = ""
    inside: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    together: tuple[str, ...] = ()  # kinds of messages of which one must stand in the text too
    without: tuple[str, ...] = ()  # kinds of which none may
    variables: tuple[str, ...] = ()
    gfx: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    named: str = ""
    lacks: str = ""
    below: tuple[str, ...] = ()
    every: tuple[str, ...] = ()
    driver_below: str = ""
    toolkit_from: str = ""
    traits: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()
    capability_below: str = ""


@dataclass(frozen=True, slots=True)
class MessageAnswer:
    """One cause that a message may have; ``text``, ``fix``, ``command`` and ``verify`` are templates."""

    cause: str
    text: str
    fix: str
    confidence: Confidence = "likely"
    severity: Literal["error", "warning", "info"] = "error"
    command: str = ""
    verify: str = ""
    safety: Literal["safe", "reboots", "risky", "manual"] = "manual"
    explains: tuple[str, ...] = ()
    finer: str = ""  # an id of ``finer`` in causes.yaml
    when: When = When()


@dataclass(frozen=True, slots=True)
class MessageQuestion:
    """A command that tells the causes of a message apart, and what each outcome means."""

    command: str
    why: str


class _Answers(Mapping[str, tuple[MessageAnswer, ...]]):
    """The answers by the kind of message; those of one kind are made when they are asked for."""

    def __init__(self, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        self._rows = rows
        self._made: dict[str, tuple[MessageAnswer, ...]] = {}

    def __getitem__(self, kind: str) -> tuple[MessageAnswer, ...]:
        if kind not in self._made:
            self._made[kind] = tuple(answer_of(one) for one in self._rows[kind])
        return self._made[kind]

    def __contains__(self, kind: object) -> bool:
        return kind in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


@cache
def message_answers() -> Mapping[str, tuple[MessageAnswer, ...]]:
    """The answers of each kind of message that has some, in the order of the tables."""
    return _Answers({row["kind"]: row["says"] for row in message_rows() if row.get("says")})


@cache
def message_questions() -> Mapping[str, tuple[MessageQuestion, ...]]:
    """The questions of each kind of message that has some."""
    return {
        row["kind"]: tuple(MessageQuestion(str(one["command"]), str(one["why"])) for one in row["ask"])
        for row in message_rows()
        if row.get("ask")
    }


def answer_of(row: Mapping[str, Any]) -> MessageAnswer:
    """An answer of a row."""
    told = {name: value for name, value in row.items() if name not in ("when", "explains")}
    return MessageAnswer(**told, explains=words(row.get("explains")), when=when_of(row.get("when", {})))


def when_of(row: Mapping[str, Any]) -> When:
    """A condition of a row."""

    def some(name: str) -> tuple[str, ...]:
        return words(row.get(name))

    return When(
        row.get("vendor", ""),
        some("in"),
        some("not_in"),
        some("with"),
        some("without"),
        some("variable"),
        some("gfx"),
        {name: words(value) for name, value in row.get("values", {}).items()},
        row.get("named", ""),
        row.get("lacks", ""),
        some("below"),
        some("with_all"),
        str(row.get("driver_below", "")),
        str(row.get("toolkit_from", "")),
        some("traits"),
        some("unlike"),
        str(row.get("capability_below", "")),
    )
