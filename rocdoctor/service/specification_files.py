"""Specifications from files: those that people write, and those in answers of our own."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rocdoctor.host.live.regular_files import read_regular
from rocdoctor.parsers.formats.yaml_text import parse_json, parse_yaml
from rocdoctor.service.errors import UsageError
from rocdoctor.service.evidence import read_text
from rocdoctor.train.recommend.model.hugging_face import fields_of

# A configuration of a model is a page; more is none.
_MOST_BYTES = 4_000_000
# The plans of an answer of ``recommend``.
PARTS = ("plan", "faster", "runner_up")


def load_spec(name: str) -> Any:
    """The specification of a file (``-``: standard input), with a ``config.json`` that its model names read in.

    That file lies beside the specification or below, since a stranger may have written it; only what plans are made
    from is taken of it. Values are those of JSON, days are words. ``FILE:faster`` and ``FILE:runner_up`` are the other
    plans of an answer of ``recommend``. Raises UsageError, and OSError for the ``config.json``.
    """
    before, _, part = name.rpartition(":")
    name, part = (before, part) if before and part in PARTS else (name, "plan")
    spec = _plan_of(name, _read(name, read_text(name)), part)
    if name == "-":
        return spec
    model = spec.get("model") if isinstance(spec, Mapping) else None
    config = model.get("config") if isinstance(model, Mapping) else model
    if not isinstance(config, str) or not config.endswith(".json"):
        return spec
    path = Path(name).parent / config
    beside = Path(os.path.realpath(path)).is_relative_to(os.path.realpath(Path(name).parent))
    if Path(config).is_absolute() or ".." in Path(config).parts or not beside:
        raise UsageError(f"{name}: its model's '{config[:200]}' is elsewhere: put a copy of that file next to it")
    read = _read(str(path), read_regular(path, _MOST_BYTES).decode("utf-8", errors="replace"))
    if not isinstance(read, Mapping):
        raise UsageError(f"{config}: no configuration of a model")
    # A configuration has no name of its own; its folder often is the model's.
    named = {"name": path.absolute().parent.name, **fields_of(read)}
    return {**spec, "model": {**named, **(model if isinstance(model, Mapping) else {})}}


def _plan_of(name: str, read: Any, part: str) -> Any:
    """The plan's specification where the file is an answer of ``recommend`` or ``estimate``."""
    if not isinstance(read, Mapping):
        return read
    if read.get("schema") in ("rocdoctor.estimate/1", "rocdoctor.trial/1"):
        return read.get("spec")
    if read.get("schema") != "rocdoctor.recommend/1":
        return read
    plan = read.get(part)
    if not isinstance(plan, Mapping) and isinstance(read.get("plan"), Mapping):
        raise UsageError(f"{name}: it holds no plan '{part}'")
    if not isinstance(plan, Mapping):
        raise UsageError(f"{name}: nothing fitted there, so it holds no plan")
    return plan.get("spec")


def _read(name: str, text: str) -> Any:
    read = parse_json(text) if name.endswith(".json") else parse_yaml(text)
    if read.problem:
        raise UsageError(f"{'standard input' if name == '-' else name}: {read.problem}")
    try:
        return _plain(read.value, {})
    except ValueError as error:
        raise UsageError(f"{'standard input' if name == '-' else name}: {error}") from None
    except RecursionError:
        raise UsageError(f"{'standard input' if name == '-' else name}: too deeply nested") from None


def _plain(value: Any, known: dict[int, Any]) -> Any:
    """A value of YAML as JSON has them; raises ValueError for what it cannot hold.

    ``known``: what stands for lists and mappings that were met, since aliases mean one of them many times.
    """
    if isinstance(value, Mapping | list | tuple):
        if id(value) not in known:
            known[id(value)] = (
                {_key(key): _plain(one, known) for key, one in value.items()}
                if isinstance(value, Mapping)
                else [_plain(one, known) for one in value]
            )
        return known[id(value)]
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError("a number of more than 64 bits")
    if value is None or isinstance(value, str | int | float):
        return value
    raise ValueError(f"a {type(value).__name__}, which JSON has not: give texts, numbers, lists and mappings")


def _key(key: Any) -> str:
    if key is True:
        return "on"  # which YAML 1.1 takes for a truth
    return str(_plain(key, {}))
