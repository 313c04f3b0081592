"""One rank of a pool: joins the process group, runs the modes it is told to, and says what it saw.

Every result is written before anything else happens, and the process ends without running exit handlers: some torch
builds abort there although all work is done.
"""

from __future__ import annotations

import contextlib
import ctypes
import datetime
import errno
import faulthandler
import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from . import again, device_choice, draws, figures, guard, locate, plan_step, server, watch, whereabouts
from . import board as boards
from .context import Context
from .mode import ModeNotApplicable, OtherRankFailed, all_modes

_PR_SET_PDEATHSIG = 1
# So long before the runner stops waiting, ranks of a launcher stop waiting for each other: then they say where they
# stood, and the one that did not come is told from those that waited.
_BEFORE_RUNNER_S = 5.0
# Words in the errors of ranks that lost another rank, or waited for one in vain: not the fault itself.
_VICTIM = (
    "connection closed by peer",
    "connection reset by peer",
    "timed out waiting",
    "socket timeout",
    "broken pipe",
    "connection was likely closed",
    "watchdog caught collective operation timeout",
    "remote process exited",
    "application timeout caused pair closure",
    "ncclremoteerror",
    "wait timeout",
    "timed out after",
    "read error",
    "write error",
)

# What a back end says of an operation, a type of device or a kind of sum that it does not have.
_UNSUPPORTED = (
    "no backend type associated with device type",
    "gloo does not support",
    "unsupported device type",
    "cannot use reduceop",
)


# What CUDA says of a GPU that another process has for itself (compute mode), and HIP of one that it may not open.
_BUSY = ("busy or unavailable", "devicesunavailable", "device_unavailable")


# Of a disk or shared memory: errors of the system (errno(3)) in the words of glibc, and of torch's data loader.
_DISK = (
    "no space left",
    "read-only file system",
    "bus error",
    "shared memory",
    "file too large",
    "disk quota exceeded",
    "input/output error",
    "stale file handle",
)


# What the system refuses (EMFILE, ENFILE, EACCES, ENOMEM, in the words of glibc), and CPython where no thread starts.
_LIMITS = ("too many open files", "permission denied", "cannot allocate memory", "can't start new thread")


# What the system has not, or not now, as Python tells it: the number of the error, not its words, which programs choose
# for themselves. Wrong calls (EBADF, EINVAL) are no such thing.
_MACHINE = tuple(
    f"[errno {number}]"
    for number in (
        errno.EPERM,
        errno.ENOENT,
        errno.EIO,
        errno.ENXIO,
        errno.ENOEXEC,
        errno.EAGAIN,
        errno.EBUSY,
        errno.ENODEV,
        errno.ENOLCK,
        errno.ELOOP,
        errno.EADDRNOTAVAIL,
        errno.ENETDOWN,
        errno.ENETUNREACH,
        errno.ENOTCONN,
        errno.ECONNREFUSED,
        errno.ETIMEDOUT,
        errno.EHOSTDOWN,
        errno.EHOSTUNREACH,
        errno.EREMOTEIO,
        errno.EDQUOT,
    )
)
# Libraries that are missing or of another build: the dynamic linker's words (dl-load.c and dl-lookup.c of glibc).
_INSTALLED = (
    "cannot open shared object file",
    "undefined symbol",
    "' not found (required by",
    "invalid elf header",
    "wrong elf class",
    "static tls block",
    "no module named",
)
# What getaddrinfo answers of a name (gai_strerror(3)): the machine's resolver, or the name that it was given.
_NAMES = ("name or service not known", "temporary failure in name resolution", "no address associated with hostname")


class RankJob:
    """What the server tells a rank: its place in the pool. All values are JSON.

    ``joined``: a launcher of the user's (torchrun) started it and says where the others are; then ``folder`` is this
    node's own. ``local``: its number on this node. ``ready_by``: when the runner stops waiting for such ranks to have
    met, as ``time.monotonic`` tells it on this node; 0 where nothing more than ``timeout_s`` is allowed.
    """

    def __init__(self, plan: dict[str, Any], rank: int) -> None:
        self.rank = rank
        self.world = int(plan["world"])
        self.backend = str(plan["backend"])
        self.device = str(plan["device"])
        self.folder = str(plan["folder"])
        self.timeout_s = float(plan["timeout_s"])
        self.parent = int(plan["server"])
        self.variables: dict[str, str] = dict(plan.get("variables") or {})
        self.joined = bool(plan.get("joined"))
        self.local = int(plan.get("local", rank))
        self.local_world = int(plan.get("local_world", self.world))
        self.ready_by = float(plan.get("ready_by", 0.0))


