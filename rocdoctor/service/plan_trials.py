"""Plans tried on this machine: running one, keeping what it measured, and finding it for the next plan.

They lie in ``$XDG_STATE_HOME/rocdoctor/trials.json`` (0600): ``gpus``, a list of GPUs (``name``, ``mem_gib``,
``per_node``) each with its ``trials``. It is one user's file of one machine, and nobody else's input.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rocdoctor.host.live.new_file import folder_for, write_new
from rocdoctor.host.live.regular_files import read_regular
from rocdoctor.parsers.formats.yaml_text import parse_json
from rocdoctor.train.recommend.errors import SpecError
from rocdoctor.train.recommend.estimate import solve
from rocdoctor.train.recommend.fleet.gpu_figures import GIB, GpuFigures, read_gpu
from rocdoctor.train.recommend.fleet.node_network import network_rates
from rocdoctor.train.recommend.fleet.trials import MOST, Trial, read_trials
from rocdoctor.train.recommend.plan import Fleet

_MOST_BYTES = 1_000_000
_SCHEMA = "rocdoctor.trials/1"


def place() -> Path:
    """The file of this user's trials on this machine."""
    base = os.environ.get("XDG_STATE_HOME", "")
    state = Path(base) if os.path.isabs(base) else Path(os.path.expanduser("~")) / ".local" / "state"
    return state / "rocdoctor" / "trials.json"


def today() -> str:
    """The day as it is written in a trial."""
    return datetime.date.today().isoformat()


def _key(gpu: GpuFigures) -> dict[str, Any]:
    return {
        "name": gpu.profile_id or gpu.name,
        "mem_gib": round(gpu.memory_bytes / GIB),
        "per_node": gpu.node_gpus,
    }


def _kept() -> list[dict[str, Any]]:
    """The GPUs of the file with their trials; empty where there is no file, or none that can be read."""
    try:
        read = parse_json(read_regular(place(), _MOST_BYTES).decode("utf-8", errors="replace")).value
    except OSError:
        return []
    listed = read.get("gpus") if isinstance(read, Mapping) and read.get("schema") == _SCHEMA else None
    return [dict(one) for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []


def trials_of(gpu: GpuFigures) -> tuple[Trial, ...]:
    """What was tried on such a GPU of this machine, the latest last."""
    key = _key(gpu)
    found = [one for one in _kept() if {name: one.get(name) for name in key} == key]
    return read_trials(found[-1].get("trials")) if found else ()


def keep(gpu: GpuFigures, trial: Trial) -> Path:
    """Add a trial to the file, in the place of an earlier one of the same plan; raises OSError."""
    key, path = _key(gpu), place()
    others = [one for one in _kept() if {name: one.get(name) for name in key} != key]
    own = [one for one in trials_of(gpu) if one.plan != trial.plan]
    row = {**key, "trials": [one.as_json() for one in (*own, trial)[-MOST:]]}
    data = json.dumps({"schema": _SCHEMA, "gpus": [*others, row]}, indent=1).encode()
    with folder_for(path.parent, make=True) as folder:
        write_new(path, data, replace=True, folder=folder)
    return path


def spec_with_trials(spec: Any) -> Any:
    """A specification with the trials of this machine for its GPU, where it has none of its own."""
    if not isinstance(spec, Mapping):
        return spec
    gpu = spec.get("gpu")
    raw: dict[str, Any] = dict(gpu) if isinstance(gpu, Mapping) else {"name": gpu} if gpu else {}
    if "trials" in raw:
        return spec
    try:
        found = trials_of(solve(spec).work.gpu)
    except SpecError:
        return spec  # whoever reads it next says why
    return {**spec, "gpu": {**raw, "trials": [one.as_json() for one in found]}} if found else spec


def fleet_with_trials(fleet: Fleet) -> Fleet:
    """The fleet with what was tried on its GPUs; named in ``sources``."""
    found = trials_of(fleet.gpu) if fleet.origin == "machine" else ()
    if not found:
        return fleet
    spec = {**fleet.spec_gpu, "trials": [one.as_json() for one in found]}
    days = sorted({one.day for one in found})
    words = f"measured here on {days[-1]}: {len(found)} plan{'s' * (len(found) > 1)} tried with rocdoctor smoke --plan"
    sources = {**fleet.sources, "trials": words}
    return replace(fleet, spec_gpu=spec, sources=sources, gpu=read_gpu(spec, network_rates(), []))
