"""This node's ranks: started by torchrun, ordered about and watched through a socket, ended without a trace."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rocdoctor.host.live.trust import private_folder
from rocdoctor.model.lazy_re import regex
from rocdoctor.train.smoke.judge.last_words import TELLING
from rocdoctor.train.smoke.nodes.node_place import NodePlace
from rocdoctor.train.smoke.nodes.polling import readable
from rocdoctor.train.smoke.run import processes
from rocdoctor.train.smoke.run.pool import START_LIMIT_S, WORKER
from rocdoctor.train.smoke.run.starved import Starved
from rocdoctor.train.smoke.worker import board, whereabouts

_STACK_S = 0.5
_EXIT_S = 3.0  # torchrun looks at its workers once a second
_LAUNCHER = -1  # among ranks; its family is all that it has started
# "port: 29500, useIpv6: false, code: -98, name: EADDRINUSE" of libuv (seen with torch 2.13), or "failed to bind to
# [::]:29500 (errno: 98 - Address already in use)" (pytorch torch/csrc/distributed/c10d/socket.cpp, read 2026-11-23).
_TAKEN = regex(r"(?:\bport: |[\]\d]:)(\d{1,5})\b[^\n]{0,200}(?:EADDRINUSE|[Aa]ddress already in use)")
_TABLE = regex(r"exitcode\s{0,8}: (-?\d{1,5}) \(pid: (\d{1,10})\)")


@dataclass(slots=True)
class _Rank:
    """A rank's end of the socket; ``rank`` and ``pid`` are known once it has said so."""

    connection: socket.socket
    rank: int = -1
    pid: int = 0
    rest: bytes = b""


def ended_early(words: str, log: str, place: NodePlace) -> dict[str, str]:
    """(kind, message) of a torchrun that ended before its ranks had begun; ``words``: its last error."""
    if place.node == 0 and str(place.port) in _TAKEN.findall(log):
        message = (
            f"port {place.port} of node 0, that of --rdzv, was taken by another program after the nodes had met: end "
            f"it (ss -ltnp sport = :{place.port} shows it), or give another port in --rdzv on all nodes ({words})"
        )
        return {"kind": "port", "message": message[:400]}
    return {"kind": "error", "message": f"torchrun ended before its ranks had begun: {words}"[:400]}


