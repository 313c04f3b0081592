"""The pool's parent in the interpreter under test: imports torch once, forks the ranks, passes lines to and fro.

It never initialises a GPU (a forked child could not use it then) and never runs a tensor operation. Commands come as
JSON lines on standard input, events go out as JSON lines on standard output:

=========  =======================================================================================================
command    ``{"do": "pool", world, backend, device, folder, timeout_s, variables}`` fork the ranks;
           ``{"do": "mode", mode}`` tell all ranks; ``{"do": "survey"}`` look at the GPUs in a child of its own;
           ``{"do": "end"}``
event      ``hello`` (versions, back ends), ``no-torch``, ``survey``, ``forked`` (process ids), ``ready``,
           ``not-ready``, ``result`` (of one rank), ``exit`` (a rank ended: exit status or signal)
=========  =======================================================================================================
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import select
import shutil
import signal
import sys
import time
import traceback
import warnings
from typing import Any

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
# Imported before the fork: the first DistributedDataParallel would otherwise pay 1 to 2 s in every rank.
_PRELOAD = (
    "torch.distributed",
    "torch.nn.parallel",
    "torch.distributed.optim",
    "torch.distributed.fsdp",
    "torch.distributed.device_mesh",
    "torch.distributed.tensor",
    "torch.distributed.tensor.parallel",
    "torch.distributed.pipelining",
    "torch.distributed.checkpoint",
    "torch.distributed.algorithms",
    "torch.distributed.algorithms.ddp_comm_hooks.default_hooks",
    "torch.distributed.algorithms._checkpoint.checkpoint_wrapper",
    "torch._dynamo",
    "torch.testing",
    "torch.utils.data",
)
MIN_TORCH = (2, 1)


def preload() -> dict[str, str]:
    """Import what modes import in their time; gives the errors by module."""
    absent = {}
    for name in _PRELOAD:
        try:
            importlib.import_module(name)
        except Exception as error:  # a mode that needs it says so itself
            absent[name] = f"{type(error).__name__}: {error}"[:200]
    return absent


class RankProcesses:
    """The ranks that run now: process ids and pipes."""

    def __init__(self) -> None:
        self.pids: dict[int, int] = {}
        self.commands: list[int] = []
        self.events: dict[int, tuple[int, bytes]] = {}


class Server:
    """Reads commands and events in one thread: a process that forks must have no other."""

    def __init__(self, commands: int, events: int) -> None:
        self._in, self._out = commands, events
        self._pool = RankProcesses()
        self._rest = b""
        self._stopped = False

    def say(self, **fields: Any) -> None:
        """Send one event to the runner."""
        data = (json.dumps(fields) + "\n").encode()
        while data:
            data = data[os.write(self._out, data) :]

    def serve(self) -> None:
        """Until the runner says so or is gone."""
        wake, signalled = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(signalled, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(signalled, warn_on_full_buffer=False)
        while not self._stopped:
            ready, _, _ = select.select([self._in, wake, *self._pool.events], [], [], 1.0)
            for handle in ready:
                if handle == wake:
                    with contextlib.suppress(BlockingIOError):
                        os.read(wake, 4096)
                elif handle == self._in:
                    if not self._commands():
                        return
                elif handle in self._pool.events:
                    self._forward(handle)
            self._reap()

    def stop(self, *_: Any) -> None:
        """End soon: the loop looks at it after every signal."""
        self._stopped = True

    def end(self) -> None:
        """End the ranks, and remove the scratch folder where the runner is gone and cannot do it."""
        for pid in self._pool.pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        folder = os.getcwd()
        if not os.path.basename(folder).startswith("rocdoctor-smoke-"):
            return
        for _ in range(40):  # a rank that is just dying may still write
            shutil.rmtree(folder, ignore_errors=True)
            if not os.path.exists(folder):
                return
            time.sleep(0.05)

    def _commands(self) -> bool:
        data = os.read(self._in, 65536)
        if not data:
            return False
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            order = json.loads(line)
            if order["do"] == "pool":
                self._fork(order)
            elif order["do"] == "survey":
                self._survey()
            elif order["do"] == "mode":
                for pipe in self._pool.commands:
                    with contextlib.suppress(OSError):
                        os.write(pipe, line + b"\n")
            else:
                return False
        return True

    def _fork(self, order: dict[str, Any]) -> None:
        from . import board as boards
        from .rank import RankJob, serve

        self._pool = RankProcesses()
        plan = {**order, "server": os.getpid()}
        boards.create(os.path.join(plan["folder"], "board"), int(plan["world"]))
        for rank in range(int(plan["world"])):
            command_in, command_out = os.pipe()
            event_in, event_out = os.pipe()
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                # A pipe's end that another process holds would never report that its owner is gone.
                for handle in (self._in, self._out, command_out, event_in, *self._pool.commands, *self._pool.events):
                    os.close(handle)
                serve(RankJob(plan, rank), command_in, event_out)
            os.close(command_in)
            os.close(event_out)
            self._pool.pids[pid] = rank
            self._pool.commands.append(command_out)
            self._pool.events[event_in] = (rank, b"")
        self.say(event="forked", pids={str(rank): pid for pid, rank in self._pool.pids.items()})

    def _forward(self, handle: int) -> None:
        rank, rest = self._pool.events[handle]
        data = os.read(handle, 65536)
        if not data:
            del self._pool.events[handle]
            os.close(handle)
            return
        *lines, rest = (rest + data).split(b"\n")
        self._pool.events[handle] = (rank, rest)
        for line in lines:
            os.write(self._out, line + b"\n")

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            rank = self._pool.pids.pop(pid, None)
            if rank is None:
                continue  # an adopted orphan
            at = time.monotonic()
            for handle, (owner, _) in list(self._pool.events.items()):
                if owner == rank:  # what it said last comes before the news of its end
                    while handle in self._pool.events and select.select([handle], [], [], 0)[0]:
                        self._forward(handle)
            if os.WIFSIGNALED(status):
                self.say(event="exit", rank=rank, pid=pid, signal=os.WTERMSIG(status), at=at)
            else:
                self.say(event="exit", rank=rank, pid=pid, status=os.WEXITSTATUS(status), at=at)

    def _survey(self) -> None:
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read)
            try:
                os.write(write, json.dumps(_gpus()).encode())
            finally:
                os._exit(0)
        os.close(write)
        parts = []
        while True:
            data = os.read(read, 65536)
            if not data:
                break
            parts.append(data)
        os.close(read)
        try:
            found = json.loads(b"".join(parts))
        except ValueError:
            found = {"error": "the child that looked at the GPUs died", "gpus": []}
        self.say(event="survey", **found)


def _gpus() -> dict[str, Any]:
    import torch  # type: ignore[import-not-found, unused-ignore]

    from .device_choice import pci_address

    try:
        if not torch.cuda.is_available():
            return {"gpus": [], "error": ""}
        found = []
        for number in range(torch.cuda.device_count()):
            one = torch.cuda.get_device_properties(number)
            found.append(
                {
                    "index": number,
                    "name": one.name,
                    "pci": pci_address(torch, number),
                    "gfx": getattr(one, "gcnArchName", "").split(":")[0] if torch.version.hip else None,
                    "capability": f"{one.major}.{one.minor}" if not torch.version.hip else None,
                    "memory_bytes": one.total_memory,
                    "units": one.multi_processor_count,
                    "integrated": bool(getattr(one, "is_integrated", False)),
                    **_free(torch, number),
                }
            )
    except Exception as error:
        return {"gpus": [], "error": f"{type(error).__name__}: {error}"[:400]}
    return {"gpus": found, "error": ""}


def _free(torch: Any, number: int) -> dict[str, Any]:
    """Free memory of a GPU before anything of ours is on it, or why it cannot be opened."""
    try:
        return {"free_bytes": torch.cuda.mem_get_info(number)[0]}
    except Exception as error:
        return {"refused": " ".join(f"{error}".split())[:200] or type(error).__name__}


def _hello() -> dict[str, Any]:
    """Import torch and say what it is; the first word that the runner waits for."""
    try:
        import torch
    except Exception as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name == "torch"
        words = "torch is not installed" if missing else f"torch cannot be imported: {type(error).__name__}: {error}"
        return {"event": "no-torch", "message": words[:400], "missing": missing}
    from .mode import release

    version = str(torch.__version__)
    if release(torch) < MIN_TORCH:
        return {"event": "no-torch", "message": f"torch {version} is too old: the tests need 2.1 or later"}
    import torch.distributed as dist

    if not dist.is_available():
        return {"event": "no-torch", "message": f"torch {version} was built without torch.distributed"}
    absent = preload()
    gloo = getattr(dist, "is_gloo_available", lambda: True)
    return {
        "event": "hello",
        "torch": version,
        "hip": torch.version.hip,
        "cuda": torch.version.cuda,
        "pid": os.getpid(),
        "python": sys.version.split()[0],
        "nccl": dist.is_nccl_available(),
        "gloo": bool(gloo()),
        # Something that Python ran at its start has opened a GPU: no fork of this process could use it.
        "opened": bool(torch.cuda.is_initialized()),  # type: ignore[no-untyped-call, unused-ignore]
        "absent": absent,
    }


def main(_: list[str]) -> None:
    """Serve on standard input and output; never returns."""
    commands, events = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL(None, use_errno=True)
        library.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        library.prctl(_PR_SET_CHILD_SUBREAPER, 1)
    warnings.filterwarnings("ignore")
    server = Server(commands, events)
    # The runner is gone, or somebody ends us. No exception: it could come while we are already clearing up.
    signal.signal(signal.SIGTERM, server.stop)
    status = 1
    try:
        first = _hello()
        server.say(**first)
        if first["event"] != "no-torch":
            server.serve()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        server.end()
        sys.stderr.flush()
        os._exit(status)  # taking torch apart takes seconds
