"""Running a program: a deadline, a bounded output, and nothing of it left behind.

Each program gets its own process group, which is ended with TERM and then KILL. Whatever still runs when this process
ends (an interrupt, a question that nobody waited for) is ended too.
"""

from __future__ import annotations

import _thread
import atexit
import contextlib
import errno
import os
import re
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rocdoctor.host.base import MAX_ANSWER_BYTES, Answer, normalise
from rocdoctor.host.live.own_time import OwnTime
from rocdoctor.host.live.patience import DEADLINE_S
from rocdoctor.host.live.programs import child_environment

if TYPE_CHECKING:
    from rocdoctor.host.live.interpreter import Identity

MAX_PROGRAMS_AT_ONCE = 16
_GPUS_IN_TIME = 4
_MORE_S_PER_GPU = 0.5
_MOST_DEADLINE_S = 30.0
GRACE_S = 0.3
# How long a pipe is read after its program has ended: a program of its own that lives on may hold it open.
_AFTER_END_S = 1.0
_POLL_S = 0.05
# A program that reads this much from storage in a second is being loaded from a slow disk; it does not hang.
_LOADING_BYTES = 1024 * 1024
_LOADING_S = 1.0
# Kept of a program that did not end in time: where it hung stands at the end of a few lines.
_MAX_UNFINISHED_BYTES = 256 * 1024
# Far more than any tool says of a machine full of GPUs; only logs are longer.
MAX_TOOL_BYTES = 4 * 1024 * 1024
# Ten times what an interpreter full of packages says of itself. It is a user's, and reading each sign takes time.
_MAX_PROBE_BYTES = 1024 * 1024
_LOGS = ("dmesg", "journalctl")
_MEMORY_FOR_THREADS_BYTES = 256 * 1024 * 1024

# How long the end of this process waits for programs that are being started: one on a sick file system may never be.
_START_S = 1.0

_running: set[subprocess.Popen[bytes]] = set()
_starting: dict[int, float] = {}  # since when, by thread
_lock = threading.Condition()
_ending = threading.Event()


def usual_deadline_s(root: str = "/") -> float:
    """How long a question may take where nobody says: vendor tools and torch visit each GPU in turn.

    Render nodes and NVIDIA's devices are counted; partitions of a GPU have nodes of their own. (The seconds are a
    judgement: no vendor states how long its tools may take.)
    """
    found = []
    for folder, prefix in (("sys/class/drm", "renderD"), ("dev", "nvidia")):
        with contextlib.suppress(OSError):
            names = os.listdir(os.path.join(root, folder))
            found.append(sum(name.startswith(prefix) and name[len(prefix) :].isdigit() for name in names))
    beyond = max(0, max(found, default=0) - _GPUS_IN_TIME)
    return min(DEADLINE_S + beyond * _MORE_S_PER_GPU, _MOST_DEADLINE_S)


