"""A command in a child of its own, so that a thread that hangs in the kernel cannot keep it from ending.

A process ends when its last thread does, and a thread in an uninterruptible wait (a read of a GPU that is gone) ends
never: the shell would wait with us. So the work is done in a child. When that has delivered its exit status, or is
a zombie of which only such threads are left, the parent leaves with that status. The child shares the terminal, the
streams and the process group, so it looks like one program.

The parent adopts what tools leave behind (a daemon in a session of its own) and ends it. Where the parent is killed,
the child notices and ends as after SIGTERM.
"""

from __future__ import annotations

import _thread
import atexit
import contextlib
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import NoReturn

# From its exit status to its end a child needs milliseconds; what is left after this hangs in the kernel.
_END_S = 1.0
# The same where the child has told its status: nothing but its end is to come.
_GO_S = 0.3
_LOOK_S = 0.1
# After a request to stop: the same again, since an interrupt may fall where Python drops it; then ended for certain.
_AGAIN_S = 5.0
_KILL_S = 20.0
# How long processes that a tool left behind are looked for.
_ORPHANS_S = 1.0
_PR_SET_CHILD_SUBREAPER = 36
_M_ARENA_MAX = -8
_STOPPING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")


def possible() -> bool:
    """Whether this system has what it needs."""
    return sys.platform == "linux" and threading.active_count() == 1


def run_apart(work: Callable[[], int], slow_to_stop: bool = False) -> NoReturn:
    """Do the work in a child and end this process as it ended. Call it while there is one thread and no child yet.

    ``slow_to_stop``: the first interrupt asks for the result so far, which takes the time that it takes.
    """
    stopping = {
        number
        for name in _STOPPING
        if signal.getsignal(number := getattr(signal, name)) is not signal.SIG_IGN  # as nohup wants it
    }
    heard = stopping | {signal.SIGCHLD}
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, heard)
    status, said = _pipe()  # the child's exit status
    alive, ours = _pipe()  # ends when this process does
    try:
        child = os.fork()
    except OSError:  # no more processes for this user: then without one
        for descriptor in (status, said, alive, ours):
            os.close(descriptor)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        sys.exit(work())
    if child == 0:
        os.close(status)
        os.close(ours)
        _work(work, said, alive, mask)
    os.close(said)
    os.close(alive)
    adopt()
    code = _wait(child, status, heard, slow_to_stop)
    _end_orphans(child)
    if code < 0:
        code = _ended_by(-code)
    os._exit(code)


def _pipe() -> tuple[int, int]:
    """A pipe that does not take the numbers of standard streams where those are closed."""
    from fcntl import F_DUPFD_CLOEXEC, fcntl

    low = os.pipe()
    high = (fcntl(low[0], F_DUPFD_CLOEXEC, 3), fcntl(low[1], F_DUPFD_CLOEXEC, 3))
    for descriptor in low:
        os.close(descriptor)
    return high


# -- the child


def _one_heap() -> None:
    """Where addresses are limited, no thread sets 64 MiB of them aside for a heap of its own.

    The first thread begins before most modules are loaded: whether that much was still free hung on the load of the
    machine, and what came after found no memory (glibc, mallopt(3), M_ARENA_MAX).
    """
    import resource

    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        with contextlib.suppress(Exception):
            import ctypes

            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def _work(work: Callable[[], int], said: int, alive: int, mask: set[int | signal.Signals]) -> NoReturn:
    code = 1

    def deliver() -> None:
        """The last of all exit handlers, as the first that was registered."""
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        # A thread that stays behind would keep the reader of a pipe waiting.
        with contextlib.suppress(OSError):
            nothing = os.open(os.devnull, os.O_RDWR)
            for number in range(3):
                os.dup2(nothing, number)
        with contextlib.suppress(OSError):
            os.write(said, b"%d" % (code & 0xFF))
        if alone:  # nobody else is there to end what tools leave behind
            _end_orphans(0)
        os._exit(code & 0xFF)

    alone: list[bool] = []
    atexit.register(deliver)
    _one_heap()
    with contextlib.suppress(RuntimeError, MemoryError):  # no more threads for this user
        _thread.start_new_thread(_end_with_parent, (alive, alone))  # which does not wait for the thread's first step
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        code = work()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        raise
    except KeyboardInterrupt:  # before the work has handlers of its own
        code = 128 + signal.SIGINT
    sys.exit(code)


