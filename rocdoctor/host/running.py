"""Running a program: a deadline, a bounded output, and nothing of it left behind.

Each program gets its own process group, which is ended with TERM and then KILL. Whatever still runs when this process
ends (an interrupt, a question that nobody waited for) is ended too.
"""

from __future__ import annotations

import atexit
import contextlib
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

_running: set[subprocess.Popen[bytes]] = set()
_lock = threading.Lock()
_ending = threading.Event()


def programs_at_once() -> int:
    """How many programs run side by side: fewer where this process may open few files."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft >= 0:
            return max(1, min(MAX_PROGRAMS_AT_ONCE, (soft - 24) // 6))
    return MAX_PROGRAMS_AT_ONCE


def run_bounded(question: str, argv: list[str], limit_s: float, environment: Mapping[str, str] | None = None) -> Answer:
    """Run a program with a deadline and a bounded output; its whole process group is ended for certain."""
    deadline = time.monotonic() + limit_s
    try:
        child = _start(argv, environment)
    except PermissionError:
        return Answer(question, "denied")
    except OSError as error:
        return Answer(question, "failed", note=f"cannot start {argv[0]}: {error.strerror}")
    try:
        out, err = _outputs(child, deadline)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(max(0.0, deadline - time.monotonic()))
        timed_out = child.poll() is None
    finally:
        _end([child])
        with _lock:
            _running.discard(child)
    if timed_out:
        return Answer(question, "timeout", normalise(out[:_MAX_UNFINISHED_BYTES]), note=f"{limit_s:g}s", complete=False)
    code = child.returncode
    if code != 0 or not out.strip():  # the reason of a failure usually stands on stderr
        out = out.rstrip(b"\n") + (b"\n" if out.strip() else b"") + err
    cut = len(out) > MAX_ANSWER_BYTES
    return Answer(question, "ok", normalise(out[:MAX_ANSWER_BYTES]), code, truncated=cut, complete=not cut)


def _start(argv: list[str], environment: Mapping[str, str] | None) -> subprocess.Popen[bytes]:
    child = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
        start_new_session=True, env=child_environment() if environment is None else dict(environment), cwd="/",
    )  # fmt: skip
    with _lock:  # not held above: a program on a sick file system may never start
        _running.add(child)
    if _ending.is_set():
        _end([child])
    return child


def _outputs(child: subprocess.Popen[bytes], deadline: float) -> tuple[bytes, bytes]:
    """(stdout, stderr), read until both end, the deadline has come, or the program has ended a while ago."""
    assert child.stdout is not None
    assert child.stderr is not None
    kept = {child.stdout.fileno(): bytearray(), child.stderr.fileno(): bytearray()}
    poll = select.poll()
    for descriptor in kept:
        poll.register(descriptor, select.POLLIN | select.POLLHUP)
    open_ends = set(kept)
    until = deadline
    ended = False
    while open_ends and (left := until - time.monotonic()) > 0:
        for descriptor, _ in poll.poll(min(_POLL_S, left) * 1000):
            chunk = os.read(descriptor, 65536)
            if not chunk:
                poll.unregister(descriptor)
                open_ends.discard(descriptor)
            elif len(kept[descriptor]) <= MAX_ANSWER_BYTES:
                kept[descriptor] += chunk
        if not ended and child.poll() is not None:
            ended = True
            until = min(deadline, time.monotonic() + _AFTER_END_S)
    out, err = (bytes(one) for one in kept.values())
    child.stdout.close()
    child.stderr.close()
    return out, err


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
    with _lock:
        children = list(_running)
    if children:
        _end(children)
