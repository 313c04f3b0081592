"""How much a name tells of its value, and what a value may be: a placeholder, or what nobody would write by hand."""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import lru_cache

from rocdoctor.host.masking.rules import MaskingTables, load_tables
from rocdoctor.model.lazy_re import regex

KEY_REST = regex(r"[\w.-]{0,40}", re.ASCII)
# What the value itself is called where a name and its value have names of their own.
VALUE_NAMES = frozenset(("value", "values", "val", "v", "default", "content", "contents", "plaintext", "secretstring"))
NAME_OF_VARIABLE = regex(r"[A-Z][A-Z0-9]*_[A-Z0-9_]*")
_PLACEHOLDER = regex(
    r"(?:true|false|null|none|nil|yes|no|on|off|n/?a|unset|undefined|"
    r"not(?: (?:set|found|given|configured|needed|required))?|required|optional|enabled|disabled|redacted|"
    r"empty|missing|invalid|expired|str|string|bytes|\d{1,6}|[*x.-]+|\$[A-Za-z_{(]?[\w.:}?@)-]{0,80}|\$\{\{.*|%\w+%|\{\{.*|"
    r"%[-\d]{0,4}[sdvqr](?:\\\\[nrt]){0,3}|\{|\[|\(|\||>|<.*>|<<[-~]?[\"']?\w{1,40}[\"']?|inherit)[,;)\]}]*|configured\.",
    re.IGNORECASE | re.DOTALL,
)
_BY_HAND = regex(r"[\d.:+-]+|v?\d+(?:\.\w+)+|[\d.]+[a-zA-Z%]{1,6}|-?\d{1,4}(?:\.\d{1,20})?[eE][+-]\d{1,3}")
_OF_BOTH = regex(r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9+/=_.~!@#$%^&*-]+")


def secret_name(name: str) -> bool:
    """True for a variable name whose value is a secret by its name alone (``HF_TOKEN``, ``DB_PASSWORD``)."""
    return name not in ("PWD", "OLDPWD") and strongest_kind(name, load_tables()) in ("strong", "medium")


def kind_of_name(name: str, tables: MaskingTables) -> str | None:
    """How telling the whole name of a column is: a name of which only a part tells is one of another thing."""
    found = None
    for match in tables.keyword.finditer(name):
        rest = KEY_REST.match(name, match.end())
        if (rest.end() if rest else match.end()) != len(name):
            continue
        kind = kind_of(match, rest)
        plain = kind == "medium" and match.start() == 0  # "token", "pass": a count more often than not
        found = found or ("weak" if plain else kind)
    return found


def strongest_kind(name: str, tables: MaskingTables, most_behind: int | None = None) -> str | None:
    """The most telling kind among the words of a name; with ``most_behind`` of those that nearly end it."""
    kinds = set()
    for match in tables.keyword.finditer(name):
        behind = name[match.end() :]
        if most_behind is None or (len(behind) <= most_behind and " " not in behind):
            kinds.add(kind_of(match, KEY_REST.match(name, match.end())))
    return next((kind for kind in ("strong", "medium", "weak") if kind in kinds), None)


def placeholder(value: str) -> bool:
    """True for a value that stands for no secret at all: empty, a flag, a small number, a variable reference."""
    return not value.strip() or _PLACEHOLDER.fullmatch(value.strip()) is not None


# An option that does without: --auth-free, --password-less.
_WITHOUT = regex(r"(?i:[ _-]?(?:free|less)(?:ly)?(?![A-Za-z]))")


def kind_of(match: re.Match[str], rest: re.Match[str] | None) -> str | None:
    """How telling a name is: strong, medium, weak, or None when the word only starts like one (tokenizer, author)."""
    suffix = rest.group() if rest else ""
    kind, word = match.lastgroup, match.group().lower()
    if _WITHOUT.match(suffix):
        return None
    if suffix[:1] in ("s", "S") and not suffix[1:2].isalpha():
        suffix = suffix[1:]
        kind = "weak" if kind == "medium" else kind  # "tokens" is a count more often than not
    if kind == "strong":
        return None if suffix[:2].lower() == "_p" and word == "pwd" else kind
    if suffix[:1].isalpha():
        return kind if suffix.startswith(("Token", "Key", "Value", "String")) else None
    if word == "token" and re.match(r"_?(?:id|ids|count|type|len|length|limit|per|drop)", suffix[1:]):
        return None
    return kind


# What masking itself writes tells nothing, or masking again would find more each time.
_OWN = regex(r"(?<![A-Za-z0-9])(?:user|host|domain|email|ip|ssid|serial|uuid|wwn)-\d{1,6}(?:\.\d{1,3})?(?![A-Za-z0-9])")


# An argument of a call, and a name of three words or more in code: use_reentrant=False, torch_compile_backend.
_OF_CODE = regex(
    r"[a-z]{2,20}(?:_[a-z]{1,20}){0,6}=(?:True|False|None|\d{1,6}(?:\.\d{1,6})?)|[a-z]{2,20}(?:_[a-z]{2,20}){2,6}"
)


@lru_cache(maxsize=4096)
def looks_random(value: str) -> bool:
    """True for a value that nobody would write by hand: letters mixed with digits, or long with high entropy."""
    value = _OWN.sub("", value) if "-" in value else value
    if _OF_CODE.fullmatch(value):
        return False
    if len(value) < 6 or " " in value or value[:1] in "/~<(" or value[:2] in ("0x", "./") or _BY_HAND.fullmatch(value):
        return False
    if _OF_BOTH.fullmatch(value):
        return True
    if len(value) < 20:
        return False
    counts = Counter(value)
    return -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values()) >= 3.5


_MINTED = regex(r"(?=[^0-9]*[0-9][^0-9]*[0-9])(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])[A-Za-z0-9+/=-]{20,400}")


def looks_minted(value: str) -> bool:
    """True for what a program made at random: long, of capitals, small letters and digits, without parts."""
    return _MINTED.fullmatch(value) is not None and looks_random(value)
