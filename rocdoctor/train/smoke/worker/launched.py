"""Entry of a rank that a launcher of somebody else starts: ``launched PLAN``, its place given by the environment.

Two processes make a rank. The one that the launcher sees waits for the one that works, notes how that ended and ends
in the same way: so every launcher sees what it would see of a user's program, and the runner learns which rank ended
first, and how, whatever the launcher says of it.

In the plan's folder each start of the group (``attempt``) has a folder of its own with the board, ``rank<n>.log``,
``rank<n>.stack`` and JSON files: ``started.<rank>.<process id>``, ``result.<rank>``, ``ended.<rank>``.
"""

from __future__ import annotations

import contextlib
import datetime
import faulthandler
import json
import os
import random
import signal
import time
import traceback
from typing import Any

from . import board as boards
from . import guard, watch, whereabouts
from .context import Context
from .device_choice import choose, pci_address
from .mode import all_modes
from .rank import RankJob, bind_to_parent, quiet, run

# (rank, number of ranks) as launchers tell it; a process that nobody tells anything is alone.
_PLACES = (("RANK", "WORLD_SIZE"), ("HOROVOD_RANK", "HOROVOD_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"))
# A rank whose runner and launcher are both gone ends itself this long after the last deadline that there may be.
_ORPHAN_S = 10.0
_STACK_S = 0.3


class LaunchedContext(Context):
    """What a mode has at hand on a rank that was launched: as in a pool, but the process group is still to be formed.

    ``attempt`` counts the starts of the group from 0; ``folder`` is one for all of them.
    """

    attempt = 0

    def die(self) -> None:
        """End this rank as a crash does, and leave word that it was meant so."""
        _write(os.path.join(self.folder, str(self.attempt)), f"planned.{self.rank}")
        os.kill(os.getpid(), signal.SIGKILL)

    def form(self) -> None:
        """Form the process group as a user's program does: the launcher has said where."""
        dist = self.torch.distributed
        self.mark("forming the process group")
        dist.init_process_group(self.backend, timeout=datetime.timedelta(seconds=self.timeout_s))
        self.joined("the launcher")

    def joined(self, who: str) -> None:
        """Make sure that the group is the one that was asked for; nobody may have fallen back to fewer processes."""
        dist = self.torch.distributed
        formed = dist.is_initialized()
        self.expect(
            "input", who, formed, "formed no process group: each process would train for itself", layer="configuration"
        )
        world = dist.get_world_size() if formed else 1
        self.expect(
            "input", who, world == self.world, f"made a group of {world} instead of {self.world}", layer="configuration"
        )
        if not formed or world != self.world:
            return
        rank = dist.get_rank()
        self.expect("input", who, rank == self.rank, f"numbered rank {self.rank} as {rank}", layer="configuration")
        self.mark("first collective")
        total = self.torch.ones(1, device=self.device)
        dist.all_reduce(total)
        self.check("value", "first sum over all ranks", total, [float(self.world)], tolerance=0.0)


def main(arguments: list[str]) -> int:
    """Be one rank; the status is that of the process that works."""
    with open(arguments[-1]) as stream:
        plan = json.load(stream)
    rank, world = _place()
    attempt = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
    folder = os.path.join(plan["folder"], str(attempt))
    started = f"started.{rank}.{os.getpid()}"
    if world != plan["world"] or rank >= world:
        _write(folder, started, rank=rank, world=world, pid=0)
        return 0
    bind_to_parent(os.getppid())
    child = os.fork()
    if child == 0:
        _work({**plan, "folder": folder, "base": plan["folder"], "server": os.getppid()}, rank, attempt)
    _write(folder, started, rank=rank, world=world, pid=child)
    signal.signal(signal.SIGTERM, lambda *_: _leave(child, folder, rank))
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        _write(folder, f"ended.{rank}", signal=number)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        time.sleep(1.0)
        return 128 + number
    _write(folder, f"ended.{rank}", status=os.WEXITSTATUS(status))
    return os.WEXITSTATUS(status)


def _leave(child: int, folder: str, rank: int) -> None:
    """The launcher ends this rank, as it does with all once one is lost: what is it doing?"""
    with contextlib.suppress(OSError):
        whereabouts.ask(folder, [rank], _STACK_S)
        os.kill(child, signal.SIGKILL)
    os._exit(128 + signal.SIGTERM)


def _place() -> tuple[int, int]:
    for rank, world in _PLACES:
        if rank in os.environ and world in os.environ:
            return int(os.environ[rank]), int(os.environ[world])
    return 0, 1


def _write(folder: str, name: str, **fields: Any) -> None:
    """A JSON file that is whole or not there."""
    path = os.path.join(folder, name + ".json")
    with open(path + ".new", "w") as stream:
        json.dump({"at": time.monotonic(), **fields}, stream)
    os.replace(path + ".new", path)


def _work(plan: dict[str, Any], rank: int, attempt: int) -> None:
    """Run the mode on this rank and write its record. Never returns."""
    status = 1
    try:
        job = RankJob(plan, rank)
        bind_to_parent(job.parent)
        quiet(job)
        faulthandler.dump_traceback_later(float(plan["limit_s"]) + _ORPHAN_S, exit=True)
        name = str(plan["mode"])
        os.environ["ROCDOCTOR_SMOKE_MODE"] = name
        board = boards.Board(os.path.join(job.folder, "board"), rank)
        board.begin(name)
        import torch  # type: ignore[import-not-found, unused-ignore]

        torch.set_num_threads(1)
        watch.install(board)
        guard.install()
        context = _context(torch, job, plan, board, attempt)
        mode = next(mode for mode in all_modes() if mode.name == name)
        record = run(torch, mode.run, context)
        gpu = pci_address(torch, context.device.index) if context.device.type == "cuda" else None
        _write(job.folder, f"result.{rank}", gpu=gpu, **record)
        status = int(record["state"] == "crashed")
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _context(torch: Any, job: RankJob, plan: dict[str, Any], board: boards.Board, attempt: int) -> LaunchedContext:
    random.seed(0)
    device = torch.device("cpu")
    if job.device != "cpu":
        device = choose(torch, job.rank)
    context = LaunchedContext(torch, job.rank, job.world, device, job.backend, str(plan["base"]), board, {})
    context.attempt = attempt
    context.timeout_s = job.timeout_s
    return context
