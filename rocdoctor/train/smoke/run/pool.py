"""The runner's side of a pool: starts the server in the interpreter under test, owns deadlines, leaves nothing behind.

All processes of a pool carry a mark in their environment; whatever still carries it at the end is ended, also what has
left its process group or lost its parent. A thread that starts a pool must outlive it: the kernel ends the server when
that thread ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rocdoctor.host.live.trust import private_folder
from rocdoctor.train.smoke.judge.last_words import TELLING
from rocdoctor.train.smoke.judge.late_rank import EVERY_S, FIRST_LOOK_S, Lateness
from rocdoctor.train.smoke.run import silent_ranks
from rocdoctor.train.smoke.run.kernel_caches import compiling
from rocdoctor.train.smoke.run.machine_trouble import (
    address_space,
    address_space_limit,
    file_too_large,
    full_folder,
    killed_for_memory,
    limit_reached,
    not_imported,
    oom_kills,
    refused_forks,
    wrong_interface,
)
from rocdoctor.train.smoke.run.processes import alone, environment, keep_short, process_state, pss_bytes, sweep, tail
from rocdoctor.train.smoke.run.standstill import WATCHDOG_S, Standstill
from rocdoctor.train.smoke.run.starved import Starved
from rocdoctor.train.smoke.worker import board

WORKER = Path(__file__).parents[1] / "worker"
START_LIMIT_S = 120.0
# How long the other ranks may still take once one has failed: most notice within 10 ms, the others wait in vain.
_AFTER_FAILURE_S = 1.0
# A machine that is shared by many gives a rank a quarter of what an idle one does; beyond that something else is wrong.
MOST_STRETCHED = 4.0


class PoolError(Exception):
    """The interpreter under test cannot run smoke tests; the message says why."""

    def __init__(self, message: str, missing_torch: bool = False, machine: bool = False) -> None:
        super().__init__(message)
        self.missing_torch = missing_torch
        self.machine = machine  # not the interpreter's fault: another one would fail alike


@dataclass(slots=True)
class RankRecord:
    """What is known of one rank after a mode.

    ``result``: its own record, None when it gave none; ``exit_status``, ``exit_signal``, ``ended_at``: how and when it
    ended by itself; ``silent``: it was still there without an answer when the runner stopped waiting. Of such a one
    ``process_state`` is the kernel's letter (T stopped, D uninterruptible, R running), ``stack`` what it was running,
    ``program`` what it had started that was at work, a compiler for one, ``lock`` the file whose lock it waited for,
    ``file_call`` the call to a file system that it was in.
    ``connected``: the ranks that it still has connections to; None where that was not looked at.
    """

    rank: int
    gpu: str | None = None
    result: dict[str, Any] | None = None
    at: float = 0.0
    exit_status: int | None = None
    exit_signal: int | None = None
    ended_at: float = 0.0
    silent: bool = False
    process_state: str = ""
    stack: str = ""
    program: str = ""
    lock: str = ""
    file_call: str = ""
    log: str = ""
    note: dict[str, Any] = field(default_factory=dict)
    node: int | None = None  # where it runs, None on one node alone
    late_s: float = 0.0  # how long it kept the others waiting, idle in late_in
    late_in: str = ""
    connected: frozenset[int] | None = None

    @property
    def ended(self) -> bool:
        """It ended by itself."""
        return self.exit_status is not None or self.exit_signal is not None


@dataclass(frozen=True, slots=True)
class ModeRecord:
    """One mode on all ranks. ``late``: the deadline passed; ``server``: what became of the process that starts them;
    ``machine``: a trouble of the machine behind a loss; ``again``: what each rank saw of its parts by themselves.
    """

    mode: str
    wall_s: float
    ranks: tuple[RankRecord, ...]
    late: bool = False
    server: str = ""
    machine: str = ""
    again: tuple[dict[str, Any], ...] = ()


class Pool:
    """One server process and at most one set of ranks at a time."""

    def __init__(self, interpreter: str, surroundings: Mapping[str, str] | None = None) -> None:
        self._folder = Path(private_folder("rocdoctor-smoke-"))
        self.mark = secrets.token_hex(8)
        self._buffer = b""
        self._there = True
        self._generation = 0
        self._ranks: dict[int, RankRecord] = {}
        self._pids: dict[int, int] = {}
        self._place = self._folder
        self._plan: dict[str, Any] = {}
        self._collective_s = WATCHDOG_S
        self.peak_memory_bytes: int | None = None
        self.interpreter = interpreter
        self.surroundings = os.environ if surroundings is None else surroundings
        self._kills, self._refused = oom_kills(), refused_forks()
        with open(self._folder / "server.log", "ab") as log:
            self._server = subprocess.Popen(
                [interpreter, str(WORKER), "server"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self._folder,
                start_new_session=True,
                bufsize=0,
                env=alone(environment(self.surroundings, self.mark, self._folder)),
            )
        assert self._server.stdin is not None and self._server.stdout is not None
        self._to, self._from = self._server.stdin.fileno(), self._server.stdout.fileno()
        try:
            self.hello = self._first(START_LIMIT_S)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _first(self, limit_s: float) -> dict[str, Any]:
        found = self._imported(limit_s)
        if found is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._server.wait(0.2)
            last = tail(self._folder / "server.log", 1)
            code = self._server.poll()
            trouble = killed_for_memory(self._kills, [-(code or 0)]) or full_folder(self._folder)
            trouble = trouble or file_too_large([-(code or 0)], [last])
            trouble = trouble or address_space(last, address_space_limit()) or limit_reached(self._refused, [last])
            if code is None:
                how = f"torch was not imported within {limit_s:g} s"
            elif code < 0:
                how = f"Python was ended by signal {-code} while it imported torch"
            else:
                how = f"Python ended with status {code}"
            how += f": {last}" if last else ""
            raise PoolError(how + (f"; {trouble}" if trouble else ""), machine=bool(trouble))
        if found["event"] == "no-torch":
            raise PoolError(str(found["message"]), bool(found.get("missing")))
        return found

    def _imported(self, limit_s: float) -> dict[str, Any] | None:
        """The first event. Time without a processor does not count: an import is much work on a busy machine."""
        deadline = time.monotonic() + limit_s
        starved = Starved({0: self._server.pid}, limit_s * (MOST_STRETCHED - 1.0))
        while True:
            until = deadline + starved.extra_s
            found = self._event(min(until, time.monotonic() + EVERY_S))
            if found is not None or not self._there or time.monotonic() >= until:
                return found
            starved.look([0])

    def survey(self, limit_s: float = 60.0) -> dict[str, Any]:
        """The GPUs as torch sees them: ``{"gpus": [...], "error": ""}``."""
        self._say({"do": "survey"})
        deadline = time.monotonic() + limit_s
        while (found := self._event(deadline)) is not None:
            if found["event"] == "survey":
                return found
        return {"gpus": [], "error": f"torch did not list the GPUs within {limit_s:g} s"}

    def start(
        self,
        world: int,
        backend: str,
        device: str,
        timeout_s: float,
        limit_s: float,
        variables: Mapping[str, str] | None = None,
    ) -> ModeRecord:
        """Fork the ranks and form their process group; the record tells which ranks came up. Ends an earlier set.

        ``timeout_s``: how long a collective may take: the back end's own limit, but on gloo only time with a processor
        counts. ``variables``: of the ranks alone, beside the environment under test.
        """
        self.stop_ranks()
        self._generation += 1
        self._place = self._folder / str(self._generation)
        self._place.mkdir(mode=0o700)
        self._plan = {
            "do": "pool",
            "world": world,
            "backend": backend,
            "device": device,
            "folder": str(self._place),
            "timeout_s": WATCHDOG_S if backend == "gloo" else timeout_s,
            "variables": dict(variables or {}),
        }
        self._collective_s = timeout_s
        self._pids = {}
        self._ranks = {rank: RankRecord(rank) for rank in range(world)}
        began = time.monotonic()
        self._say(self._plan)
        return self._wait("start", limit_s, began)

    def run(
        self,
        mode: str,
        limit_s: float,
        on_rank: Callable[[int, str], None] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> ModeRecord:
        """Run one mode on all ranks and wait for them, at most ``limit_s`` and the time to end them."""
        for rank, old in self._ranks.items():
            self._ranks[rank] = RankRecord(rank, gpu=old.gpu)
        began = time.monotonic()  # on a busy machine the ranks may be done before we are back from the order
        self._say({"do": "mode", "mode": mode, **({"options": dict(options)} if options else {})})
        return self._wait(mode, limit_s, began, on_rank)

    def _wait(
        self, mode: str, limit_s: float, began: float, on_rank: Callable[[int, str], None] | None = None
    ) -> ModeRecord:
        deadline = until = began + limit_s
        self._kills, self._refused, began_s = oom_kills(), refused_forks(), time.time()
        lateness, starved = Lateness(self._place, self._pids), Starved(self._pids, limit_s * (MOST_STRETCHED - 1.0))
        standstill, looked = Standstill(self._place, self._collective_s), began
        looks = mode != "start" and self._plan.get("device") == "cpu"
        next_look = began + FIRST_LOOK_S
        while unanswered := [rank for rank, one in self._ranks.items() if one.result is None and not one.ended]:
            found = self._event(min(until, next_look))
            if found is None and self._there and time.monotonic() < until:
                keep_short(self._folder)
                keep_short(self._place)
                more_s, passed_s = starved.look(unanswered), time.monotonic() - looked
                deadline, until, looked = deadline + more_s, until + more_s, looked + passed_s
                if standstill.look(unanswered, passed_s - more_s):
                    deadline = looked
                    break
                if looks:
                    lateness.look(unanswered)
                next_look = time.monotonic() + EVERY_S
                continue
            if found is None:
                break
            if (one := self._take(found)) is None:
                continue
            if on_rank is not None:
                on_rank(one.rank, str((one.result or {}).get("state", "crashed")))
            if one.ended or (one.result or {}).get("state") == "crashed":
                until = min(until, time.monotonic() + _AFTER_FAILURE_S)
        wall_s = time.monotonic() - began
        server = self._look_at_server()
        silent_ranks.look(self._ranks, self._pids, str(self._place))
        self._measure()
        for rank, one in self._ranks.items():
            one.note = board.read(str(self._place / "board"), rank)
            one.late_s, one.late_in = lateness.seconds.get(rank, 0.0), lateness.places.get(rank, "")
            if one.ended or one.silent:
                one.log = tail(self._place / f"rank{rank}.log", 12, TELLING)
        lost = server or any((one.result or {}).get("state", "crashed") == "crashed" for one in self._ranks.values())
        machine = self._trouble(mode) if lost else ""
        late = time.monotonic() >= deadline
        if late and not machine and not server and self._plan.get("device") != "cpu":
            own = {"TORCHINDUCTOR_CACHE_DIR": str(self._folder / "inductor")}
            machine = compiling({**own, **self.surroundings}, began_s, limit_s)
        return ModeRecord(mode, wall_s, tuple(self._ranks.values()), late, server, machine)

    def _trouble(self, mode: str) -> str:
        """What is wrong with the machine, now that something was lost."""
        ends = [one.exit_signal for one in self._ranks.values()] + [-(self._server.poll() or 0)]
        last = tail(self._folder / "server.log", 1) if self._server.poll() else ""
        found = full_folder(self._folder) or killed_for_memory(self._kills, ends)
        found = found or address_space(last, address_space_limit())
        said = [last, *(f"{(one.result or {}).get('message', '')} {one.log}" for one in self._ranks.values())]
        kinds = [str((one.result or {}).get("kind", "")) for one in self._ranks.values()]
        found = found or file_too_large(ends, said)
        found = found or limit_reached(self._refused, said) or not_imported(self.hello.get("absent") or {}, kinds)
        return found or (wrong_interface(self.surroundings) if mode == "start" else "")

    def _take(self, found: dict[str, Any]) -> RankRecord | None:
        if found["event"] == "forked":
            self._pids.update({int(rank): int(pid) for rank, pid in found["pids"].items()})
        one = self._ranks.get(found.get("rank", -1))
        if one is None or found.get("pid", self._pids.get(one.rank)) != self._pids.get(one.rank):
            return None  # of an earlier set of ranks: what it says late is no answer of this one
        if found["event"] == "ready":
            one.gpu, one.result, one.at = found["gpu"], {"state": "pass"}, found["at"]
        elif found["event"] in ("result", "not-ready"):
            one.result, one.at = found, found["at"]
        elif found["event"] == "exit":
            one.exit_status, one.exit_signal, one.ended_at = found.get("status"), found.get("signal"), found["at"]
        return one

    def _look_at_server(self) -> str:
        """What has become of the server, without which no rank hears or tells anything; "" where it is well."""
        if not self._there:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._server.wait(0.2)
        code = self._server.poll()
        if code is not None and code < 0:
            return f"was ended by signal {-code}"
        if code is not None:
            last = tail(self._folder / "server.log", 1)
            return f"ended with status {code}" + (f": {last}" if last else "")
        if process_state(self._server.pid) in ("T", "t"):
            return "is stopped (a signal or a debugger)"
        return ""

    def _measure(self) -> None:
        """Memory of all ranks together, shared pages counted once (proportional set size)."""
        total = sum(filter(None, (pss_bytes(pid) for pid in self._pids.values())))
        if total:
            self.peak_memory_bytes = max(self.peak_memory_bytes or 0, total)

    @property
    def whole(self) -> bool:
        """All ranks are there and answered the last mode; otherwise the pool must be started again."""
        return bool(self._ranks) and all(
            one.result is not None and not one.ended and one.result.get("state") != "crashed"
            for one in self._ranks.values()
        )

    def stop_ranks(self) -> None:
        """End the ranks of this pool and wait until the server has seen it."""
        waiting = {rank for rank, one in self._ranks.items() if not one.ended and rank in self._pids}
        for rank in waiting:
            with contextlib.suppress(OSError):
                os.kill(self._pids[rank], signal.SIGKILL)
        deadline = time.monotonic() + 2.0
        while waiting and (found := self._event(deadline)) is not None:
            if found["event"] == "exit":
                waiting.discard(found["rank"])
        sweep(self.mark, keep=self._server.pid)
        self._ranks, self._pids = {}, {}

    def close(self) -> None:
        """End everything of this pool and remove its folder."""
        with contextlib.suppress(OSError):
            os.close(self._to) if self._server.stdin is None else self._server.stdin.close()
        sweep(self.mark, keep=self._server.pid)
        with contextlib.suppress(OSError):
            self._server.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._server.wait(2.0)
        if self._server.stdout is not None:
            self._server.stdout.close()
        sweep(self.mark)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _say(self, order: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            os.write(self._to, (json.dumps(order) + "\n").encode())

    def _event(self, deadline: float) -> dict[str, Any] | None:
        """The next event; None when the deadline passed or the server is gone."""
        while b"\n" not in self._buffer:
            rest = deadline - time.monotonic()
            if rest <= 0 or not select.select([self._from], [], [], rest)[0]:
                return None
            data = os.read(self._from, 65536)
            if not data:
                self._there = False
                return None
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            return {"event": "noise"}
        return found if isinstance(found, dict) and "event" in found else {"event": "noise"}
