"""Smoke tests in a process of their own: ending it ends them, and nothing else."""

from __future__ import annotations

import _thread
import os
import shutil
import signal
import tempfile
import threading
import time
from typing import Any

from rocdoctor.host.live.live_host import LiveHost
from rocdoctor.host.supervised.frames import Frames, Outlet, answer_header, packed
from rocdoctor.train.smoke.run.answer import run_smoke
from rocdoctor.train.smoke.run.request import Aside

# From the request to end until they are ended without being asked.
_END_S = 0.7


def serve_smoke(settings: dict[str, Any], source: int, sink: int) -> int:
    """One run, in the main thread, so that a request to end reaches it wherever it is."""
    tempfile.tempdir = settings["folder"]
    frames, out = Frames(source), Outlet(sink)
    out.send(packed({"pid": os.getpid(), "problem": "", "note": ""}))
    found = frames.next()
    if found is None:
        return 0
    host = LiveHost(settings["timeout_s"], settings["python"], None, bool(settings.get("trust_python")))
    aside = Aside(found[0]["trace"])
    host.aside = aside
    host.told = lambda *words: out.send(packed({"told": words}))
    _thread.start_new_thread(_hear, (frames, aside.stop, settings["folder"]))
    try:
        answer = run_smoke(host, found[0]["question"])
        out.send(packed(answer_header(0, answer), answer.data))
    finally:  # the screens may be gone, which would do it otherwise
        shutil.rmtree(settings["folder"], ignore_errors=True)
    return 0


def _hear(frames: Frames, stop: threading.Event, folder: str) -> None:
    """Until the screens are gone or want no more: then end, for certain."""
    while frames.next() is not None:
        stop.set()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_END_S)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)  # the parent ends what is left
