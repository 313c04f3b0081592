"""Advice that people follow and that is false, out of date or harmful: one record, several tables.

``advice_python.yaml`` holds what shows in Python code, ``advice_files.yaml`` what shows in shell, container, job and
requirement files. Both have the same form and are loaded by the same function::

    schema: 1
    sources:
      torch-2.13: {what: 'PyTorch 2.13.0, CPU build: executed', kind: measured}
    advice:
    - id: backend-hccl               # findings are named advice-<id>; ids are unique over all tables
      claim: The back end of torch.distributed on ROCm is called hccl.
      verdict: 'false'               # quoted, or YAML reads a boolean
      message: 'init_process_group is given the back end {value}'   # a sentence without its full stop
      truth: PyTorch on ROCm registers RCCL under the name nccl ...
      remedy: Use nccl.
      severity: warning              # warning or info; info where a condition cannot be seen in a file
      basis: tested
      s: [torch-2.13]                # ids of the table's sources, at least one
      match:                         # how it is seen; a side without a key does not look for it
        python: ...                  # read by rocdoctor.lint.python.rules
        files: ...                   # read by the rules for other files

``{value}`` is what stands in the file. A row without a source is refused, and so is a warning that rests on
``general-knowledge`` or ``not-verified`` alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from rocdoctor.knowledge.load import KINDS, TableError, load_table, source, words

AdviceVerdict = Literal["false", "stale", "harmful", "context-dependent", "true-but"]
AdviceBasis = Literal["tested", "source-read", "derived", "general-knowledge", "not-verified"]
AdviceSide = Literal["python", "files"]

VERDICTS: tuple[AdviceVerdict, ...] = ("false", "stale", "harmful", "context-dependent", "true-but")
BASES: tuple[AdviceBasis, ...] = ("tested", "source-read", "derived", "general-knowledge", "not-verified")
SIDES: tuple[AdviceSide, ...] = ("python", "files")
TABLES = ("advice_python", "advice_files")
PREFIX = "advice-"
_WEAK = ("general-knowledge", "not-verified")


@dataclass(frozen=True, slots=True)
class Advice:
    """A piece of advice and what is known of it.

    ``message`` is the sentence of a finding with ``{value}`` for what the file says. ``sources`` are ids of ``table``.
    ``match`` has a key for each side that looks for it; its value is that side's own.
    """

    id: str
    claim: str
    verdict: AdviceVerdict
    message: str
    truth: str
    remedy: str
    severity: Literal["warning", "info"]
    basis: AdviceBasis
    sources: tuple[str, ...]
    match: Mapping[str, Any]
    table: str

    @property
    def name(self) -> str:
        """How findings, ``--only``, ``--skip`` and ``explain`` call it."""
        return PREFIX + self.id

    @property
    def cited(self) -> tuple[str, ...]:
        """The sources in words."""
        told = [source(self.table, one) for one in self.sources]
        return tuple(one.what for one in told if one is not None)


def read_advice(table: Mapping[str, Any], name: str) -> tuple[Advice, ...]:
    """The rows of a table that was parsed; raises ``TableError`` naming the row that is wrong."""
    known = table.get("sources")
    if not isinstance(known, dict):
        raise TableError(f"{name}: no sources")
    for one, told in known.items():
        if not isinstance(told, dict) or not told.get("what") or told.get("kind") not in KINDS:
            raise TableError(f"{name}: the source {one} needs what and kind ({', '.join(KINDS)})")
    return tuple(_row(raw, name, known) for raw in table.get("advice") or ())


def _row(raw: Mapping[str, Any], name: str, known: Mapping[str, Any]) -> Advice:
    where = f"{name}: {raw.get('id', 'a row without id')}"
    for key in ("id", "claim", "message", "truth", "remedy"):
        if not isinstance(raw.get(key), str) or not raw[key].strip():
            raise TableError(f"{where}: {key} is not text")
    sources = words(raw.get("s"))
    if not sources:
        raise TableError(f"{where}: no source")
    if unknown := [one for one in sources if one not in known]:
        raise TableError(f"{where}: unknown source {unknown[0]}")
    for key, allowed in (("verdict", VERDICTS), ("basis", BASES), ("severity", ("warning", "info"))):
        if raw.get(key) not in allowed:
            raise TableError(f"{where}: {key} is none of {', '.join(allowed)}")
    if raw["severity"] == "warning" and raw["basis"] in _WEAK:
        raise TableError(f"{where}: a warning needs more than {raw['basis']}")
    match = raw.get("match")
    if not isinstance(match, dict) or not match or set(match) - set(SIDES):
        raise TableError(f"{where}: match has the keys {', '.join(SIDES)}, at least one of them")
    return Advice(
        raw["id"],
        raw["claim"],
        raw["verdict"],
        raw["message"],
        raw["truth"],
        raw["remedy"],
        raw["severity"],
        raw["basis"],
        sources,
        match,
        name,
    )


@cache
def all_advice() -> Mapping[str, Advice]:
    """Every piece of advice by id, over all tables."""
    found: dict[str, Advice] = {}
    for name in TABLES:
        for one in read_advice(load_table(name), name):
            if one.id in found:
                raise TableError(f"{name}: {one.id} is already set in {found[one.id].table}")
            found[one.id] = one
    return found


@cache
def advice_for(side: AdviceSide) -> tuple[Advice, ...]:
    """What one side looks for."""
    return tuple(one for one in all_advice().values() if side in one.match)


def advice_named(name: str) -> Advice | None:
    """The advice that is called ``advice-<id>``, or None."""
    return all_advice().get(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else None