class Local:
    """The ranks of one node. Events are dictionaries as the pool's server gives them; ``at`` is monotonic time here."""

    def __init__(self, interpreter: str, place: NodePlace, environment: Mapping[str, str] | None = None) -> None:
        self._interpreter = interpreter
        self._place = place
        self._folder = Path(private_folder("rocdoctor-nodes-"))
        self._mark = secrets.token_hex(8)
        base = os.environ if environment is None else environment
        self._environment = processes.environment(base, self._mark, self._folder)
        self._launcher: subprocess.Popen[bytes] | None = None
        self._ended = False
        self._listener: socket.socket | None = None
        self._ranks: list[_Rank] = []
        self._generation = 0
        self._here = self._folder
        self._first, self._count = 0, 0
        self._came: set[int] = set()
        self._pids: dict[int, int] = {}
        self._starved = Starved(self._pids, math.inf)

    def start(
        self, per_node: int, backend: str, device: str, timeout_s: float, more: Mapping[str, str] | None = None
    ) -> None:
        """Start torchrun with this node's ranks; an earlier set must have been stopped. ``more``: their variables."""
        self._generation += 1
        self._here = self._folder / str(self._generation)
        self._here.mkdir(mode=0o700)
        self._first, self._count = self._place.node * per_node, per_node
        self._came = set()
        board.create(str(self._here / "board"), self._place.nodes * per_node)
        path = str(self._here / "runner")
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(path)
        self._listener.listen(128)
        plan = {"backend": backend, "device": device, "folder": str(self._here), "timeout_s": timeout_s, "socket": path}
        plan["ready_by"] = time.monotonic() + START_LIMIT_S
        (self._here / "plan").write_text(json.dumps({**plan, "world": self._place.nodes * per_node}))
        worker = str(WORKER)
        command = [
            self._interpreter,
            worker,
            "launch",
            str(os.getpid()),
            f"--nnodes={self._place.nodes}",
            f"--nproc-per-node={per_node}",
            f"--node-rank={self._place.node}",
            f"--master-addr={self._place.host}",
            f"--master-port={self._place.port}",
            "--rdzv-backend=static",
            "--max-restarts=0",
            "--monitor-interval=1",  # until it looks, the kernel tells how a rank ended: also on a busy machine
            f"--log-dir={self._here / 'torchrun'}",  # it would leave a folder in /tmp
            worker,
            "joined",
            str(self._here / "plan"),
        ]
        with open(self._here / "torchrun.log", "ab") as log:
            self._launcher = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._here,
                env={**self._environment, **(more or {})},
                start_new_session=True,
            )
        self._ended = False
        self._pids = {_LAUNCHER: self._launcher.pid}
        self._starved = Starved(self._pids, math.inf)

    def starved_s(self) -> float:
        """For how long this set of ranks has waited for a processor until now; to be asked once a second or so.

        That of the rank that waited most; while ranks are still on the way, that of all that torchrun has started.
        """
        processes.keep_short(self._here)
        here = [rank for rank in self._pids if rank != _LAUNCHER]
        self._starved.look(here if len(here) == self._count else [_LAUNCHER])
        return self._starved.extra_s

    def handles(self) -> list[int]:
        """What to wait for, besides the others' messages."""
        listener = [] if self._listener is None else [self._listener.fileno()]
        return listener + [one.connection.fileno() for one in self._ranks]

    def events(self) -> list[dict[str, Any]]:
        """What happened since the last call; does not wait."""
        found: list[dict[str, Any]] = []
        if self._listener is not None and readable(self._listener):
            self._ranks.append(_Rank(self._listener.accept()[0]))
        for one in list(self._ranks):
            while one in self._ranks and readable(one.connection):
                found += self._read(one)
        if self._launcher is not None and not self._ended and self._launcher.poll() is not None:
            self._ended = True
            found += self._launcher_ended()
        return found

    def _read(self, one: _Rank) -> list[dict[str, Any]]:
        try:
            data = one.connection.recv(65536)
        except OSError:
            data = b""
        if not data:
            at = time.monotonic()
            self._ranks.remove(one)
            one.connection.close()
            if one.rank < 0:
                return []
            status = self._status(one.pid)
            if status is None:
                return [{"event": "exit", "rank": one.rank, "status": None, "signal": None, "at": at}]
            if os.WIFSIGNALED(status):
                return [{"event": "exit", "rank": one.rank, "signal": os.WTERMSIG(status), "at": at}]
            return [{"event": "exit", "rank": one.rank, "status": os.WEXITSTATUS(status), "at": at}]
        *lines, one.rest = (one.rest + data).split(b"\n")
        found = []
        for line in lines:
            with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
                event = json.loads(line)
                if event.get("event") == "joined":
                    one.rank, one.pid = int(event["rank"]), int(event["pid"])
                    self._came.add(one.rank)
                    self._pids[one.rank] = one.pid
                else:
                    found.append(event)
        return found

    def _status(self, pid: int) -> int | None:
        """How a rank ended, as wait(2) tells it: from the kernel until torchrun asks, then from torchrun's words."""
        deadline = time.monotonic() + _EXIT_S
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError, ValueError, IndexError):
                fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
                if fields[0] in "ZX":
                    return int(fields[49])
            told = {process: code for code, process in _TABLE.findall(processes.tail(self._here / "torchrun.log", 60))}
            if str(pid) in told:
                code = int(told[str(pid)])
                return -code if code < 0 else code << 8
            time.sleep(0.002)
        return None

    def _launcher_ended(self) -> list[dict[str, Any]]:
        """Ranks that never came, because torchrun ended before."""
        assert self._launcher is not None
        missing = [rank for rank in range(self._first, self._first + self._count) if rank not in self._came]
        if self._launcher.returncode == 0 or not missing:
            return []
        lines = processes.tail(self._here / "torchrun.log", 60).splitlines()
        errors = [line.strip() for line in lines if re.match(r"[\w.]{0,80}(Error|Exception)\b", line.strip())]
        words = errors[-1] if errors else (lines[-1] if lines else f"status {self._launcher.returncode}")
        record = {"state": "crashed", **ended_early(words, "\n".join(lines), self._place)}
        at = time.monotonic()
        return [{"event": "not-ready", "rank": rank, "at": at, **record} for rank in missing]

    def order(self, mode: str) -> None:
        """Tell all ranks to run a mode."""
        data = (json.dumps({"do": "mode", "mode": mode}) + "\n").encode()
        for one in self._ranks:
            with contextlib.suppress(OSError):
                one.connection.sendall(data)

    def look(self, silent: list[int]) -> dict[str, Any]:
        """What ranks were doing: notes of all, and of silent ones state and stack. Takes STACK_S at most."""
        asked = [one for one in self._ranks if one.rank in silent]
        states = {one.rank: processes.process_state(one.pid) for one in asked}
        stacks = whereabouts.ask(str(self._here), [one.rank for one in asked], _STACK_S)
        found = {}
        for rank in range(self._first, self._first + self._count):
            found[str(rank)] = {
                "note": board.read(str(self._here / "board"), rank),
                "process_state": states.get(rank, ""),
                "stack": stacks.get(rank, ""),
                "log": processes.tail(self._here / f"rank{rank}.log", 12, TELLING),
            }
        memory = sum(filter(None, (processes.pss_bytes(one.pid) for one in self._ranks)))
        return {"ranks": found, "memory_bytes": memory}

    def stop(self) -> None:
        """End the ranks and torchrun."""
        processes.sweep(self._mark)
        if self._launcher is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._launcher.wait(2.0)
        self._launcher = None
        for one in self._ranks:
            one.connection.close()
        self._ranks = []
        if self._listener is not None:
            self._listener.close()
        self._listener = None

    def close(self) -> None:
        """End everything and remove the folder."""
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)
