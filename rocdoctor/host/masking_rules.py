"""The masking tables, loaded once: the variable allow-list, common words, names and patterns of secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from rocdoctor.knowledge.load import load_table

EnvKind = Literal["plain", "host", "proxy", "user", "dropped"]


@lru_cache(maxsize=1024)
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression)


@dataclass(frozen=True, slots=True)
class SecretRule:
    """One format of a secret: tried where one of ``literals`` (lower case) occurs; ``s`` is the group to replace.

    ``span``: it may reach over line ends. ``random``: only for a value that nobody would write by hand.
    """

    id: str
    literals: tuple[str, ...]
    expression: str
    span: bool
    random: bool
    examples: tuple[str, ...]

    @property
    def pattern(self) -> re.Pattern[str]:
        """The expression, compiled when it is first needed: most texts hold no secret, and compiling takes 0.1 s."""
        return _compiled(self.expression)

    @property
    def token(self) -> str:
        return f"masked-{self.id}"


@dataclass(frozen=True, slots=True)
class PlaceRule:
    """A place that tells what a name is (group ``s``): tried where one of ``words`` (lower case) occurs."""

    kind: str
    words: tuple[str, ...]
    expression: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """The expression, compiled when it is first needed."""
        return _compiled(f"(?m:{self.expression})")


@dataclass(frozen=True, slots=True)
class MaskingTables:
    """All tables: ``env_names`` maps a variable to what its value is, ``env_numbered`` are names that end in a number.
    What is neither is dropped.

    ``literals``: each literal with the number of its rule, so that a text is asked once for each; ``span_literals``
    are those of rules that reach over line ends.
    """

    env_names: Mapping[str, EnvKind]
    env_numbered: tuple[str, ...]
    common_words: frozenset[str]
    folders: frozenset[str]
    public_domains: frozenset[str]
    places: tuple[PlaceRule, ...]
    secrets: tuple[SecretRule, ...]
    literals: tuple[tuple[str, int], ...]
    span_literals: tuple[tuple[str, int], ...]
    always: tuple[int, ...]
    keyword: re.Pattern[str]
    stems: tuple[str, ...]
    name_examples: tuple[str, ...]
    inert: frozenset[str]

    def env_kind(self, name: str) -> EnvKind:
        """What to do with the value of a variable: keep as text, treat as a host or user name, or drop."""
        kind = self.env_names.get(name)
        if kind is not None:
            return kind
        stem = name.rstrip("0123456789")
        return "plain" if stem != name and stem in self.env_numbered else "dropped"

    def rules_for(self, text: str, span: bool) -> list[SecretRule]:
        """The rules of which a literal occurs in the text."""
        low = text.lower()
        literals = self.span_literals if span else self.literals
        if len(low) > _LONG:
            # Searching once for each word costs more than asking first which signs there are at all.
            signs = set(low)
            literals = tuple(one for one in literals if signs.issuperset(one[0]))
        found = {number for literal, number in literals if literal in low}
        if not span:
            found.update(self.always)
        return [self.secrets[number] for number in sorted(found)]


_LONG = 4096

DROPPED = "<dropped>"
VALUE_TOKEN = "masked-value"
PRIVATE_KEY_TOKEN = "masked-private-key"
USERINFO_TOKEN = "masked-userinfo"
CODED_TOKEN = "masked-coded-secret"


def _names(value: Sequence[Any]) -> list[str]:
    return [str(item) for item in value]


@lru_cache(maxsize=1)
def load_tables() -> MaskingTables:
    """The tables of ``knowledge/masking.yaml``."""
    data = load_table("masking")
    env = data["env"]
    kinds: dict[str, EnvKind] = dict.fromkeys(_names(env["names"]), "plain")
    kinds.update(dict.fromkeys((name for family in env["families"] for name in _names(family["names"])), "plain"))
    kinds.update(dict.fromkeys(_names(env["host_values"]), "host"))
    kinds.update(dict.fromkeys(_names(env["proxy_values"]), "proxy"))
    kinds.update(dict.fromkeys(_names(env["user_values"]), "user"))
    kinds.update(dict.fromkeys(_names(env["dropped"]), "dropped"))
    rules = tuple(
        SecretRule(
            str(rule["id"]), tuple(_names(rule["literals"])), str(rule["pattern"]),
            bool(rule.get("span")), bool(rule.get("random")), tuple(_names(rule["examples"])),
        )
        for rule in data["secrets"]
    )  # fmt: skip
    places = tuple(
        PlaceRule(str(one["kind"]), tuple(_names(one["words"])), str(one["pattern"])) for one in data["places"]
    )
    literals, span_literals = (
        tuple((word, number) for number, rule in enumerate(rules) if rule.span is span for word in rule.literals)
        for span in (False, True)
    )
    names = data["secret_names"]
    groups = "|".join(f"(?P<{kind}>{'|'.join(names[kind])})" for kind in ("strong", "medium", "weak"))
    inert = {rule.token for rule in rules} | {VALUE_TOKEN, PRIVATE_KEY_TOKEN, USERINFO_TOKEN, CODED_TOKEN, DROPPED}
    return MaskingTables(
        kinds, tuple(_names(env["numbered"])), frozenset(_names(data["common_words"])),
        frozenset(_names(data["folders"])), frozenset(_names(data["public_domains"])), places, rules, literals,
        span_literals, tuple(number for number, rule in enumerate(rules) if not rule.literals),
        re.compile(groups, re.IGNORECASE | re.ASCII), tuple(_names(names["stems"])), tuple(_names(names["examples"])),
        frozenset(inert),
    )  # fmt: skip


_FILL = {
    "alnum": "a7Bq3XcV9mKe2TzR5pLw8YdN4sJh6GfU1o", "hex": "3fa91c7e5b08d264", "upper": "Q7WZ3KXJ9VB2MTR5",
    "digits": "7301946258", "b64": "aGVs7bG8gd2+9ybGQhIFRoa/XMgaXMg",
}  # fmt: skip
_SLOT = re.compile(r"<(alnum|hex|upper|digits|b64):(\d{1,4})>")


def example(text: str) -> tuple[str, list[str]]:
    """An example of the tables with its slots filled, and what was filled in."""
    filled: list[str] = []

    def one(match: re.Match[str]) -> str:
        signs, count = _FILL[match[1]], int(match[2])
        filled.append((signs * (count // len(signs) + 1))[:count])
        return filled[-1]

    return _SLOT.sub(one, text), filled


def lower(text: str) -> str:
    """The text in lower case with every character at its place (a few letters become two in ``str.lower``)."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(c if len(c.lower()) != 1 else c.lower() for c in text)


def line_spans(text: str, stems: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where the lines are that have one of the stems (in lower case): (start, end), in order, each line once.

    Searching for plain words first and running an expression on these lines alone is ten times faster on kernel logs.
    """
    low = lower(text)
    nexts = {stem: at for stem in stems if (at := low.find(stem)) >= 0}
    while nexts:
        first = min(nexts.values())
        start = low.rfind("\n", 0, first) + 1
        end = low.find("\n", first)
        end = len(low) if end < 0 else end + 1
        yield start, end
        for stem, at in list(nexts.items()):
            if at < end:
                at = low.find(stem, end)
                if at < 0:
                    del nexts[stem]
                else:
                    nexts[stem] = at


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
