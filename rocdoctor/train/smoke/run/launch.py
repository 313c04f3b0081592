"""Runs a mode whose ranks another launcher starts (torchrun, accelerate, ...), and collects what each rank left behind.

The launcher runs in a session of its own and dies with the runner; every process of it carries a mark and is ended at
the end, also what has left the tree. A launcher is believed in nothing: which ranks started, how each ended and what it
computed is told by the ranks' own files, since launchers were seen to fall back to one process, and to end with status
0 after a rank was killed.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rocdoctor.host.live.run_program import run_bounded
from rocdoctor.host.live.trust import private_folder
from rocdoctor.parsers.own.smoke_results import Layer, ModeResult, RankResult, State
from rocdoctor.train.smoke.judge.verdicts import judge
from rocdoctor.train.smoke.run.build_locks import BuildLocks, still_building
from rocdoctor.train.smoke.run.launch_files import SeenLaunch, look, planned_loss, records
from rocdoctor.train.smoke.run.launcher_words import root_cause
from rocdoctor.train.smoke.run.pool import MOST_STRETCHED, WORKER, ModeRecord
from rocdoctor.train.smoke.run.processes import alone, environment, keep_short, marked, process_state, sweep
from rocdoctor.train.smoke.run.standstill import WATCHDOG_S
from rocdoctor.train.smoke.run.starved import Starved
from rocdoctor.train.smoke.worker import board, segments, whereabouts
from rocdoctor.train.smoke.worker.mode import Launch, LaunchPlan, Mode

_ADDRESS = "127.0.0.1"
_POLL_S = 0.02
_LOOK_S = 1.0
_METADATA_S = 20.0
_STACK_S = 0.5
# How long a launcher may take to end after its last rank: DeepSpeed's looks once a second.
_GRACE_S = 10.0
# Settings of an earlier launch, or of another one around us; the launcher is told all that it needs.
_FOREIGN = ("ACCELERATE_", "HOROVOD_", "OMPI_COMM_", "PMI_")
_LOG_BYTES = 200_000

Told = Callable[[int, str], None]


@dataclass(frozen=True, slots=True)
class LaunchPlace:
    """Where the ranks of a mode shall run: the interpreter and environment under test, how many ranks, and on what."""

    interpreter: str
    surroundings: Mapping[str, str]
    world: int
    backend: str
    device: str
    limit_s: float


def launch(mode: Mode, place: LaunchPlace, told: Told | None = None) -> ModeResult:
    """Launch the mode and judge it; not applicable where a package that it needs is not installed."""
    how = mode.launch
    assert how is not None, mode.name
    versions = installed(place, how.packages)
    if versions is None:
        return _said(mode.name, "unknown", f"{place.interpreter} does not say what is installed", place.world)
    absent = [name for name in how.packages if name not in versions]
    why = f"{absent[0]} is not installed in {place.interpreter}" if absent else ""
    if not why and how.needs is not None:
        why = how.needs(place.world, place.backend, place.device)
    if why:
        return _said(mode.name, "not-applicable", why, place.world)
    folder = Path(private_folder("rocdoctor-launch-"))
    mark = secrets.token_hex(8)
    locks = BuildLocks(place.surroundings, lambda: marked(mark))
    left: tuple[str, ...] = ()
    try:
        plan = _prepare(mode, how, place, folder)
        left = how.segments(plan) if how.segments is not None else ()
        command = how.command(plan)
        seen = _Watch(mode.name, how, place, folder, mark, told, locks).over(command)
        locks.release()
        building = still_building(locks.released, seen.status is None)
        found = _verdict(mode.name, place, folder, seen, building)
    except OSError as error:
        found = _said(mode.name, "crashed", f"the launcher cannot be started: {error}", place.world, "configuration")
    finally:
        locks.look()
        sweep(mark)
        segments.remove_named(left)
        locks.release()
        shutil.rmtree(folder, ignore_errors=True)
    return replace(found, facts={**found.facts, **({"versions": versions} if versions else {})})


def installed(place: LaunchPlace, names: Sequence[str]) -> dict[str, str] | None:
    """Versions of the distributions that the interpreter has; None when it does not tell. Imports none of them."""
    if not names:
        return {}
    mark = secrets.token_hex(8)
    try:
        argv = [place.interpreter, str(WORKER / "__main__.py"), "installed", *names]
        done = run_bounded("run installed", argv, _METADATA_S, environment(place.surroundings, mark))
        told = json.loads(done.text) if done.ok and done.exit_code == 0 else None
        return {str(name): str(version) for name, version in told.items()} if isinstance(told, dict) else None
    except (ValueError, RecursionError):
        return None
    finally:
        sweep(mark)


def _prepare(mode: Mode, launch: Launch, place: LaunchPlace, folder: Path) -> LaunchPlan:
    for attempt in range(launch.restarts + 1):
        (folder / str(attempt)).mkdir(mode=0o700)
        board.create(str(folder / str(attempt) / "board"), place.world)
    plan = {
        "mode": mode.name,
        "world": place.world,
        "backend": place.backend,
        "device": place.device,
        "folder": str(folder),
        # Our deadline stretches on a busy machine, so it comes before whatever a rank would end by itself.
        "timeout_s": WATCHDOG_S,
        "limit_s": place.limit_s * MOST_STRETCHED,
    }
    (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    program = [str(WORKER / "__main__.py"), "launched", str(folder / "plan.json")]
    return LaunchPlan(place.interpreter, program, place.world, place.device, str(folder), _ADDRESS, _free_port())


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as one:
        one.bind((_ADDRESS, 0))
        return int(one.getsockname()[1])


class _Watch:
    """One launch, from the start of the launcher until nothing of it is left to wait for."""

    def __init__(
        self,
        name: str,
        launch: Launch,
        place: LaunchPlace,
        folder: Path,
        mark: str,
        told: Told | None,
        locks: BuildLocks,
    ) -> None:
        self._name, self._launch, self._place, self._folder, self._mark = name, launch, place, folder, mark
        self._tell, self._locks = told, locks
        self._told: set[int] = set()

    def over(self, command: Sequence[str]) -> SeenLaunch:
        """Start the launcher, wait until it has ended or the deadline has passed, end what is left."""
        began = time.monotonic()
        base = {name: value for name, value in self._place.surroundings.items() if not name.startswith(_FOREIGN)}
        own = self._launch.environment(self._place.device) if self._launch.environment is not None else {}
        # -I -S: the small program that becomes the launcher needs nothing that the user has installed
        through = [self._place.interpreter, "-I", "-S", str(WORKER / "__main__.py"), "replace", *command]
        with open(self._folder / "launcher.log", "ab") as log:
            launcher = subprocess.Popen(
                through,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
                start_new_session=True,
                env={**alone(environment(base, self._mark, self._folder)), **own},
            )
        self._wait(launcher, began + self._place.limit_s)
        seen = look(self._folder, self._launch.restarts)
        seen.status, seen.wall_s = launcher.poll(), time.monotonic() - began
        self._ask_silent(seen)
        self._locks.look()
        sweep(self._mark)
        with contextlib.suppress(subprocess.TimeoutExpired):
            launcher.wait(2.0)
        seen.words = root_cause(_read(self._folder / "launcher.log"))
        return seen

    def _wait(self, launcher: subprocess.Popen[bytes], deadline: float) -> None:
        """Until the deadline; time for which the launcher and its ranks wait for a processor does not count."""
        starved = Starved({0: launcher.pid}, self._place.limit_s * (MOST_STRETCHED - 1.0))
        looked = time.monotonic()
        while launcher.poll() is None and time.monotonic() < deadline:
            if time.monotonic() - looked >= _LOOK_S:
                looked = time.monotonic()
                deadline += starved.look([0])
                self._locks.look()
                keep_short(self._folder)
            seen = look(self._folder, self._launch.restarts)
            for rank, one in seen.ranks.items():
                if one.result is not None and rank not in self._told and self._tell is not None:
                    self._told.add(rank)
                    self._tell(rank, str(one.result.get("state", "crashed")))
            if len(seen.ranks) == self._place.world and all(one.result is not None for one in seen.ranks.values()):
                deadline = min(deadline, time.monotonic() + _GRACE_S)
            time.sleep(_POLL_S)

    def _ask_silent(self, seen: SeenLaunch) -> None:
        ours = marked(self._mark)  # a number may belong to somebody else by now
        silent = [
            rank for rank, one in seen.ranks.items() if one.result is None and one.ended is None and one.pid in ours
        ]
        for rank in silent:
            seen.ranks[rank].process_state = process_state(seen.ranks[rank].pid)
        whereabouts.ask(str(self._folder / str(seen.attempt)), silent, _STACK_S)


def _read(path: Path) -> str:
    with contextlib.suppress(OSError), path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - _LOG_BYTES))
        return stream.read(_LOG_BYTES).decode("utf-8", errors="replace")
    return ""


def _verdict(name: str, place: LaunchPlace, folder: Path, seen: SeenLaunch, building: str = "") -> ModeResult:
    late = seen.status is None
    launcher = f"; the launcher said: {seen.words}" if seen.words else ""
    started = sum(one.count for one in seen.ranks.values())
    alone = [one for one in seen.ranks.values() if one.world != place.world]
    if alone or started > place.world:
        told = f"{started} {'process was' if started == 1 else 'processes were'} started"
        group = f", each in a group of {alone[0].world}" if alone else ""
        words = f"asked for {place.world} ranks, but {told}{group}: such a job trains on fewer ranks without saying so"
        return _said(name, "fail", words + launcher, place.world, "configuration", seen.wall_s)
    missing = sorted(set(range(place.world)) - set(seen.ranks))
    if missing and not any(one.result for one in seen.ranks.values()):
        who = "no rank" if len(missing) == place.world else f"all ranks but {', '.join(map(str, missing))}"
        how = f"within {place.limit_s:g} s" if late else f"and ended with status {seen.status}"
        words = f"the launcher started {who} {how}{launcher}"
        return _said(name, "crashed", words, place.world, "configuration", seen.wall_s)
    planned = planned_loss(folder / str(seen.attempt))
    if planned:
        how = f"within {place.limit_s:g} s" if late else f"but ended with status {seen.status}"
        words = f"rank {planned} had ended itself as planned; the launcher did not start it again {how}{launcher}"
        return _said(name, "crashed", words, place.world, "framework", seen.wall_s)
    found = judge(ModeRecord(name, seen.wall_s, tuple(records(place.world, folder, seen)), late, machine=building))
    if found.state == "pass" and seen.status != 0:
        how = "did not end" if late else f"ended with status {seen.status}"
        words = f"every rank computed the right numbers, but the launcher {how} afterwards{launcher}"
        return replace(found, state="crashed", layer="framework", message=words[:600])
    if found.state == "crashed":
        return replace(found, message=(found.message[:400] + launcher)[:700])
    return found


def _said(name: str, state: State, words: str, world: int, layer: Layer = "", wall_s: float = 0.0) -> ModeResult:
    ranks = tuple(RankResult(rank, state) for rank in range(world))
    return ModeResult(name, state, wall_s, " ".join(words.split())[:700], layer=layer, ranks=ranks)
