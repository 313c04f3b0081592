"""Smoke runs as JSON (``rocdoctor.smoke/1``), and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast, get_args

from rocdoctor.model.facts.smoke import Layer, ModeResult, RankResult, SmokeRun, SmokeState
from rocdoctor.parsers.formats.json_values import number, objects, text, texts, whole

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
        "world": run.world,
        "backend": run.backend,
        "device": run.device,
        "torch": run.torch,
        "wall_s": round(run.wall_s, 3),
        "memory_bytes": run.memory_bytes,
        "modes": [_mode(one) for one in run.modes],
        "untested": list(run.untested),
        "notes": list(run.notes),
        "figures": dict(run.figures),
    }


def _mode(one: ModeResult) -> dict[str, Any]:
    return {
        "mode": one.mode,
        "state": one.state,
        "wall_s": round(one.wall_s, 3),
        "message": one.message,
        "max_error": dict(one.max_error),
        "tolerance": dict(one.tolerance),
        "layer": one.layer or None,
        "step": one.step,
        "named": list(one.named),
        "facts": dict(one.facts),
        "ranks": [
            {"rank": rank.rank, "state": rank.state, "gpu": rank.gpu, "message": rank.message} for rank in one.ranks
        ],
    }


def from_text(recorded: str) -> tuple[SmokeRun, ...]:
    """The runs of a recorded answer; empty when it is none. Never raises: it may be anybody's file."""
    try:
        data = json.loads(recorded)
    except (ValueError, RecursionError):
        return ()
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        return ()
    return tuple(_read_run(one) for one in [data, *objects(data.get("more"))[: _MAX_RUNS - 1]])


def _read_run(data: dict[str, Any]) -> SmokeRun:
    return SmokeRun(
        whole(data.get("world")) or 0,
        _said(data, "backend"),
        _said(data, "device"),
        _said(data, "torch") or None,
        number(data.get("wall_s")) or 0.0,
        tuple(_read_mode(one) for one in objects(data.get("modes"))[:_MAX_MODES]),
        texts(data.get("untested"), 20, _MAX_TEXT),
        texts(data.get("notes"), 20, _MAX_TEXT),
        whole(data.get("memory_bytes")) or None,
        read_figures(data.get("figures")),
    )


def _read_mode(data: dict[str, Any]) -> ModeResult:
    told = data.get("named")
    named = {one for one in told if isinstance(one, int)} if isinstance(told, list) else set()
    ranks = tuple(
        RankResult(
            whole(one.get("rank")) or 0,
            _state(one.get("state")),
            _said(one, "message"),
            _said(one, "gpu") or None,
            one.get("rank") in named,
        )
        for one in objects(data.get("ranks"))[:_MAX_RANKS]
    )
    step = data.get("step")
    return ModeResult(
        _said(data, "mode"),
        _state(data.get("state")),
        number(data.get("wall_s")) or 0.0,
        _said(data, "message"),
        _numbers(data.get("max_error")),
        _numbers(data.get("tolerance")),
        _layer(data.get("layer")),
        step if isinstance(step, int) else None,
        ranks,
        data["facts"] if isinstance(data.get("facts"), dict) else {},
    )


def _said(data: dict[str, Any], key: str) -> str:
    return text(data.get(key), _MAX_TEXT) or ""


def _numbers(value: Any) -> dict[str, float]:
    if not isinstance(value, dict):
        return {}
    return {str(name)[:80]: number(one) or 0.0 for name, one in list(value.items())[:20]}


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
        return value if number(value) is not None else None
    return list(texts(value, 20, _MAX_TEXT)) if isinstance(value, list) else None
