"""Specifications from files: those that people write, and those in answers of our own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rocdoctor.host.live.regular_files import read_regular
from rocdoctor.parsers.formats.yaml_text import parse_json, parse_yaml
from rocdoctor.service.errors import UsageError
from rocdoctor.service.evidence import read_text

# A configuration of a model is a page; more is none.
_MOST_BYTES = 4_000_000
# The plans of an answer of ``recommend``.
PARTS = ("plan", "faster", "runner_up")


def load_spec(name: str) -> Any:
    """The specification of a file (``-``: standard input), with a ``config.json`` that its model names read in.

    That file lies beside the specification. ``FILE:faster`` and ``FILE:runner_up`` are the other plans of an answer of
    ``recommend``. Raises UsageError, and OSError for the ``config.json``.
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
    read = _read(str(path), read_regular(path, _MOST_BYTES).decode("utf-8", errors="replace"))
    if not isinstance(read, Mapping):
        raise UsageError(f"{config}: no configuration of a model")
    # A configuration has no name of its own; its folder often is the model's.
    named = {"name": Path(config).resolve().parent.name, **read}
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
    return read.value
