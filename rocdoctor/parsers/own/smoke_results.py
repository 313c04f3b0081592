"""Smoke runs as JSON (``rocdoctor.smoke/1``), and back."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, cast, get_args

from rocdoctor.model.facts.smoke import Layer, ModeResult, RankResult, SmokeRun, SmokeState

_MAX_FIGURES, _MAX_ENTRIES, _MAX_FIELDS, _MAX_TEXT = 100, 8192, 30, 300

__all__ = ["Layer", "ModeResult", "RankResult", "SmokeRun", "State", "from_text", "to_json", "to_text"]
State = SmokeState
SCHEMA = "rocdoctor.smoke/1"
_MAX_RUNS, _MAX_MODES, _MAX_RANKS, _MAX_TEXT = 8, 500, 4096, 2000


def to_json(runs: Sequence[SmokeRun]) -> dict[str, Any]:
    """The contract: the first run at the top, others (one GPU alone, then shared) under ``more``."""
    first, *more = [_run(one) for one in runs]
    return {"schema": SCHEMA, **first, **({"more": more} if more else {})}


def to_text(runs: Sequence[SmokeRun]) -> str:
    """The same as it is recorded."""
    return json.dumps(to_json(runs), indent=1)


def _run(run: SmokeRun) -> dict[str, Any]:
    return {
        "world": run.world, "backend": run.backend, "device": run.device, "torch": run.torch,
        "wall_s": round(run.wall_s, 3), "memory_bytes": run.memory_bytes, "modes": [_mode(one) for one in run.modes],
        "untested": list(run.untested), "notes": list(run.notes), "figures": dict(run.figures),
    }  # fmt: skip


def _mode(one: ModeResult) -> dict[str, Any]:
    return {
        "mode": one.mode, "state": one.state, "wall_s": round(one.wall_s, 3), "message": one.message,
        "max_error": dict(one.max_error), "tolerance": dict(one.tolerance), "layer": one.layer or None,
        "step": one.step, "named": list(one.named), "facts": dict(one.facts),
        "ranks": [
            {"rank": rank.rank, "state": rank.state, "gpu": rank.gpu, "message": rank.message} for rank in one.ranks
        ],
    }  # fmt: skip


def from_text(text: str) -> tuple[SmokeRun, ...]:
    """The runs of a recorded answer; empty when it is none. Never raises: it may be anybody's file."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        return ()
    return tuple(_read_run(one) for one in [data, *_objects(data.get("more"))[: _MAX_RUNS - 1]])


def _read_run(data: dict[str, Any]) -> SmokeRun:
    return SmokeRun(
        _whole(data.get("world")), _text(data.get("backend")), _text(data.get("device")),
        _text(data.get("torch")) or None, _number(data.get("wall_s")),
        tuple(_read_mode(one) for one in _objects(data.get("modes"))[:_MAX_MODES]),
        _texts(data.get("untested")), _texts(data.get("notes")), _whole(data.get("memory_bytes")) or None,
        read_figures(data.get("figures")),
    )  # fmt: skip


def _read_mode(data: dict[str, Any]) -> ModeResult:
    named = {one for one in data.get("named") or () if isinstance(one, int)} if _is_list(data.get("named")) else set()
    ranks = tuple(
        RankResult(
            _whole(one.get("rank")), _state(one.get("state")), _text(one.get("message")),
            _text(one.get("gpu")) or None, one.get("rank") in named,
        )
        for one in _objects(data.get("ranks"))[:_MAX_RANKS]
    )  # fmt: skip
    step = data.get("step")
    return ModeResult(
        _text(data.get("mode")), _state(data.get("state")), _number(data.get("wall_s")), _text(data.get("message")),
        _numbers(data.get("max_error")), _numbers(data.get("tolerance")),
        _layer(data.get("layer")), step if isinstance(step, int) else None, ranks,
        data["facts"] if isinstance(data.get("facts"), dict) else {},
    )  # fmt: skip


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value[:_MAX_TEXT] if isinstance(value, str) else ""


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(_text(one) for one in value[:20] if isinstance(one, str)) if isinstance(value, list) else ()


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    try:
        return float(value) if math.isfinite(value) else 0.0
    except OverflowError:
        return 0.0


def _numbers(value: Any) -> dict[str, float]:
    if not isinstance(value, dict):
        return {}
    return {str(name)[:80]: _number(one) for name, one in list(value.items())[:20]}


def _layer(value: Any) -> Layer:
    return cast(Layer, value) if isinstance(value, str) and value in get_args(Layer) else ""


def _state(value: Any) -> SmokeState:
    return cast(SmokeState, value) if isinstance(value, str) and value in get_args(SmokeState) else "unknown"


def read_figures(data: object) -> dict[str, list[dict[str, Any]]]:
    """Figures of a recorded answer, bounded and without anything but numbers and short texts. Never raises."""
    if not isinstance(data, dict):
        return {}
    found: dict[str, list[dict[str, Any]]] = {}
    for name, entries in list(data.items())[:_MAX_FIGURES]:
        if isinstance(name, str) and isinstance(entries, list):
            found[name[:80]] = [_read_entry(one) for one in entries[:_MAX_ENTRIES] if isinstance(one, dict)]
    return found


def _read_entry(data: dict[str, Any]) -> dict[str, Any]:
    return {str(key)[:60]: _read_value(value) for key, value in list(data.items())[:_MAX_FIELDS]}


def _read_value(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value[:_MAX_TEXT]
    if isinstance(value, int | float):
        try:
            return value if math.isfinite(value) else None
        except OverflowError:
            return None
    if isinstance(value, list):
        return [one[:_MAX_TEXT] for one in value[:20] if isinstance(one, str)]
    return None