def _end_with_parent(alive: int, alone: list[bool]) -> None:
    with contextlib.suppress(OSError):
        os.read(alive, 1)
    adopt()
    alone.append(True)
    os.kill(os.getpid(), signal.SIGTERM)


# -- the parent


def adopt() -> None:
    """Processes that lose their parent become children of this one, not of init."""
    with contextlib.suppress(Exception):
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _wait(child: int, status: int, heard: set[signal.Signals], slow_to_stop: bool = False) -> int:
    """The child's exit status, or minus the signal that ended it. Passes requests to stop on."""
    asked: float | None = None
    first = signal.SIGTERM.value  # what was asked with
    again = False
    code: int | None = None
    delivered = False  # or guessed, of a child that is a zombie: one that a signal has just ended is one as well
    left_at = 0.0
    while True:
        ended, how = os.waitpid(child, os.WNOHANG)
        if ended:
            return code if code is not None and delivered else os.waitstatus_to_exitcode(how)
        if code is None:
            code = _delivered(status)
            delivered = code is not None
            left_at = time.monotonic() + _GO_S
        if code is not None and time.monotonic() >= left_at:
            return code
        if code is None and _only_threads_left(child):
            # Hanging threads keep it a zombie; those of a child that a signal has just ended need a moment to go.
            said = _delivered(status)
            code, delivered = 1 if said is None else said, said is not None
            left_at = time.monotonic() + _END_S
            continue
        try:
            got = signal.sigtimedwait(heard, _LOOK_S)
        except OSError:  # a sandbox that refuses it
            got = None
            time.sleep(0.01)
        if got is not None and got.si_signo != signal.SIGCHLD:
            if slow_to_stop and got.si_signo == signal.SIGINT:
                slow_to_stop = False
            elif asked is None:
                asked, first = time.monotonic(), got.si_signo
            if got.si_code <= 0:  # of a process; the terminal's has reached the child too
                _send(child, got.si_signo)
        if asked is not None and code is None:
            since = time.monotonic() - asked
            if since > _KILL_S:
                _send(child, signal.SIGKILL)
            elif since > _AGAIN_S and not again:
                again = True
                _send(child, first)


def _delivered(status: int) -> int | None:
    ready, _, _ = select.select([status], [], [], 0)
    if not ready:
        return None
    said = os.read(status, 16)
    return int(said) if said else None


def _only_threads_left(child: int) -> bool:
    """Whether the main thread has ended, and others have not."""
    try:
        with open(f"/proc/{child}/stat", "rb") as stream:
            return stream.read().rpartition(b")")[2].split()[:1] == [b"Z"]
    except OSError:
        return False


def _send(child: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(child, number)


def _end_orphans(child: int) -> None:
    """End what became our child; its own children then become ours, so several looks."""
    until = time.monotonic() + _ORPHANS_S
    stuck: set[int] = set()
    while found := [pid for pid in children() if pid != child and pid not in stuck]:
        for pid in found:
            _send(pid, signal.SIGKILL)
        while found and time.monotonic() < until:
            found = [pid for pid in found if not _reaped(pid)]
            time.sleep(0.002 if found else 0)
        stuck.update(found)
        if time.monotonic() >= until:
            return


def _reaped(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] != 0
    except OSError:
        return True


def children() -> list[int]:
    """The processes that any thread of this one has started, or that it has adopted, and that are not waited for."""
    found: list[int] = []
    try:
        for task in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{task}/children", "rb") as stream:
                found += [int(word) for word in stream.read().split()]
    except OSError:
        pass
    else:
        return found
    try:  # a kernel without that file, or a thread that has just ended
        from rocdoctor.host.live.processes import stat_lines

        return [pid for pid, (parent, _) in stat_lines().items() if parent == os.getpid()]
    except OSError:
        return []


def _ended_by(number: int) -> int:
    """The exit status where a signal has ended the child: one that asked for it ends us too, others are a fault."""
    asked = {getattr(signal, name) for name in (*_STOPPING, "SIGPIPE")}
    if number in asked:
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
            os.kill(os.getpid(), number)
        return 128 + number
    why = "out of memory, or ended by somebody" if number == signal.SIGKILL else signal.strsignal(number)
    with contextlib.suppress(OSError):
        os.write(2, f"rocdoctor broke: its process was ended by signal {number} ({why})\n".encode())
    return 3
