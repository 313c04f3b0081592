"""Smoke tests in a child of their own, which can be ended with all its processes, for certain."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from rocdoctor.host.base import Answer
from rocdoctor.host.live.trust import private_folder
from rocdoctor.host.supervised.child_process import Link, LinkError, Settings
from rocdoctor.host.supervised.frames import answer_of, packed

_LOOK_S = 0.1
# After a request to end: until its worker is killed, and until we no longer wait (a rank that hangs in the kernel).
_KILL_S = 1.0
_GIVE_UP_S = 2.5
_SEND_S = 5.0


class SmokeChild:
    """At most one run at a time."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._link: Link | None = None
        self._busy = False
        self._cancelled = False

    def perform(self, question: str, told: Callable[[str, str, int, str], None] | None, trace: str) -> Answer:
        """Run it; ends when everything of it has ended."""
        with self._lock:
            if self._busy:
                return Answer(question, "failed", note="smoke tests are running already")
            self._busy, self._cancelled = True, False
        folder = ""
        try:
            folder = private_folder("rocdoctor-smoke-")
            return self._perform(question, told, trace, folder)
        except (LinkError, OSError) as error:
            return Answer(question, "failed", note=str(error))
        finally:
            with self._lock:
                self._busy, self._link = False, None
            if folder:
                shutil.rmtree(folder, ignore_errors=True)

    def cancel(self) -> None:
        """End the run; does not wait for it."""
        with self._lock:
            self._cancelled = True
            link = self._link
        if link is not None:
            link.close()

    def _perform(
        self, question: str, told: Callable[[str, str, int, str], None] | None, trace: str, folder: str
    ) -> Answer:
        began = time.monotonic()
        link = Link(replace(self._settings, folder=folder))
        with self._lock:
            self._link = link
            cancelled = self._cancelled
        try:
            if not cancelled:
                link.send(packed({"question": question, "trace": trace}), _SEND_S)
            answer = self._listen(link, question, told)
        finally:
            link.close()
            self._see_end(link)
        if answer is not None:
            return replace(answer, seconds=time.monotonic() - began)
        note = "cancelled" if self._cancelled else f"the process that runs smoke tests ended {link.end()}"
        return Answer(question, "failed", note=note)

    def _listen(self, link: Link, question: str, told: Callable[[str, str, int, str], None] | None) -> Answer | None:
        """The answer; None where it ended or was cancelled before."""
        asked_at: float | None = None
        while True:
            if self._cancelled:
                asked_at = asked_at or time.monotonic()
                if time.monotonic() - asked_at > _KILL_S:
                    link.kill()
                    return None
            if not link.frames.wait(_LOOK_S):
                continue
            found = link.frames.next()
            if found is None:
                return None
            header, data = found
            if isinstance(header, list):
                return answer_of(question, header, data)
            if "pid" in header:
                link.worker = header["pid"]
            elif told is not None:
                what, mode, rank, state = header["told"]
                told(what, mode, rank, state)

    @staticmethod
    def _see_end(link: Link) -> None:
        """Wait until the child, which waits for all of its own, is gone."""
        if not link.wait(_KILL_S):
            link.kill()
            link.wait(_GIVE_UP_S)
