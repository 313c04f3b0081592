"""Where a rank stands, told on request by a thread of its own.

The thread waits in the opening of a FIFO, ``rank<n>.ask``; a request is a line, which the answer in ``rank<n>.stack``
begins with. It reads the frames of the main thread as any Python code does, holding the interpreter's lock. A signal
handler that walks frames needs no lock but is not safe: faulthandler at SIGUSR2 ended healthy ranks on Python 3.11 to
3.13, which build a frame in several steps. A rank that keeps the lock to itself, or is stopped, gives no answer.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Collection
from types import FrameType

_FRAMES = 12
_POLL_S = 0.01


def answer(folder: str, rank: int) -> None:
    """Answer requests for where this thread, the main one, stands."""
    fifo = os.path.join(folder, f"rank{rank}.ask")
    with contextlib.suppress(FileExistsError):
        os.mkfifo(fifo, 0o600)
    place = (fifo, os.path.join(folder, f"rank{rank}.stack"), threading.get_ident())
    threading.Thread(target=_answers, args=place, daemon=True, name="whereabouts").start()


def _answers(fifo: str, path: str, thread: int) -> None:
    with contextlib.suppress(OSError):  # the folder is gone, or the disk full: then nothing is told
        while True:
            with open(fifo, encoding="utf-8") as requests:
                asked = requests.read().strip()
            with open(path + ".new", "w", encoding="utf-8") as stream:
                stream.write(f"{asked}\n{_frames(sys._current_frames().get(thread))}")
            os.replace(path + ".new", path)


def _frames(frame: FrameType | None) -> str:
    """As faulthandler writes them, the innermost first."""
    lines: list[str] = []
    while frame is not None and len(lines) < _FRAMES:
        lines.append(f'  File "{frame.f_code.co_filename}", line {frame.f_lineno} in {frame.f_code.co_name}')
        frame = frame.f_back
    return "\n".join(lines)


def ask(folder: str, ranks: Collection[int], limit_s: float) -> dict[int, str]:
    """The frames of those ranks that answer within the time."""
    asked = f"{os.getpid()}.{time.monotonic_ns()}"
    waiting = {rank for rank in ranks if os.path.exists(os.path.join(folder, f"rank{rank}.ask"))}
    to_ask = set(waiting)
    found: dict[int, str] = {}
    until = time.monotonic() + limit_s
    while waiting:
        for rank in sorted(waiting):
            if rank in to_ask and _request(os.path.join(folder, f"rank{rank}.ask"), asked):
                to_ask.discard(rank)
            first, rest = _read(folder, rank)
            if first == asked:
                found[rank] = rest
                waiting.discard(rank)
        if not waiting or time.monotonic() >= until:
            break
        time.sleep(_POLL_S)
    return found


def told(folder: str, rank: int) -> str:
    """The frames of a rank when it was asked last."""
    return _read(folder, rank)[1]


def _read(folder: str, rank: int) -> tuple[str, str]:
    with contextlib.suppress(OSError), open(os.path.join(folder, f"rank{rank}.stack"), encoding="utf-8") as stream:
        first, _, rest = stream.read(8192).partition("\n")
        return first, rest
    return "", ""


def _request(fifo: str, asked: str) -> bool:
    """Whether somebody is there to take the request: between two answers nobody is for a moment."""
    try:
        handle = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        os.write(handle, asked.encode())
    except OSError:
        return False
    finally:
        os.close(handle)
    return True
