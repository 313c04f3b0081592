"""The two plans of ``recommend --compare``: files, or the options with changes."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, get_args

from rocdoctor.model.facts import Machine
from rocdoctor.service.errors import UsageError
from rocdoctor.service.plan_trials import fleet_with_trials, spec_with_trials
from rocdoctor.service.planning import PlanOptions, fleet_on, nodes_of, site_of, workload_of
from rocdoctor.service.specification_files import load_spec
from rocdoctor.train.recommend.advise import recommend
from rocdoctor.train.recommend.compared import Side
from rocdoctor.train.recommend.errors import SpecError
from rocdoctor.train.recommend.estimate import solve
from rocdoctor.train.recommend.plan import Fleet, Goal, Method, Products

# No change: the plan that these options give.
RECOMMENDED = "recommended"
_FILES = (".yaml", ".yml", ".json")


def _one_of(values: tuple[str, ...]) -> Callable[[str], str]:
    def read(word: str) -> str:
        if word not in values:
            raise ValueError(f"one of {', '.join(values)}")
        return word

    return read


_KEYS: Mapping[str, Callable[[str], Any]] = {
    "model": str,
    "method": _one_of(get_args(Method)),
    "seq": int,
    "global_batch": int,
    "goal": _one_of(get_args(Goal)),
    "framework": str,
    "lora_rank": int,
    "products": _one_of(get_args(Products)),
    "gpus": str,
    "nodes": int,
    "ram": float,
}


def compared(options: PlanOptions, first: str, second: str) -> tuple[Side, Side]:
    """Both sides; raises UsageError for what is neither a file nor a change, and for impossible input."""
    looked_at: list[Machine] = []
    return _side(options, first, looked_at), _side(options, second, looked_at)


def _side(options: PlanOptions, words: str, looked_at: list[Machine]) -> Side:
    try:
        if words.lower().endswith(_FILES) and "=" not in words:
            return Side(words, solve(spec_with_trials(load_spec(words))))
        changed = replace(options, **_changes(words))
        if changed.model is None:
            raise UsageError(f"--compare {words}: no model; give --model, or model=NAME here")
        workload = workload_of(changed, changed.model)
        answer = recommend(_fleet(changed, options, looked_at), workload)
    except OSError as error:
        raise UsageError(f"{error.filename or words}: {error.strerror}") from None
    except SpecError as error:
        raise UsageError(f"--compare {words}: {error}") from None
    if answer.plan is None:
        return Side(words, None, tuple(one.text for one in answer.needed))
    return Side(words, answer.plan.result)


def _fleet(changed: PlanOptions, options: PlanOptions, looked_at: list[Machine]) -> Fleet:
    """Where a side runs. A machine is asked once for both."""
    if changed.gpus is not None and options.gpus is None:
        # A side that is described stands for itself, whatever the other one is read from.
        return site_of(replace(changed, source=None, measure=False)).fleet
    if changed.gpus is not None or changed.ram is not None:
        return site_of(changed).fleet
    nodes = nodes_of(changed.nodes)
    if not looked_at:
        site = site_of(replace(changed, nodes=None))
        if site.machine is None:
            return site.fleet
        looked_at.append(site.machine)
    fleet = fleet_on(looked_at[0], nodes)
    return fleet if options.source is not None else fleet_with_trials(fleet)


def _changes(words: str) -> dict[str, Any]:
    """``framework=megatron,seq=8192`` as fields of the options; ``recommended`` changes nothing."""
    if words == RECOMMENDED:
        return {}
    found: dict[str, Any] = {}
    for part in words.split(","):
        name, equals, value = (one.strip() for one in part.partition("="))
        key = name.lower().replace("-", "_")
        if not equals or not value:
            raise UsageError(
                f"--compare: '{words[:60]}' is neither a file (.yaml, .json) nor changes such as "
                f"framework=megatron,seq=8192; '{RECOMMENDED}' changes nothing"
            )
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, n=1)
            hint = f"; did you mean '{near[0]}'?" if near else f"; there are {', '.join(_KEYS)}"
            raise UsageError(f"--compare: '{name[:40]}' is not an option of a plan{hint}")
        try:
            found[key] = _KEYS[key](value)
        except ValueError as error:
            needs = str(error) if str(error).startswith("one of") else "a number"
            raise UsageError(f"--compare: {name} must be {needs}, not '{value[:40]}'") from None
    return found
