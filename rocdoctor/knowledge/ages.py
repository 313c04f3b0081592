"""How old the tables of facts are: when each was read, and what of it nobody has read again.

Tables of texts (messages, symptoms) are left out: their rows name the program that prints them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rocdoctor.knowledge.load import KINDS, Kind, Table, knowledge_folder, profiles_folder, read_table


@dataclass(frozen=True, slots=True)
class TableAge:
    """A table of facts. ``newest`` and ``oldest`` are the days or months on which its sources were read.

    ``sources`` counts them by kind; those that are ``not-verified`` stand for rows from memory.
    """

    name: str
    newest: str
    oldest: str
    sources: dict[Kind, int]


def table_ages() -> tuple[TableAge, ...]:
    """Every table of facts and profile, the oldest first."""
    found = [_age(path, table) for path, table in fact_tables()]
    return tuple(sorted(found, key=lambda one: (one.newest, one.oldest, one.name)))


def fact_tables() -> Iterator[tuple[Path, Table]]:
    """Every table whose rows cite sources."""
    for path in (*sorted(knowledge_folder().glob("*.yaml")), *sorted(profiles_folder().glob("*-*.yaml"))):
        table = read_table(path)
        if "sources" in table:
            yield path, table


def _age(path: Path, table: Table) -> TableAge:
    sources: dict[Kind, int] = dict.fromkeys(KINDS, 0)
    for one in table["sources"].values():
        sources[one["kind"]] += 1
    days = [str(one.get("read", table["read_through"])) for one in table["sources"].values()]
    return TableAge(path.stem, max(days), min(days), sources)
