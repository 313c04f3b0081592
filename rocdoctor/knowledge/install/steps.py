"""Steps of an installation: argument templates from the tables, filled with what is known of a machine.

A template keeps the names that nobody filled; such a step is not ready and must not be run. No step goes through a
shell: a command is a list of words.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, TypeAlias

from rocdoctor.knowledge.load import KINDS, Kind, load_table, words
from rocdoctor.model.lazy_re import regex

Words: TypeAlias = tuple[str, ...]
After = Literal["", "new-login", "reboot"]
_NAME = regex(r"\{([a-z_0-9]+)\}")


@dataclass(frozen=True, slots=True)
class InstallStep:
    """One thing to do: a file with lines, then commands. ``after``: what the next step waits for.

    ``sources`` stand in the knowledge table ``table``; ``kind`` is that of the weakest.
    """

    id: str
    text: str
    run: tuple[Words, ...] = ()
    root: bool = False
    file: str | None = None
    lines: Words = ()
    after: After = ""
    sources: Words = ()
    kind: Kind = "primary"
    table: str = ""

    @property
    def missing(self) -> Words:
        """Names that are still open, sorted."""
        return open_names([self.file or "", *self.lines, *(word for command in self.run for word in command)])


@dataclass(frozen=True, slots=True)
class RepositoryHost:
    """An official repository of a vendor. ``base`` None: the address was not read, and ``page`` shows it."""

    name: str
    base: str | None
    vendor: str
    page: str
    sources: Words


def open_names(templates: Iterable[str]) -> Words:
    """The names in curly braces, sorted."""
    return tuple(sorted({name for text in templates for name in _NAME.findall(text)}))


def fill_text(template: str, values: Mapping[str, str]) -> str:
    """A template with the values that exist; a value may hold names itself (one level)."""
    for _ in range(2):
        template = _NAME.sub(lambda found: values.get(found[1], found[0]), template)
    return template


def _fill_words(command: Words, values: Mapping[str, str], lists: Mapping[str, Words]) -> Words:
    filled: list[str] = []
    for word in command:
        found = _NAME.fullmatch(word)
        if found is not None and found[1] in lists:
            filled += lists[found[1]]
        else:
            filled.append(fill_text(word, values))
    return tuple(filled)


def fill(step: InstallStep, values: Mapping[str, str], lists: Mapping[str, Words] | None = None) -> InstallStep:
    """The step with names filled; ``lists`` are for names that stand for several words of a command."""
    return replace(
        step,
        run=tuple(_fill_words(command, values, lists or {}) for command in step.run),
        file=None if step.file is None else fill_text(step.file, values),
        lines=tuple(fill_text(line, values) for line in step.lines),
    )


def weakest(table: str, sources: Iterable[str]) -> Kind:
    """The kind of the weakest of these sources of a table."""
    known = load_table(table)["sources"]
    kinds: list[Kind] = [known[one]["kind"] for one in sources]
    return KINDS[max((KINDS.index(one) for one in kinds), default=len(KINDS) - 1)]


@cache
def hosts() -> Mapping[str, RepositoryHost]:
    """The official repositories by name."""
    rows = load_table("install")["hosts"]
    return {
        name: RepositoryHost(name, raw["base"], raw["vendor"], raw["page"], words(raw["s"]))
        for name, raw in rows.items()
    }


@cache
def host_values() -> Mapping[str, str]:
    """The addresses that are known, as values of templates; ``amd_legacy_name`` is the bare host name for apt pins."""
    values = {name: one.base for name, one in hosts().items() if one.base is not None}
    if "amd_legacy" in values:
        values["amd_legacy_name"] = values["amd_legacy"].split("//", 1)[1]
    return values


@cache
def table_steps(table: str) -> Mapping[str, InstallStep]:
    """The steps of a table by id, not filled."""
    return {name: _step(table, name, raw) for name, raw in load_table(table)["steps"].items()}


def _step(table: str, name: str, raw: Any) -> InstallStep:
    sources = words(raw["s"])
    return InstallStep(
        name,
        raw["do"],
        tuple(tuple(shlex.split(one)) for one in raw.get("run", ())),
        raw["root"],
        raw.get("file"),
        tuple(raw.get("lines", ())),
        raw.get("after", ""),
        sources,
        weakest(table, sources),
        table,
    )


def steps_of(
    table: str, names: Iterable[str], values: Mapping[str, str], lists: Mapping[str, Words] | None = None
) -> tuple[InstallStep, ...]:
    """Steps of a table in this order, filled with addresses of hosts and ``values``."""
    known = {**host_values(), **values}
    found: list[InstallStep] = []
    for name in names:
        step = table_steps(table)[name]
        # A step is worth no more than the source of an address in it.
        kinds: list[Kind] = [
            step.kind,
            *(weakest("install", hosts()[one].sources) for one in step.missing if one in hosts()),
        ]
        found.append(replace(fill(step, known, lists), kind=KINDS[max(map(KINDS.index, kinds))]))
    return tuple(found)


def missing_names(steps: Iterable[InstallStep]) -> Words:
    """The names that are open in any of the steps, sorted."""
    return tuple(sorted({name for step in steps for name in step.missing}))