def programs_at_once() -> int:
    """How many programs run side by side: fewer where this process may open few files."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft >= 0:
            return max(1, min(MAX_PROGRAMS_AT_ONCE, (soft - 24) // 6))
    return MAX_PROGRAMS_AT_ONCE


def threads_fit() -> bool:
    """Whether this process may have enough memory for threads: each takes a stack and an arena of its own.

    Where it has not, a thread may die before its first step, or take the memory that the answer needs.
    """
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        return soft < 0 or soft >= _MEMORY_FOR_THREADS_BYTES
    return True


def start_thread(function: Callable[..., None], *arguments: object) -> bool:
    """Start a daemon thread; False where this user may start no more, or has no memory for it.

    Not ``threading.Thread``, which waits for the first step of a thread that may never take it: where memory is short
    it dies before.
    """
    if not threads_fit():
        return False
    try:
        _thread.start_new_thread(function, arguments)
    except (RuntimeError, MemoryError):
        return False
    return True


def run_bounded(
    question: str,
    argv: list[str],
    limit_s: float,
    environment: Mapping[str, str] | None = None,
    who: Identity | None = None,
    handed: Sequence[int] = (),
    loading: Loading | None = None,
    begun: Callable[[], None] = lambda: None,
) -> Answer:
    """Run a program with a deadline and a bounded output; its whole process group is ended for certain.

    The deadline counts from when the program runs, which ``begun`` hears, and not while this process does not run.

    One that prints more than is kept is ended at once, and its answer is cut. ``who``: as another user, which root
    may; ``handed``: descriptors that the program gets. The deadline moves while ``loading`` says that the program is
    still being read from a slow disk.
    """
    most = MAX_ANSWER_BYTES if argv[0].rsplit("/", 1)[-1] in _LOGS else min(MAX_TOOL_BYTES, MAX_ANSWER_BYTES)
    if loading is not None:
        most = min(most, _MAX_PROBE_BYTES)
    try:
        child = _start(argv, environment, who, handed)
    except PermissionError:
        return Answer(question, "denied")
    except OSError as error:
        return Answer(question, "failed", note=f"cannot start {argv[0]}: {error.strerror}")
    clock = OwnTime()
    began = clock.now(0.0)
    deadline = began + limit_s
    begun()
    try:
        if loading is not None:
            loading.start(child.pid)
        out, err, late = _outputs(child, deadline, most, clock, loading)
        flood = max(len(out), len(err)) > most
        if loading is not None and loading.busy:
            deadline = max(deadline, clock.now(0.0) + _AFTER_END_S)
        while not (flood or late) and child.poll() is None and clock.now(_POLL_S) < deadline:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_POLL_S)
        # One whose memory is being written to a file has crashed; that takes as long as the disk takes.
        crashed = child.poll() is None and _dumps_core(child.pid)
        timed_out = not flood and not crashed and (late or child.poll() is None)
        took = clock.now(0.0) - began
    finally:
        _end([child])
        with _lock:
            _running.discard(child)
    if crashed and not flood:
        why = f"it crashed, and after {limit_s:g}s its memory was still being written to a file"
        return Answer(question, "failed", normalise(out[:_MAX_UNFINISHED_BYTES]), note=why, complete=False)
    if timed_out:
        note = f"{round(limit_s, 2) if took < limit_s + _LOADING_S else int(took):g}s"
        return Answer(question, "timeout", normalise(out[:_MAX_UNFINISHED_BYTES]), note=note, complete=False)
    code = None if flood else child.returncode
    if code != 0 or not out.strip():  # the reason of a failure usually stands on stderr
        out = out.rstrip(b"\n") + (b"\n" if out.strip() else b"") + err
    cut = len(out) > most
    kept = (
        most if most > MAX_TOOL_BYTES else min(most, _MAX_UNFINISHED_BYTES)
    )  # but for logs: no tool prints so much in earnest
    return Answer(question, "ok", normalise(out[: kept if cut else most]), code, truncated=cut, complete=not cut)


@contextlib.contextmanager
def running(argv: list[str], environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A program that is read while it runs; in the end its whole process group is ended. Raises OSError."""
    child = _start(argv, environment, None, ())
    try:
        yield child
    finally:
        _end([child])
        for end in (child.stdout, child.stderr):
            if end is not None:
                end.close()
        with _lock:
            _running.discard(child)


def _start(
    argv: list[str], environment: Mapping[str, str] | None, who: Identity | None, handed: Sequence[int]
) -> subprocess.Popen[bytes]:
    with _lock:
        if _ending.is_set():
            raise OSError(errno.ECANCELED, os.strerror(errno.ECANCELED))
        _starting[threading.get_ident()] = time.monotonic()
    try:  # the lock is not held: a program on a sick file system may never start
        child = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            env=child_environment() if environment is None else dict(environment),
            cwd="/",
            user=None if who is None else who.uid,
            group=None if who is None else who.gid,
            extra_groups=None if who is None else who.groups,
            pass_fds=handed,
        )
    except BaseException:
        _begun(None)
        raise
    _begun(child)
    if _ending.is_set():
        _end([child])
    return child


def _begun(child: subprocess.Popen[bytes] | None) -> None:
    """One is no longer being started: it runs, or could not."""
    with _lock:
        _starting.pop(threading.get_ident(), None)
        if child is not None:
            _running.add(child)
        _lock.notify_all()


