"""Which processes are ended with a command that runs apart."""

from __future__ import annotations

import os
import subprocess
import threading

from rocdoctor.host.supervised.command_child import children


def test_children_of_every_thread_are_seen() -> None:
    started: list[subprocess.Popen[bytes]] = []
    seen, done = threading.Event(), threading.Event()

    def start() -> None:
        started.append(subprocess.Popen(["sleep", "60"], preexec_fn=os.setsid))
        seen.set()
        done.wait(60)  # the child is that of a thread while this lives

    thread = threading.Thread(target=start)
    thread.start()
    try:
        assert seen.wait(60)
        assert started[0].pid in children()
    finally:
        done.set()
        thread.join()
        for one in started:
            one.kill()
            one.wait()
