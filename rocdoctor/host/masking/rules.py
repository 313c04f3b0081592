"""The masking tables, loaded once: the variable allow-list, common words, names and patterns of secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from rocdoctor.host.masking.images import image_places
from rocdoctor.host.masking.word_lookup import LONG, different, fours, shapes_of, short_words, words_by_start
from rocdoctor.knowledge.load import load_table
from rocdoctor.model.lazy_re import compiled, regex
from rocdoctor.parsers.formats.alike_lines import alike

_MOST_CONTINUED = 8000  # signs of one command

EnvKind = Literal["plain", "host", "proxy", "user", "dropped"]


@lru_cache(maxsize=1024)
def pattern_of(expression: str) -> re.Pattern[str]:
    """The pattern of an expression of ours, made once."""
    return compiled(expression)


@dataclass(frozen=True, slots=True)
class SecretRule:
    """One format of a secret: tried where one of ``literals`` (lower case) occurs; ``s`` is the group to replace.

    ``span``: it may reach over line ends. ``random``: only for a value that nobody would write by hand. ``begins``: one
    of these (lower case) begins each match of the expression; empty where that is not known.
    """

    id: str
    literals: tuple[str, ...]
    expression: str
    span: bool
    random: bool
    examples: tuple[str, ...]
    begins: tuple[str, ...]

    @property
    def pattern(self) -> re.Pattern[str]:
        """The expression, compiled when it is first needed: most texts hold no secret, and compiling takes 0.1 s."""
        return pattern_of(self.expression)

    @property
    def token(self) -> str:
        return f"masked-{self.id}"


@dataclass(frozen=True, slots=True)
class PlaceRule:
    """A place that tells what a name is (group ``s``): tried where one of ``words`` (lower case) occurs.

    ``continued``: the lines that such a line goes on in, by a ``\\`` at its end, belong to it.
    """

    kind: str
    words: tuple[str, ...]
    expression: str
    continued: bool = False

    @property
    def pattern(self) -> re.Pattern[str]:
        """The expression, compiled when it is first needed."""
        return pattern_of(f"(?m:{self.expression})")


@dataclass(frozen=True, slots=True)
class CommandRule:
    """A program that takes a secret: tried where one of ``words`` (lower case) occurs.

    ``after``: options whose value is one; ``glued``: options that it directly follows; ``behind``: the sign in the
    value behind which it stands; ``place``: the number of the word that is one, options and the values of those in
    ``takes`` aside; ``piped``: it is what is said to the program by ``echo`` or ``<<<``.
    """

    words: tuple[str, ...]
    program: str
    after: tuple[str, ...]
    glued: tuple[str, ...]
    takes: tuple[str, ...]
    behind: str
    place: int
    piped: bool
    examples: tuple[str, ...]

    @property
    def pattern(self) -> re.Pattern[str]:
        """Where the program is called, with its subcommand; compiled when it is first needed."""
        parts = r"[\"']?,?[ \t]{1,8}[\"']?(?:-{1,2}[\w=-]{1,40}[ \t]{1,8}(?:[^\s-][^\s]{0,40}[ \t]{1,8})?){0,2}".join(
            re.escape(part) for part in self.program.split(" ")
        )
        return pattern_of(rf"(?<![\w.-])(?i:{parts})(?![\w.-])")


@dataclass(frozen=True, slots=True)
class MaskingTables:
    """All tables: ``env_names`` maps a variable to what its value is, ``env_numbered`` are names that end in a number.
    What is neither is dropped.

    ``literals``: each literal with the numbers of its rules, so that a text is asked once for each; ``span_literals``
    are those of rules that reach over line ends.
    """

    env_names: Mapping[str, EnvKind]
    env_numbered: tuple[str, ...]
    common_words: frozenset[str]
    folders: frozenset[str]
    public_domains: frozenset[str]
    public_accounts: frozenset[str]
    columns: Mapping[str, str]
    beside: frozenset[str]
    places: tuple[PlaceRule, ...]
    places_of: Mapping[str, tuple[int, ...]]
    secrets: tuple[SecretRule, ...]
    commands: tuple[CommandRule, ...]
    commands_of: Mapping[str, tuple[int, ...]]
    prints: tuple[tuple[frozenset[str], str], ...]  # the words of a command, and what it prints
    literals: Mapping[str, tuple[int, ...]]
    span_literals: Mapping[str, tuple[int, ...]]
    always: tuple[int, ...]
    words: Mapping[int, tuple[tuple[str, int, str], ...]]
    signs: frozenset[int]  # the first and the last bytes of these words
    short_words: Mapping[str, tuple[str, ...]]
    keyword: re.Pattern[str]
    stems: tuple[str, ...]
    stem: re.Pattern[str]
    name_examples: tuple[str, ...]
    inert: frozenset[str]
    services: frozenset[str]
    system_groups: frozenset[str]

    def env_kind(self, name: str) -> EnvKind:
        """What to do with the value of a variable: keep as text, treat as a host or user name, or drop."""
        kind = self.env_names.get(name)
        if kind is not None:
            return kind
        stem = name.rstrip("0123456789")
        return "plain" if stem != name and stem in self.env_numbered else "dropped"

    def rules_for(self, text: str, span: bool, present: Collection[str] | None = None) -> list[SecretRule]:
        """The rules of which a literal occurs in the text; ``present`` are the words in it, where they are known."""
        rules = self.span_literals if span else self.literals
        if present is None:
            low = text.lower()
            present = [word for word in rules if word in low]
        found = {number for word in present for number in rules.get(word, ())}
        if not span:
            found.update(self.always)
        return [self.secrets[number] for number in sorted(found)]

    def commands_for(self, low: str, present: Collection[str] | None) -> Iterator[tuple[CommandRule, list[str]]]:
        """The rules for programs that may be called in a text in lower case, with those of their words that occur."""
        if present is None:
            present = {word for word in self.commands_of if word in low}
        for number in sorted({number for word in present for number in self.commands_of.get(word, ())}):
            rule = self.commands[number]
            yield rule, [word for word in rule.words if word in present]

    def words_in(self, low: str) -> frozenset[str]:
        """Which of the words of rules and places may occur in a text in lower case.

        Hundreds are asked at once: only those whose first and last signs occur are searched. Long texts repeat
        themselves, so their different lines are asked, with the digits made equal, and of long lines their different
        pieces.
        """
        shapes = different(alike(low)) if len(low) > LONG else alike(low)
        signs = fours(shapes, self.signs)
        found = [
            word
            for start in signs & self.words.keys()
            for word, end, shape in self.words[start]
            if end in signs and shape in shapes
        ]
        for shape, words in self.short_words.items():
            if shape in shapes:
                found += words
        return frozenset(found)


def _numbers(rows: Iterable[tuple[str, int]]) -> dict[str, tuple[int, ...]]:
    """The numbers of each word."""
    found: dict[str, tuple[int, ...]] = {}
    for word, number in rows:
        found[word] = (*found.get(word, ()), number)
    return found


DROPPED = "<dropped>"
VALUE_TOKEN = "masked-value"
PRIVATE_KEY_TOKEN = "masked-private-key"
USERINFO_TOKEN = "masked-userinfo"
CODED_TOKEN = "masked-coded-secret"


_OWN_WORD = regex(r"masked-[a-z]{1,20}(?:-[a-z]{1,20}){0,3}")


def own_word(text: str, at: int) -> str:
    """The word of masking itself that begins at a place."""
    found = _OWN_WORD.match(text, at)
    return found.group() if found else ""


def _names(value: Sequence[Any]) -> list[str]:
    return [str(item) for item in value]


@lru_cache(maxsize=1)
def load_tables() -> MaskingTables:
    """The tables of ``knowledge/tables/masking.yaml``."""
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
            str(rule["id"]),
            tuple(_names(rule["literals"])),
            str(rule["pattern"]),
            bool(rule.get("span")),
            bool(rule.get("random")),
            tuple(_names(rule["examples"])),
            tuple(_names(rule.get("begins", []))),
        )
        for rule in data["secrets"]
    )
    places = tuple(
        PlaceRule(str(one["kind"]), tuple(_names(one["words"])), str(one["pattern"])) for one in data["places"]
    ) + tuple(PlaceRule("account", *place, continued=True) for place in image_places(data["images"]))
    places_of = _numbers((word, number) for number, place in enumerate(places) for word in place.words)
    commands = tuple(
        CommandRule(
            tuple(_names(one.get("words", [str(one["program"]).split(" ")[0].lower()]))),
            str(one["program"]),
            tuple(_names(one.get("after", []))),
            tuple(_names(one.get("glued", []))),
            tuple(_names(one.get("takes", []))),
            str(one.get("behind", "")),
            int(one.get("place", 0)),
            bool(one.get("piped")),
            tuple(_names(one["examples"])),
        )
        for one in data["commands"]
    )
    literals, span_literals = (
        _numbers((word, number) for number, rule in enumerate(rules) if rule.span is span for word in rule.literals)
        for span in (False, True)
    )
    words = [*literals, *places_of, *(word for command in commands for word in command.words)]
    long_words = words_by_start(words)
    names = data["secret_names"]
    groups = "|".join(f"(?P<{kind}>{'|'.join(names[kind])})" for kind in ("strong", "medium", "weak"))
    inert = {rule.token for rule in rules} | {VALUE_TOKEN, PRIVATE_KEY_TOKEN, USERINFO_TOKEN, CODED_TOKEN, DROPPED}
    return MaskingTables(
        kinds,
        tuple(_names(env["numbered"])),
        frozenset(_names(data["common_words"])),
        frozenset(_names(data["folders"])),
        frozenset(_names(data["public_domains"])),
        frozenset(_names(data["public_accounts"])),
        {str(name): kind for kind in ("user", "hosts", "job", "serial") for name in data["columns"][kind]},
        frozenset(_names(data["columns"]["beside"])),
        places,
        places_of,
        rules,
        commands,
        _numbers((word, number) for number, command in enumerate(commands) for word in command.words),
        tuple((frozenset(_names(one["words"])), str(one["what"])) for one in data["prints"]),
        literals,
        span_literals,
        tuple(number for number, rule in enumerate(rules) if not rule.literals),
        long_words,
        frozenset(sign for start, rows in long_words.items() for row in rows for sign in (start, row[1])),
        short_words(words),
        compiled(groups, re.IGNORECASE | re.ASCII),
        tuple(_names(names["stems"])),
        compiled("|".join(map(re.escape, _names(names["stems"])))),
        tuple(_names(names["examples"])),
        frozenset(inert),
        frozenset(_names(data["services"])),
        frozenset(_names(data["system_groups"])),
    )


_FILL = {
    "alnum": "a7Bq3XcV9mKe2TzR5pLw8YdN4sJh6GfU1o",
    "hex": "3fa91c7e5b08d264",
    "upper": "Q7WZ3KXJ9VB2MTR5",
    "digits": "7301946258",
    "b64": "aGVs7bG8gd2+9ybGQhIFRoa/XMgaXMg",
}
_SLOT = regex(r"<(alnum|hex|upper|digits|b64):(\d{1,4})>")


def example(text: str) -> tuple[str, list[str]]:
    """An example of the tables with its slots filled, and what was filled in."""
    filled: list[str] = []

    def one(match: re.Match[str]) -> str:
        signs, count = _FILL[match[1]], int(match[2])
        filled.append((signs * (count // len(signs) + 1))[:count])
        return filled[-1]

    return _SLOT.sub(one, text), filled


@lru_cache(maxsize=2)
def lower(text: str) -> str:
    """The text in lower case with every character at its place (a few letters become two in ``str.lower``).

    Kept, since many rules ask for the same text one after the other.
    """
    low = text.lower()
    return low if len(low) == len(text) else "".join(c if len(c.lower()) != 1 else c.lower() for c in text)


def line_spans(text: str, stems: Iterable[str], continued: bool = False) -> Iterator[tuple[int, int]]:
    """Where the lines are that have one of the stems (in lower case): (start, end), in order, each line once.

    ``continued``: with the lines that follow one that ends with a ``\\``.

    Searching for plain words first and running an expression on these lines alone is ten times faster on kernel logs.
    """
    low = lower(text)
    find, ends = low.find, dict[int, int]()
    for stem in stems:
        end, at = 0, find(stem)
        while at >= 0:
            start = low.rfind("\n", end, at) + 1 or end
            end = find("\n", at) + 1 or len(low)
            while continued and end < min(len(low), at + _MOST_CONTINUED) and low.endswith(("\\\n", "\\\r\n"), at, end):
                end = find("\n", end) + 1 or len(low)
            ends[start] = end
            at = find(stem, end)
    position = 0
    for start, end in sorted(ends.items()):
        if end > position:
            yield max(start, position), end
            position = end


def sub_lines(
    pattern: re.Pattern[str],
    replace: Callable[[re.Match[str]], str],
    text: str,
    stems: Iterable[str],
    continued: bool = False,
) -> str:
    """``pattern.sub`` on the lines that have one of the stems, with any digit where a stem has one."""
    shapes, digits = shapes_of(tuple(stems))
    searched = alike(text) if digits else text
    if not any(map(lower(searched).__contains__, shapes)):  # as in most short texts, which are many
        return text
    out: list[str] = []
    position = 0
    for start, end in line_spans(searched, shapes, continued):
        line = text[start:end]
        made = pattern.sub(replace, line)
        if made != line:
            out += (text[position:start], made)
            position = end
    return "".join((*out, text[position:])) if out else text


def sub_begun(
    pattern: re.Pattern[str], replace: Callable[[re.Match[str]], str], text: str, begins: Iterable[str]
) -> str:
    """``pattern.sub`` where each match begins with one of these (lower case), which are looked for as plain words."""
    low = lower(text)
    places: list[int] = []
    for word in begins:
        at = low.find(word)
        while at >= 0:
            places.append(at)
            at = low.find(word, at + 1)
    return sub_at(pattern, replace, text, sorted(places))


def sub_at(pattern: re.Pattern[str], replace: Callable[[re.Match[str]], str], text: str, places: Iterable[int]) -> str:
    """``pattern.sub`` where matches begin at some of these places (ascending) and nowhere else."""
    out: list[str] = []
    position = 0
    for at in places:
        if at >= position and (match := pattern.match(text, at)):
            out += (text[position:at], replace(match))
            position = match.end()
    return "".join((*out, text[position:])) if out else text
