"""Finding known texts in log lines: a cheap test by words first, then one expression.

Every wording has a literal (``find``). Its longest word is the key of an index; a line whose words hit no key costs
no more than the split. Expressions are compiled when their literal is met for the first time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple, TypeVar

from rocdoctor.model import lazy_re
from rocdoctor.model.byte_translation import translated_bytes
from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.alike_lines import AlikeLines, alike
from rocdoctor.parsers.formats.text import pci_address

Value = str | int | float
T = TypeVar("T")

_BDF = r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
_HEX = r"0x[0-9a-fA-F]{1,16}"
_NO_FUNCTION = regex(r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\Z")
_WORD = regex(r"\w+")
# Everything that is no letter, digit or underscore parts words.
_PARTS = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) in "_\n")}
_PART_BYTES = bytes(ord(_PARTS.get(code, "\0")) or code for code in range(256))
# Words of the ordinary lines of a boot: as keys they would let too many lines through.
_COMMON = frozenset(
    {
        "amdgpu",
        "bar",
        "been",
        "bridge",
        "bus",
        "command",
        "cpu",
        "cpus",
        "device",
        "driver",
        "enabled",
        "end",
        "error",
        "failed",
        "firmware",
        "for",
        "from",
        "gpu",
        "hardware",
        "in",
        "initialized",
        "is",
        "kernel",
        "line",
        "link",
        "load",
        "loading",
        "mem",
        "memory",
        "module",
        "new",
        "node",
        "not",
        "number",
        "of",
        "page",
        "pci",
        "pcie",
        "port",
        "process",
        "ready",
        "reset",
        "ring",
        "size",
        "starting",
        "status",
        "support",
        "supported",
        "the",
        "this",
        "through",
        "timeout",
        "to",
        "up",
        "usb",
        "version",
        "with",
    }
)
_FACTOR = {"kib": 1024, "mib": 1024**2}


@dataclass(frozen=True, slots=True)
class Wording:
    """One text of a kind: the literals of which one must occur, the expression, and how lines belong together."""

    find: tuple[str, ...]
    match: str | None = None
    near: tuple[str, ...] = ()  # expressions that must all stand around the literal, in any order
    never: tuple[str, ...] = ()  # expressions of which none may stand there; both are asked in pasted texts alone
    fold: bool = False  # the literals are words of people, in lower case, and found in any case in pasted texts
    constants: Mapping[str, Value] = field(default_factory=dict)
    absence: bool = False  # "there is no" in front of it tells of what is the matter, not of what is not
    join: tuple[str, ...] = ()  # kinds whose latest event takes the values of this line
    alone: bool = True  # without such an event the line makes one of its own
    inherit: str | None = None  # kind of the line before that says which device is meant
    source: str = ""
    verified: bool = False


@dataclass(frozen=True, slots=True)
class Signature:
    """A kind of event: its severity class (fatal, degraded, note, benign), what it means, and its texts."""

    kind: str
    severity: str
    means: str
    wordings: tuple[Wording, ...]
    note: str | None = None
    codes: Mapping[int, tuple[str, str]] = field(default_factory=dict)  # code -> severity, meaning


Entry = tuple[int, Signature, Wording, str]  # its rank, and one literal of the wording


@dataclass(frozen=True, slots=True, eq=False)
class Matcher:
    """Signatures with the index from key words to wordings (in the order of the table)."""

    signatures: tuple[Signature, ...]
    index: Mapping[str, tuple[Entry, ...]]

    def signature(self, kind: str) -> Signature | None:
        """The signature of a kind, or None."""
        return next((one for one in self.signatures if one.kind == kind), None)


class WordingHere(NamedTuple):
    """A wording that texts of one shape may hold: ``exact`` where all of them do, whatever their digits are."""

    entry: Entry
    word: str
    exact: bool


def _rank(candidate: WordingHere) -> int:
    return candidate.entry[0]


def matcher(signatures: Iterable[Signature]) -> Matcher:
    """Signatures made ready to be looked for; a wording without a word in its literal is left out."""
    ordered = tuple(signatures)
    index: dict[str, list[Entry]] = {}
    rank = 0
    for signature in ordered:
        for wording in signature.wordings:
            rank += 1
            for literal in wording.find:
                if words := _WORD.findall(literal):
                    index.setdefault(max(words, key=_rarity), []).append((rank, signature, wording, literal))
    return Matcher(ordered, {word: tuple(entries) for word, entries in index.items()})


def _rarity(word: str) -> tuple[bool, int]:
    """Rare words first: those that ordinary lines seldom hold, then the longer ones."""
    return word.lower() not in _COMMON, len(word)


def only_words(text: str) -> str:
    """The text with blanks between its words and nothing else; line ends stay."""
    return text.translate(_PARTS) if text.isascii() else translated_bytes(text, _PART_BYTES)


def with_candidates(known: Matcher, lines: Sequence[T], texts: Sequence[str]) -> Iterator[tuple[T, list[WordingHere]]]:
    """The lines that may hold a wording, with these; what lines that differ in their digits share is found once."""
    if not texts:
        return
    words: dict[str, list[str]] = {}
    for word in known.index:
        words.setdefault(alike(word), []).append(word)
    by_shape = AlikeLines(texts)
    # One pass over all shapes is ten times as fast as one a line.
    parts = only_words("\n".join(by_shape.shapes)).split("\n")
    candidates: dict[int, list[WordingHere]] = {}
    for places, shape, part in zip(by_shape.lines, by_shape.shapes, parts, strict=True):
        found = [
            WordingHere(entry, word, not any(map(str.isdigit, word + entry[3])))
            for one in words.keys() & part.split()
            for word in words[one]
            for entry in known.index[word]
            if alike(entry[3]) in shape
        ]
        if found:
            candidates[places[0]] = sorted(found, key=_rank)
    for line, first in zip(lines, by_shape.first, strict=True):
        if first in candidates:
            yield line, candidates[first]


def first_of(candidates: Iterable[WordingHere], text: str) -> tuple[Signature, Wording, dict[str, Value]] | None:
    """The first wording of the table that a text holds, with its values; None when there is none."""
    for (_, signature, wording, literal), word, exact in candidates:
        if exact or (literal in text and word in only_words(text).split()):
            values = values_of(wording, text)
            if values is not None:
                return signature, wording, values
    return None


def values_of(wording: Wording, text: str) -> dict[str, Value] | None:
    """The values that a wording takes from a text; None when its expression does not fit."""
    if wording.match is None:
        return dict(wording.constants)
    found = compiled(wording.match).search(text)
    if found is None:
        return None
    values: dict[str, Value] = dict(wording.constants)
    for name, raw in found.groupdict().items():
        if raw is None:
            continue
        key, _, how = name.partition("__")
        value = _convert(raw, how)
        if value is not None:
            values[key + "_bytes" if how in _FACTOR and not key.endswith("_bytes") else key] = value
    _join_ids(values, "vendor_id", "device_id", "pci_id")
    _join_ids(values, "subsystem_vendor_id", "subsystem_device_id", "subsystem_id")
    return values


def _join_ids(values: dict[str, Value], vendor: str, device: str, name: str) -> None:
    """The two halves of a PCI id as one "1002:73bf"."""
    if vendor in values and device in values:
        values[name] = f"{values.pop(vendor)}:{values.pop(device)}".lower()


def _convert(raw: str, how: str) -> Value | None:
    raw = raw.strip()
    if not raw:
        return None
    try:
        if how == "int":
            return int(raw)
        if how == "float":
            return float(raw)
        if how in _FACTOR:
            return int(raw) * _FACTOR[how]
    except ValueError:
        return None
    if how == "hex":
        return "0x" + raw.lower().removeprefix("0x")
    if how == "bdf":
        return pci_address(raw + ".0" if _NO_FUNCTION.match(raw) else raw)
    return raw


def spelled_out(expression: str) -> str:
    """The expression with %bdf and %hex filled in."""
    return expression.replace("%bdf", _BDF).replace("%hex", _HEX)


@cache
def compiled(expression: str) -> re.Pattern[str]:
    """The expression with %bdf and %hex filled in; one that is no expression matches nothing."""
    try:
        return lazy_re.compiled(spelled_out(expression))
    except re.error:
        return re.compile(r"(?!)")
