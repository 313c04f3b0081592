"""Links between GPUs as rocm-smi and amd-smi list them, gathered from several tables into one record a pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rocdoctor.parsers.formats.text import number, to_int, value_of

MAX_GPUS = 1024
MAX_LINKS = 100_000


@dataclass(frozen=True, slots=True)
class SmiLink:
    """The link of GPUs ``a`` < ``b`` (the tool's own numbers); ``type`` is "xgmi" or "pcie".

    ``weight`` is KFD's io_link weight, 15 for one xGMI hop.
    """

    a: int
    b: int
    line: int
    type: str | None = None
    weight: int | None = None
    hops: int | None = None


class LinkTable:
    """Collects link fields while a text is read; the lower-numbered direction wins where both are listed."""

    def __init__(self) -> None:
        self._fields: dict[tuple[int, int], dict[str, Any]] = {}
        self._reversed: set[tuple[int, int, str]] = set()

    def add(self, a: int, b: int, field: str, raw: object, line: int) -> None:
        """Note that the table for ``field`` says ``raw`` about the way from ``a`` to ``b``."""
        if a == b or not (0 <= a < MAX_GPUS and 0 <= b < MAX_GPUS):
            return
        pair = (min(a, b), max(a, b))
        known = self._fields.get(pair)
        if known is None:
            if len(self._fields) >= MAX_LINKS:
                return
            known = self._fields[pair] = {"line": line}
        for name, value in _link_fields(field, raw).items():
            mark = (*pair, name)
            if name not in known or (a < b and mark in self._reversed):
                known[name] = value
                self._reversed.discard(mark)
                if a > b:
                    self._reversed.add(mark)

    def links(self) -> tuple[SmiLink, ...]:
        """All links about which something is known, ordered by their ends."""
        pairs = sorted(self._fields.items())
        return tuple(SmiLink(a, b, **fields) for (a, b), fields in pairs if len(fields) > 1)


def _link_fields(field: str, raw: object) -> dict[str, Any]:
    text = str(raw) if isinstance(raw, (str, int)) and not isinstance(raw, bool) else ""
    word = value_of(text)
    if field == "type":
        kind = (word or "").lower()
        return {"type": kind} if kind in ("xgmi", "pcie") else {}
    value = to_int(word) if word else None
    if value is None and isinstance(raw, dict):
        amount = number(raw)
        value = int(amount) if amount is not None else None
    # All bits set is the library's "no such value".
    if value is None or value < 0 or value >= 0xFFFFFFFF:
        return {}
    return {field: value}
