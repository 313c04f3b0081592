"""Plans that were tried on a GPU (``rocdoctor smoke --plan``): how they are written in a specification.

A trial is a mapping in ``gpu.trials``: ``day``, ``kind`` and ``plan`` (mappings that say what ran), ``layers``
(the depths that ran), ``live``, ``reserved`` and ``speed``: measured over estimated, of the whole plan; ``speed`` is
null where no rate is known. ``outside_gib`` is what the GPU held beside torch's allocator, null on the CPU.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MOST = 16
_LONGEST = 2000
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\Z")
# An estimate that is off by more is no estimate of what ran.
_FACTOR = (0.02, 50.0)


@dataclass(frozen=True, slots=True)
class Trial:
    """One plan that was tried; ``kind`` and ``plan`` are canonical JSON."""

    day: str
    kind: str
    plan: str
    layers: tuple[int, ...]
    whole: bool
    live: float
    reserved: float
    speed: float | None
    outside_gib: float | None = None

    def as_json(self) -> dict[str, Any]:
        """As it stands in a specification."""
        return {
            "day": self.day,
            "kind": json.loads(self.kind),
            "plan": json.loads(self.plan),
            "layers": list(self.layers),
            "whole": self.whole,
            "live": round(self.live, 4),
            "reserved": round(self.reserved, 4),
            "speed": None if self.speed is None else round(self.speed, 4),
            "outside_gib": None if self.outside_gib is None else round(self.outside_gib, 2),
        }


def canonical(values: Mapping[str, Any]) -> str:
    """A mapping of plain values as one text, the same whatever the order of its keys."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"))


def read_trials(raw: Any) -> tuple[Trial, ...]:
    """The trials of ``gpu.trials``, the latest last; what is none is left out. Never raises: anybody may write them."""
    listed = raw if isinstance(raw, list | tuple) else ()
    return tuple(one for each in listed[-MOST:] if isinstance(each, Mapping) and (one := _read(each)) is not None)


def _read(raw: Mapping[str, Any]) -> Trial | None:
    live, reserved = _factor(raw.get("live")), _factor(raw.get("reserved"))
    kind, plan, day = raw.get("kind"), raw.get("plan"), _day(raw)
    layers = raw.get("layers")
    if live is None or reserved is None or not isinstance(kind, Mapping) or not isinstance(plan, Mapping):
        return None
    if day is None or not isinstance(layers, list | tuple) or not 1 <= len(layers) <= 2:
        return None
    if not all(type(one) is int and 0 < one <= 10_000 for one in layers):
        return None
    outside = raw.get("outside_gib")
    if isinstance(outside, bool) or not isinstance(outside, int | float) or not 0 <= outside < 10_000:
        outside = None
    try:
        words = canonical(kind), canonical(plan)
    except (TypeError, ValueError, RecursionError):
        return None
    if max(map(len, words)) > _LONGEST:
        return None
    whole = raw.get("whole") is True
    return Trial(day, *words, tuple(layers), whole, live, reserved, _factor(raw.get("speed")), outside)


def _day(raw: Mapping[Any, Any]) -> str | None:
    # The field was called ``on`` first, which YAML 1.1 takes for true.
    given = next((raw[key] for key in ("day", "on", True) if key in raw), None)
    words = given.isoformat()[:10] if isinstance(given, datetime.date) else given
    return words if isinstance(words, str) and _DAY.match(words) else None


def _factor(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if _FACTOR[0] <= value <= _FACTOR[1] else None
