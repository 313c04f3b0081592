"""Environment variables: what the table knows about a name and its value.

The whole table takes 0.1 s to parse, so a variable is parsed from its own line when it is asked for, and the list of
names is read without parsing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from rocdoctor.knowledge.load import knowledge_folder, load_table, parse, words
from rocdoctor.model.lazy_re import regex

_NODE_FORM = regex(r"^HSA_OVERRIDE_GFX_VERSION_\d+$")


@dataclass(frozen=True, slots=True)
class EnvVariable:
    """A variable. ``status``: current, renamed, removed, never-existed, debug-only or internal.

    ``values`` is the whole list unless ``values_open``; ``case_free`` compares them without regard to case;
    ``minimum`` and ``maximum`` are limits, ``usual`` is not. ``severity`` (critical, high, medium, low, info) holds
    only for a value that is wrong for the machine.
    """

    name: str
    component: str
    status: str
    type: str
    vendor: str | None
    scope: str
    values: tuple[str, ...]
    values_open: bool
    case_free: bool
    minimum: int | None
    maximum: int | None
    usual: tuple[int, int] | None
    pattern: str | None
    default: str | None
    since: str | None
    until: str | None
    replaced_by: tuple[str, ...]
    aliases: tuple[str, ...]
    conflicts: tuple[str, ...]
    severity: str
    policy: str
    effect: str
    secret: bool
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BoolSpelling:
    """How a family of variables spells yes and no. ``otherwise``: what any other value does (false, unset, error)."""

    pattern: str
    true: tuple[str, ...]
    true_nonzero: bool
    false: tuple[str, ...]
    case_free: bool
    otherwise: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AllocatorOption:
    """One option of PYTORCH_ALLOC_CONF. ``kind``: bool, int, fraction, powers (of two) or word."""

    name: str
    kind: str
    minimum: int | None
    one_allowed: bool
    values: tuple[str, ...]
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FamilyRule:
    """A rule over names that match ``pattern``."""

    id: str
    pattern: str
    severity: str
    text: str
    not_when: tuple[str, ...]
    not_prefixes: tuple[str, ...]
    severity_for: Mapping[str, str]
    sources: tuple[str, ...]


@cache
def _lines() -> Mapping[str, str]:
    text = (knowledge_folder() / "env_vars.yaml").read_text(encoding="utf-8")
    return {
        match.group(1): match.group() for match in re.finditer(r"^- \{name: ([A-Za-z0-9_<>]+),.*$", text, re.MULTILINE)
    }


def env_names() -> frozenset[str]:
    """Every name of the table; ``HSA_OVERRIDE_GFX_VERSION_<node>`` stands for its numbered forms."""
    return frozenset(_lines())


@cache
def env_variable(name: str) -> EnvVariable | None:
    """What is known of a variable, or None when the table has no such name."""
    key = "HSA_OVERRIDE_GFX_VERSION_<node>" if _NODE_FORM.match(name) else name
    line = _lines().get(key)
    return _variable(parse("variables:\n" + line)["variables"][0]) if line is not None else None


def env_variables() -> tuple[EnvVariable, ...]:
    """The whole table, for lists; slow (about 0.1 s)."""
    return tuple(_variable(raw) for raw in load_table("env_vars")["variables"])


def _variable(raw: Any) -> EnvVariable:
    usual = raw.get("usual")
    return EnvVariable(
        name=raw["name"],
        component=raw["component"],
        status=raw["status"],
        type=raw["type"],
        vendor=raw.get("vendor"),
        scope=raw.get("scope", "runtime"),
        values=words(raw.get("values")),
        values_open=raw.get("open", False),
        case_free=raw.get("case") == "any",
        minimum=raw.get("min"),
        maximum=raw.get("max"),
        usual=(usual[0], usual[1]) if usual else None,
        pattern=raw.get("pattern"),
        default=raw.get("default"),
        since=raw.get("since"),
        until=raw.get("until"),
        replaced_by=words(raw.get("replaced_by")),
        aliases=words(raw.get("aliases")),
        conflicts=words(raw.get("conflicts")),
        severity=raw["severity"],
        policy=raw["policy"],
        effect=raw["effect"],
        secret=raw.get("secret", False),
        sources=words(raw["s"]),
    )


@cache
def bool_spellings() -> tuple[BoolSpelling, ...]:
    """The spellings of switches, most specific family first."""
    return tuple(
        BoolSpelling(
            raw["pattern"],
            words(raw["true"]),
            raw.get("true_nonzero", False),
            words(raw["false"]),
            raw["case"] == "any",
            raw["otherwise"],
            words(raw["s"]),
        )
        for raw in load_table("env_rules")["bool_spellings"]
    )


def bool_spelling(name: str) -> BoolSpelling | None:
    """The spelling that the reader of a variable accepts, or None where it is not known."""
    return next((one for one in bool_spellings() if re.match(one.pattern, name)), None)


@cache
def allocator_options() -> tuple[AllocatorOption, ...]:
    """The options of torch's caching allocator that are known."""
    return tuple(
        AllocatorOption(
            raw["name"], raw["kind"], raw.get("min"), raw.get("one", False), words(raw.get("values")), words(raw["s"])
        )
        for raw in load_table("env_rules")["allocator_options"]
    )


@cache
def family_rules() -> tuple[FamilyRule, ...]:
    """Rules over families of names."""
    return tuple(
        FamilyRule(
            raw["id"],
            raw["pattern"],
            raw["severity"],
            raw["text"],
            words(raw.get("not_when")),
            words(raw.get("not_prefixes")),
            raw.get("severity_for", {}),
            words(raw["s"]),
        )
        for raw in load_table("env_rules")["family_rules"]
    )


def rules_for(name: str) -> tuple[FamilyRule, ...]:
    """The family rules that a name falls under."""
    return tuple(rule for rule in family_rules() if re.match(rule.pattern, name))
