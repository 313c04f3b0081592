"""The masking tables, loaded once: the variable allow-list, common words and the patterns of secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from rocdoctor.knowledge.load import load_table

EnvKind = Literal["plain", "host", "user", "dropped"]


@dataclass(frozen=True, slots=True)
class SecretRule:
    """One format of a secret: tried where one of ``literals`` (lower case) occurs; ``s`` is the group to replace."""

    id: str
    literals: tuple[str, ...]
    pattern: re.Pattern[str]

    @property
    def token(self) -> str:
        return f"masked-{self.id}"


@dataclass(frozen=True, slots=True)
class MaskingTables:
    """All tables: ``env_names`` maps a variable to what its value is; names outside and no prefix mean drop."""

    env_names: Mapping[str, EnvKind]
    env_prefixes: tuple[str, ...]
    common_words: frozenset[str]
    secrets: tuple[SecretRule, ...]

    def env_kind(self, name: str) -> EnvKind:
        """What to do with the value of a variable: keep as text, treat as a host or user name, or drop."""
        kind = self.env_names.get(name)
        if kind is not None:
            return kind
        return "plain" if name.startswith(self.env_prefixes) else "dropped"


def _names(value: Sequence[Any]) -> list[str]:
    return [str(item) for item in value]


@lru_cache(maxsize=1)
def load_tables() -> MaskingTables:
    """The tables that ship with the package (``knowledge/masking.yaml``)."""
    data = load_table("masking")
    env = data["env"]
    kinds: dict[str, EnvKind] = dict.fromkeys(_names(env["names"]), "plain")
    kinds.update(dict.fromkeys(_names(env["host_values"]), "host"))
    kinds.update(dict.fromkeys(_names(env["user_values"]), "user"))
    kinds.update(dict.fromkeys(_names(env["dropped"]), "dropped"))
    rules = tuple(
        SecretRule(rule["id"], tuple(_names(rule["literals"])), re.compile(rule["pattern"])) for rule in data["secrets"]
    )
    return MaskingTables(kinds, tuple(_names(env["prefixes"])), frozenset(_names(data["common_words"])), rules)


def lower(text: str) -> str:
    """The text in lower case with every character at its place (a few letters become two in ``str.lower``)."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(c if len(c.lower()) != 1 else c.lower() for c in text)


def line_spans(text: str, stems: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where the lines are that have one of the stems (in lower case): (start, end), in order, each line once.

    Searching for plain words first and running an expression on these lines alone is ten times faster on kernel logs.
    """
    low = lower(text)
    nexts = {stem: low.find(stem) for stem in stems}
    while found := [at for at in nexts.values() if at >= 0]:
        first = min(found)
        start = low.rfind("\n", 0, first) + 1
        end = low.find("\n", first)
        end = len(low) if end < 0 else end + 1
        yield start, end
        for stem, at in nexts.items():
            if 0 <= at < end:
                nexts[stem] = low.find(stem, end)


def sub_lines(
    pattern: re.Pattern[str], replace: Callable[[re.Match[str]], str], text: str, stems: Sequence[str]
) -> str:
    """``pattern.sub`` on the lines that have one of the stems."""
    out: list[str] = []
    position = 0
    for start, end in line_spans(text, stems):
        out.append(text[position:start])
        out.append(pattern.sub(replace, text[start:end]))
        position = end
    if not out:
        return text
    out.append(text[position:])
    return "".join(out)