def serve(job: RankJob, commands: int, events: int) -> None:
    """Run in a fresh fork until told to end, or until the other side is gone. Never returns."""
    status = 1
    try:
        bind_to_parent(job.parent)
        quiet(job)
        _serve(job, commands, events)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def bind_to_parent(parent: int) -> None:
    """Die when the process that started this one dies, also while hanging in the kernel's or a library's code."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def quiet(job: RankJob) -> None:
    """Write into a log of our own, tell on request where this rank stands, and tell libraries which rank it is."""
    log = os.open(os.path.join(job.folder, f"rank{job.rank}.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number in (1, 2):
        os.dup2(log, number)
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the runner ends us
    faulthandler.enable(file=sys.stderr, all_threads=False)
    whereabouts.answer(job.folder, job.rank)
    os.environ.update(job.variables)
    os.environ.update(
        RANK=str(job.rank), LOCAL_RANK=str(job.local), WORLD_SIZE=str(job.world), LOCAL_WORLD_SIZE=str(job.local_world)
    )


def _serve(job: RankJob, commands: int, events: int) -> None:
    import torch  # type: ignore[import-not-found, unused-ignore]

    def say(**fields: Any) -> None:
        data = (json.dumps({"rank": job.rank, "pid": os.getpid(), "at": time.monotonic(), **fields}) + "\n").encode()
        while data:
            data = data[os.write(events, data) :]

    board = boards.Board(os.path.join(job.folder, "board"), job.rank)
    board.begin("start")
    if job.joined:
        # From a slow disk it would take the time of a mode, while others wait in a collective.
        board.mark("importing what modes need")
        server.preload()
    try:
        device, seen = join(torch, job, board)
    except BaseException as error:
        say(event="not-ready", **_crash(torch, error))
        return
    say(event="ready", gpu=seen)
    modes = {mode.name: mode for mode in (*all_modes(), locate.MODE, again.MODE, plan_step.MODE, *figures.ALL)}
    cache: dict[Any, Any] = {}
    with os.fdopen(commands, "r") as lines:
        for line in lines:
            order = json.loads(line)
            name = str(order["mode"])
            if name != again.NAME:  # which belongs to the mode before
                os.environ["ROCDOCTOR_SMOKE_MODE"] = name
            board.begin(name)
            shared = "" if job.joined else job.folder
            context = Context(torch, job.rank, job.world, device, job.backend, shared, board, cache)
            context.timeout_s = job.timeout_s
            context.options = order.get("options") or {}
            began = time.monotonic()
            record = run(torch, modes[name].run, context)
            say(event="result", mode=name, seconds=time.monotonic() - began, **record)


def join(torch: Any, job: RankJob, board: boards.Board) -> Any:
    """Choose the device and form the process group. Gives the device and the GPU's PCI address (None on the CPU)."""
    import torch.distributed as dist

    torch.set_num_threads(1)
    torch.manual_seed(0)
    random.seed(0)
    watch.install(board)
    guard.install()
    if job.device == "cpu":
        device, seen = torch.device("cpu"), None
    else:
        device = device_choice.choose(torch, job.local)
        seen = device_choice.pci_address(torch, device.index)
    board.mark(boards.MEETING)
    form(dist, job)
    board.mark("first collective, all_reduce float32[1]")
    dist.all_reduce(torch.ones(1, device=device))
    if device.type == "cuda":
        torch.cuda.synchronize()
    met(dist, job)
    return device, seen


def meeting_s(job: RankJob, now_s: float) -> float:
    """How long to wait for the other ranks; ``now_s`` of ``time.monotonic``.

    Ranks that a launcher starts import torch each for itself, from a slow disk on one node perhaps.
    """
    return max(job.timeout_s, job.ready_by - now_s - _BEFORE_RUNNER_S) if job.joined else job.timeout_s


