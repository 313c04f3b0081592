"""What a rank of another node says of itself, with the types that the verdict over all ranks relies on. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, get_args

from rocdoctor.model.printable import clean
from rocdoctor.parsers.own.smoke_results import Layer, State
from rocdoctor.train.smoke.worker.compare import STAGES

_MOST = 200
_SIGNS = ("summed", "reduced", "whole", "every", "alike", "total")  # of a fault: it has them or not
_LONGEST = 600
_SENSELESS = {"state": "crashed", "kind": "error", "message": "its node reported a result that makes no sense"}


def record(word: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a rank that has run a mode or could not start; one of a crash where its word makes no sense."""
    state = word.get("state")
    if not isinstance(state, str) or state not in get_args(State):
        return dict(_SENSELESS)
    found: dict[str, Any] = {"state": state, "kind": _text(word.get("kind")), "message": _text(word.get("message"))}
    limits = _numbers(word.get("tolerances"))
    found["tolerances"] = limits
    found["errors"] = {name: error for name, error in _numbers(word.get("errors")).items() if name in limits}
    faults = word.get("faults")
    shown = [one for one in map(_fault, faults[:_MOST]) if one is not None] if isinstance(faults, list) else []
    if shown:
        found["faults"] = shown
    elif state == "fail":
        return dict(_SENSELESS)
    found["facts"] = _facts(word.get("facts"))
    return found


def _facts(told: Any) -> dict[str, Any]:
    """Those that every rank has; others are those of rank 0, which is on node 0."""
    if not isinstance(told, dict):
        return {}
    many = {name: told[name] for name in ("suspects", "computing") if isinstance(told.get(name), list)}
    found: dict[str, Any] = {name: _ranks(one) for name, one in many.items()}
    work, exchanges = told.get("work"), told.get("exchanges")
    if isinstance(work, bool) and isinstance(exchanges, list):
        found |= {"work": work, "exchanges": [_text(one) for one in exchanges[:_MOST]]}
    return found


def note(value: Any) -> dict[str, Any]:
    """What a rank wrote down of where it is (``train/smoke/worker/board.py``)."""
    if not isinstance(value, dict):
        return {}
    number = value.get("seq")
    told = {name: _text(value.get(name)) for name in ("mode", "mark", "call")}
    found = {**told, "seq": _whole(number) or 0, "pairs": value.get("pairs") is True}
    return found if (peer := _whole(value.get("peer"))) is None else {**found, "peer": peer}


def _fault(value: Any) -> dict[str, Any] | None:
    if not isinstance(value, dict) or value.get("stage") not in STAGES:
        return None
    step, turn = _whole(value.get("step")), _whole(value.get("turn"))
    if step is None or turn is None:
        return None
    found: dict[str, Any] = {"stage": value["stage"], "step": step, "turn": turn}
    found |= {"name": _text(value.get("name")), "words": _text(value.get("words"))}
    layer = value.get("layer")
    if isinstance(layer, str) and layer in get_args(Layer):
        found["layer"] = layer
    for name in ("origins", "between"):
        many = value.get(name)
        if isinstance(many, list) and (ranks := _ranks(many)):
            found[name] = ranks
    found |= {name: True for name in _SIGNS if value.get(name) is True}
    return found


def _text(value: Any) -> str:
    return clean(value)[:_LONGEST] if isinstance(value, str) else ""


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53 else None


def _ranks(many: list[Any]) -> list[int]:
    return [one for one in map(_whole, many[:65536]) if one is not None]


def _numbers(value: Any) -> dict[str, float]:
    """Numbers by name; what is infinitely wrong is a number too."""
    if not isinstance(value, dict):
        return {}
    return {
        _text(name): float(one)
        for name, one in list(value.items())[:_MOST]
        if isinstance(one, (int, float)) and not isinstance(one, bool) and not math.isnan(one)
    }