class Loading:
    """Whether a program is still being read from storage: libraries on a cold or a network disk."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._path = ""
        self._until = self._looked = 0.0
        self._seen = 0
        self.busy = False

    def start(self, pid: int) -> None:
        """The program runs from here on."""
        self._path = f"/proc/{pid}/io"
        self._looked = time.monotonic()
        self._until = self._looked + self._limit_s
        self._seen = self._read_bytes()

    def goes_on(self, now: float) -> bool:
        """Whether it read much in the second before the last look; looks again when that is a second ago."""
        if now - self._looked >= _LOADING_S:
            have = self._read_bytes()
            self.busy = have - self._seen >= _LOADING_BYTES * (now - self._looked) and now < self._until
            self._looked, self._seen = now, have
        return self.busy

    def _read_bytes(self) -> int:
        try:
            with open(self._path, "rb") as stream:
                found = re.search(rb"^read_bytes: (\d{1,20})$", stream.read(), re.MULTILINE)
        except OSError:  # not ours to see, or it has ended
            return 0
        return int(found[1]) if found else 0


def _dumps_core(pid: int) -> bool:
    """Whether the kernel writes the memory of a process that a signal has ended (core(5), proc_pid_status(5))."""
    try:
        with open(f"/proc/{pid}/status", "rb") as stream:
            return b"\nCoreDumping:\t1\n" in stream.read(16384)
    except OSError:
        return False


def _outputs(
    child: subprocess.Popen[bytes], deadline: float, most: int, clock: OwnTime, loading: Loading | None = None
) -> tuple[bytes, bytes, bool]:
    """(stdout, stderr, whether it was still running at the deadline).

    Read until both end, the deadline has come, the program has ended a while ago, or one is longer than ``most``.
    """
    assert child.stdout is not None
    assert child.stderr is not None
    kept = {child.stdout.fileno(): bytearray(), child.stderr.fileno(): bytearray()}
    poll = select.poll()
    for descriptor in kept:
        poll.register(descriptor, select.POLLIN | select.POLLHUP)
    open_ends = set(kept)
    until = deadline
    ended = False
    while open_ends and max(map(len, kept.values())) <= most:
        now = clock.now(_POLL_S)
        more = loading is not None and not ended and loading.goes_on(now)
        left = max(0.0, until - now)
        over = left <= 0 and not more  # what it has said until then is read all the same
        for descriptor, _ in poll.poll(0 if over else min(_POLL_S, left or _POLL_S) * 1000):
            chunk = os.read(descriptor, 65536)
            if not chunk:
                poll.unregister(descriptor)
                open_ends.discard(descriptor)
            kept[descriptor] += chunk
        if over:
            break
        if not ended and child.poll() is not None:
            ended = True
            until = min(deadline, clock.now(_POLL_S) + _AFTER_END_S)
    # Looked at before the pipes are closed, which would end a program that still prints.
    late = bool(open_ends) and child.poll() is None
    out, err = (bytes(one) for one in kept.values())
    child.stdout.close()
    child.stderr.close()
    return out, err, late


def _end(children: Iterable[subprocess.Popen[bytes]]) -> None:
    """End the process groups of programs, also of those that have ended themselves but left others behind."""
    left = list(children)
    for sign in (signal.SIGTERM, signal.SIGKILL):
        for child in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, sign)
        until = time.monotonic() + GRACE_S
        for child in left:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(max(0.0, until - time.monotonic()))
    # A task in an uninterruptible kernel wait is abandoned; its question is answered with "timeout".


def _just_starting() -> bool:
    """Whether a program is being started that may yet begin: one that takes longer lies on a sick file system."""
    return any(time.monotonic() - since < _START_S for since in _starting.values())


@atexit.register
def end_all() -> None:
    """End every program that still runs; from here on none is started."""
    _ending.set()
    with _lock:  # a program may run already, while its thread has not got as far as to say so
        _lock.wait_for(lambda: not _just_starting(), _START_S)
        children = list(_running)
    if children:
        _end(children)
