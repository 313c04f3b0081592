"""Plans tried on this machine: running one, keeping what it measured, and finding it for the next plan.

They lie in ``$XDG_STATE_HOME/rocdoctor/trials.json`` (0600), root's in its home whatever the variable says: ``gpus``, a
list of GPUs (``name``, ``mem_gib``, ``per_node``) each with its ``trials``, the latest last. It is one user's file of
one machine, and nobody else's input.
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rocdoctor.host import output
from rocdoctor.host.live.accounts import expanded
from rocdoctor.host.live.new_file import folder_for, write_new
from rocdoctor.host.live.only_one import only_one
from rocdoctor.host.live.regular_files import open_regular
from rocdoctor.host.live.state_folder import state_folder
from rocdoctor.host.live.trust import owner_of
from rocdoctor.parsers.formats.yaml_text import parse_json
from rocdoctor.train.recommend.errors import SpecError
from rocdoctor.train.recommend.estimate import solve
from rocdoctor.train.recommend.fleet.gpu_figures import GIB, GpuFigures, read_gpu
from rocdoctor.train.recommend.fleet.node_network import network_rates
from rocdoctor.train.recommend.fleet.trials import MOST, Trial, read_trials
from rocdoctor.train.recommend.plan import Fleet

_MOST_BYTES = 4_000_000
_MOST_GPUS = 16
# Another run that keeps a trial is done within milliseconds.
_TRIES, _BETWEEN_S = 40, 0.05
_SCHEMA = "rocdoctor.trials/1"


def place() -> Path:
    """The file of this user's trials on this machine."""
    uid = _user()
    return state_folder(uid, expanded("~root" if uid == 0 else "~")) / "trials.json"


def _user() -> int:
    return getattr(os, "geteuid", lambda: -1)()  # Windows has none


def today() -> str:
    """The day as it is written in a trial."""
    return datetime.date.today().isoformat()


def _key(gpu: GpuFigures) -> dict[str, Any]:
    return {
        "name": gpu.profile_id or gpu.name,
        "mem_gib": round(gpu.memory_bytes / GIB),
        "per_node": gpu.node_gpus,
    }


def _kept(path: Path) -> list[dict[str, Any]]:
    """The GPUs of the file with their trials; empty where there is no file, or what is in it is none.

    Raises:
        OSError: it cannot be read, or others can write it.
    """
    try:
        with open_regular(path) as stream:
            status = os.fstat(stream.fileno())
            owner = owner_of(status, stream.fileno())
            data = stream.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return []
    if owner not in (0, _user()) or status.st_mode & 0o022:
        raise OSError(errno.EPERM, "it belongs to somebody else, or others can write it", str(path))
    if len(data) > _MOST_BYTES:
        raise OSError(errno.EFBIG, f"larger than {_MOST_BYTES} bytes", str(path))
    read = parse_json(data.decode("utf-8", errors="replace")).value
    listed = read.get("gpus") if isinstance(read, Mapping) and read.get("schema") == _SCHEMA else None
    return [dict(one) for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []


def _of(rows: list[dict[str, Any]], key: Mapping[str, Any]) -> tuple[Trial, ...]:
    found = [one for one in rows if {name: one.get(name) for name in key} == key]
    return read_trials(found[-1].get("trials")) if found else ()


def trials_of(gpu: GpuFigures) -> tuple[Trial, ...]:
    """What was tried on such a GPU of this machine, the latest last; a file that is not trusted is said."""
    try:
        return _of(_kept(place()), _key(gpu))
    except OSError as error:
        output.note(f"plans that were tried here are not used: {error.filename or place()}: {error.strerror or error}")
        return ()


def keep(gpu: GpuFigures, trial: Trial) -> Path:
    """Add a trial to the file, in the place of an earlier one of the same plan; raises OSError.

    Of each GPU the latest trials stay, and the GPUs that were tried last.
    """
    key, path = _key(gpu), place()
    with folder_for(path.parent, make=True) as folder, _alone(path.with_name("trials.lock")):
        rows = _kept(path)
        own = [one for one in _of(rows, key) if one.plan != trial.plan]
        others = [one for one in rows if {name: one.get(name) for name in key} != key]
        row = {**key, "trials": [one.as_json() for one in (*own, trial)[-MOST:]]}
        data = json.dumps({"schema": _SCHEMA, "gpus": [*others, row][-_MOST_GPUS:]}, indent=1).encode()
        write_new(path, data, replace=True, folder=folder)
    return path


@contextlib.contextmanager
def _alone(lock: Path) -> Iterator[None]:
    with contextlib.ExitStack() as held:
        for left in reversed(range(_TRIES)):
            try:
                held.enter_context(only_one(lock))
                break
            except BlockingIOError:
                if not left:
                    raise OSError(errno.EAGAIN, "another run keeps a trial there", str(lock)) from None
                time.sleep(_BETWEEN_S)
        yield


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