def form(dist: Any, job: RankJob) -> None:
    """Form the process group, with more time where ranks come each for itself; ``met`` ends that."""
    patient = _shortens(dist) is not None
    # What could not be shortened again would hold in all modes, and ranks that wait in vain would not say so.
    wait_s = meeting_s(job, time.monotonic()) if patient else job.timeout_s
    timeout = datetime.timedelta(seconds=wait_s)
    if job.joined:
        dist.init_process_group(job.backend, timeout=timeout)  # from the launcher's environment
        return
    store = dist.FileStore(os.path.join(job.folder, "store"), job.world)
    dist.init_process_group(job.backend, store=store, rank=job.rank, world_size=job.world, timeout=timeout)


def met(dist: Any, job: RankJob) -> None:
    """All ranks are there: from now on the usual time holds."""
    shorten = _shortens(dist)
    if job.joined and shorten is not None:
        shorten(datetime.timedelta(seconds=job.timeout_s))


def _shortens(dist: Any) -> Callable[[datetime.timedelta], None] | None:
    """What changes the time limit of a process group, where this torch has it."""
    found: Callable[[datetime.timedelta], None] | None = getattr(dist.distributed_c10d, "_set_pg_timeout", None)
    return found


def run(torch: Any, function: Callable[[Context], None], context: Context) -> dict[str, Any]:
    """Run one mode; the record holds the state, the errors and the first faults. Never raises."""
    random.seed(0)
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    torch.set_grad_enabled(True)
    try:
        function(context)
        if context.device.type == "cuda":
            torch.cuda.synchronize()
    except ModeNotApplicable as reason:
        return {"state": "not-applicable", "message": str(reason)[:400]}
    except BaseException as error:
        return _crash(torch, error)
    found = context.comparison
    if not found.count:
        return {"state": "crashed", "kind": "error", "message": "the mode compared nothing"}
    record: dict[str, Any] = {
        "state": "fail" if found.faults else "pass",
        "errors": found.errors,
        "tolerances": found.tolerances,
        "checks": found.count,
    }
    if found.faults:
        record["faults"] = found.faults
    if context.sketches:
        record["reference"] = context.sketches
        if not draws.as_usual(torch):
            record["draws_otherwise"] = True
    if context.facts:
        record["facts"] = context.facts
    return record


def _without_frames(words: str) -> str:
    """What a data loader's worker raised, without the traceback that torch puts between the two lines that tell it."""
    head, found, rest = words.partition("Original Traceback")
    lines = [line.strip() for line in rest.splitlines() if line.strip()]
    return f"{head.strip()} {lines[-1]}" if found and len(lines) > 1 else words


def _crash(torch: Any, error: BaseException) -> dict[str, Any]:
    traceback.print_exc()
    words = f"{type(error).__name__}: {_without_frames(str(error))}".strip()
    if error.__cause__ is not None and str(error.__cause__):
        words += f", since: {error.__cause__}"
    low = words.lower()
    kind = "error"
    if "out of memory" in low or "defaultcpuallocator" in low or isinstance(error, MemoryError):
        kind = "memory"
    elif isinstance(error, NotImplementedError) or any(part in low for part in _UNSUPPORTED):
        kind = "unsupported"
    elif isinstance(error, OtherRankFailed) or any(part in low for part in _VICTIM):
        kind = "victim"
    elif any(part in low for part in _DISK):
        kind = "space"
    elif any(part in low for part in _LIMITS):
        kind = "limit"
    elif any(part in low for part in (*_MACHINE, *_INSTALLED, *_NAMES)):
        kind = "missing"
    elif any(part in low for part in _BUSY):
        kind = "busy"
    elif "hip error" in low or "cuda error" in low or "cudnn" in low or "miopen" in low:
        kind = "device"
    elif "nccl" in low or "gloo" in low or "detected mismatch between collectives" in low:
        kind = "collective"
    frames = [
        f"{os.path.basename(one.filename)}:{one.lineno} {one.name}" for one in traceback.extract_tb(error.__traceback__)
    ]
    return {
        "state": "crashed",
        "kind": kind,
        "message": " ".join(words.split())[:500],
        "stack": frames[-6:],
        "calls": watch.last_calls(torch),
    }
