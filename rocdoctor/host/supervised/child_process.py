"""Starting the process that asks this machine, and the pipes to it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from rocdoctor.host.base import ASKER
from rocdoctor.host.supervised.frames import Frames

# The interpreter finds there what it finds here, and nothing in the current folder, which an empty part of PYTHONPATH
# means (-I); without ``site`` it starts faster.
_PROGRAM = "import sys; sys.path[:] = sys.argv.pop(1).split('\\n'); from rocdoctor.service.verbs import main; main()"


class LinkError(Exception):
    """The process cannot be started; the message says why."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the process is told at its start; ``folder`` is that of smoke tests, empty where it answers questions."""

    timeout_s: float
    python: str | None = None
    pid: int | None = None
    folder: str = ""
    trust_python: bool = False


class Link:
    """One child and its pipes. Starting it waits for nothing that the child does."""

    def __init__(self, settings: Settings) -> None:
        ours = str(Path(__file__).parents[3])
        path = [*(one for one in sys.path if one), ours]
        options = ["-I", "-S", *(["-B"] if sys.dont_write_bytecode else [])]
        argv = [sys.executable, *options, "-c", _PROGRAM, "\n".join(path), json.dumps(asdict(settings))]
        try:
            self.process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                start_new_session=True,
                env=os.environ,
            )
        except OSError as error:
            raise LinkError(f"{ASKER} cannot be started: {error.strerror}") from None
        assert self.process.stdin is not None and self.process.stdout is not None
        self._to = self.process.stdin
        os.set_blocking(self._to.fileno(), False)
        self.frames = Frames(self.process.stdout.fileno())
        self.heard_at = time.monotonic()
        self.worker = 0  # the process that does the work, known when it says hello
        self._lock = threading.Lock()

    def send(self, frame: bytes, limit_s: float) -> None:
        """Send a frame; raises OSError where the child is gone or takes nothing for so long."""
        with self._lock:
            if self._to.closed:
                raise BrokenPipeError
            left = memoryview(frame)
            while left:
                try:
                    left = left[os.write(self._to.fileno(), left) :]
                except BlockingIOError:
                    poll = select.poll()
                    poll.register(self._to.fileno(), select.POLLOUT)
                    if not poll.poll(limit_s * 1000):
                        raise TimeoutError from None

    def close(self) -> None:
        """Tell the child to end, by the end of its questions; never waits for it."""
        if self._lock.acquire(timeout=0.02):
            try:
                self._to.close()
            finally:
                self._lock.release()
        else:  # somebody waits for it to take a question
            self.kill()

    def kill(self) -> None:
        """End the child for certain, with all that it has started."""
        if self.process.poll() is None:
            with contextlib.suppress(OSError):
                # The one that does the work, which may be stopped; its parent then ends the rest.
                os.kill(self.worker or self.process.pid, signal.SIGKILL)

    def wait(self, seconds: float) -> bool:
        """Whether the child has ended, within so long."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def end(self) -> str:
        """How the child has ended, in words."""
        if not self.wait(1.0):
            return "without a status"
        code = self.process.returncode
        return f"by signal {-code}" if code < 0 else f"with status {code}"
