"""Running a program: a deadline, a bounded output, and nothing of it left behind.

Each program gets its own process group, which is ended with TERM and then KILL. Whatever still runs when this process
ends (an interrupt, a question that nobody waited for) is ended too.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping

from rocdoctor.host.base import MAX_ANSWER_BYTES, Answer, normalise
from rocdoctor.host.programs import child_environment

MAX_PROGRAMS_AT_ONCE = 16
GRACE_S = 0.3
# How long a pipe is read after its program has ended: a program of its own that lives on may hold it open.
_AFTER_END_S = 1.0
_POLL_S = 0.05
# Kept of a program that did not end in time: where it hung stands at the end of a few lines.
_MAX_UNFINISHED_BYTES = 256 * 1024
# Far more than any tool says of a machine full of GPUs; only logs are longer.
MAX_TOOL_BYTES = 4 * 1024 * 1024
_LOGS = ("dmesg", "journalctl")
_MEMORY_FOR_THREADS_BYTES = 256 * 1024 * 1024

# How long the end of this process waits for programs that are being started: one on a sick file system may never be.
_START_S = 1.0

_running: set[subprocess.Popen[bytes]] = set()
_starting = 0
_lock = threading.Condition()
_ending = threading.Event()


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


def run_bounded(question: str, argv: list[str], limit_s: float, environment: Mapping[str, str] | None = None) -> Answer:
    """Run a program with a deadline and a bounded output; its whole process group is ended for certain.

    One that prints more than is kept is ended at once, and its answer is cut.
    """
    most = MAX_ANSWER_BYTES if argv[0].rsplit("/", 1)[-1] in _LOGS else min(MAX_TOOL_BYTES, MAX_ANSWER_BYTES)
    deadline = time.monotonic() + limit_s
    try:
        child = _start(argv, environment)
    except PermissionError:
        return Answer(question, "denied")
    except OSError as error:
        return Answer(question, "failed", note=f"cannot start {argv[0]}: {error.strerror}")
    try:
        out, err, late = _outputs(child, deadline, most)
        flood = max(len(out), len(err)) > most
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(0.0 if flood else max(0.0, deadline - time.monotonic()))
        timed_out = not flood and (late or child.poll() is None)
    finally:
        _end([child])
        with _lock:
            _running.discard(child)
    if timed_out:
        return Answer(question, "timeout", normalise(out[:_MAX_UNFINISHED_BYTES]), note=f"{limit_s:g}s", complete=False)
    code = None if flood else child.returncode
    if code != 0 or not out.strip():  # the reason of a failure usually stands on stderr
        out = out.rstrip(b"\n") + (b"\n" if out.strip() else b"") + err
    cut = len(out) > most
    return Answer(question, "ok", normalise(out[:most]), code, truncated=cut, complete=not cut)


def _start(argv: list[str], environment: Mapping[str, str] | None) -> subprocess.Popen[bytes]:
    global _starting
    with _lock:
        if _ending.is_set():
            raise OSError(errno.ECANCELED, os.strerror(errno.ECANCELED))
        _starting += 1
    child = None
    try:  # the lock is not held: a program on a sick file system may never start
        child = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
            start_new_session=True, env=child_environment() if environment is None else dict(environment), cwd="/",
        )  # fmt: skip
    finally:
        with _lock:
            _starting -= 1
            if child is not None:
                _running.add(child)
            _lock.notify_all()
    if _ending.is_set():
        _end([child])
    return child


def _outputs(child: subprocess.Popen[bytes], deadline: float, most: int) -> tuple[bytes, bytes, bool]:
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
    while open_ends and max(map(len, kept.values())) <= most and (left := until - time.monotonic()) > 0:
        for descriptor, _ in poll.poll(min(_POLL_S, left) * 1000):
            chunk = os.read(descriptor, 65536)
            if not chunk:
                poll.unregister(descriptor)
                open_ends.discard(descriptor)
            kept[descriptor] += chunk
        if not ended and child.poll() is not None:
            ended = True
            until = min(deadline, time.monotonic() + _AFTER_END_S)
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


@atexit.register
def end_all() -> None:
    """End every program that still runs; from here on none is started."""
    _ending.set()
    with _lock:  # a program may run already, while its thread has not got as far as to say so
        _lock.wait_for(lambda: not _starting, _START_S)
        children = list(_running)
    if children:
        _end(children)
