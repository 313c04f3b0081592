"""Which processes are ended with a command that runs apart."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

from rocdoctor.host.supervised import command_child
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


@pytest.mark.parametrize("looks", [1, 2, 4])
def test_a_child_that_dies_between_looks_has_its_own_status(monkeypatch: pytest.MonkeyPatch, looks: int) -> None:
    """A zombie whose other threads are about to end is waited for before a status is guessed."""
    status, said = os.pipe()
    child = os.fork()
    if child == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    os.close(said)
    real = os.waitpid
    while not command_child._only_threads_left(child):
        os.sched_yield()
    missed = iter([(0, 0)] * looks)  # before it died, and while its threads end
    monkeypatch.setattr(os, "waitpid", lambda pid, how: next(missed, None) or real(pid, how))
    try:
        assert command_child._wait(child, status, {signal.SIGCHLD}) == -signal.SIGKILL
    finally:
        os.close(status)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_request_that_was_lost_is_made_again_as_it_was(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Else whoever interrupts a loaded machine gets the status of a request to terminate."""
    sent: list[int] = []
    got = iter([SimpleNamespace(si_signo=number, si_code=0x80)])  # the terminal's, which the child lost
    monkeypatch.setattr(command_child, "_AGAIN_S", -1.0)
    monkeypatch.setattr(signal, "sigtimedwait", lambda *_: next(got, None))
    monkeypatch.setattr(os, "waitpid", lambda *_: (7, (128 + sent[0]) << 8) if sent else (0, 0))
    monkeypatch.setattr(command_child, "_only_threads_left", lambda _: False)
    monkeypatch.setattr(command_child, "_send", lambda _, one: sent.append(one))
    status, said = os.pipe()
    try:
        assert command_child._wait(7, status, {signal.SIGINT, signal.SIGHUP}) == 128 + number
    finally:
        os.close(status)
        os.close(said)
    assert sent == [number]


def test_the_first_interrupt_of_a_smoke_run_asks_for_the_result_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """That takes its time: a second request, made for the user who did not make it, would lose what was measured."""
    sent: list[int] = []
    got = iter([SimpleNamespace(si_signo=signal.SIGINT, si_code=0)])
    looks = iter([(0, 0)] * 5)
    monkeypatch.setattr(command_child, "_AGAIN_S", -1.0)
    monkeypatch.setattr(command_child, "_KILL_S", -1.0)
    monkeypatch.setattr(signal, "sigtimedwait", lambda *_: next(got, None))
    monkeypatch.setattr(os, "waitpid", lambda *_: next(looks, (7, 1 << 8)))
    monkeypatch.setattr(command_child, "_only_threads_left", lambda _: False)
    monkeypatch.setattr(command_child, "_send", lambda _, one: sent.append(one))
    status, said = os.pipe()
    try:
        assert command_child._wait(7, status, {signal.SIGINT}, slow_to_stop=True) == 1
        assert sent == [signal.SIGINT]
        got = iter([SimpleNamespace(si_signo=signal.SIGINT, si_code=0)] * 2)
        looks = iter([(0, 0)] * 5)
        command_child._wait(7, status, {signal.SIGINT}, slow_to_stop=True)
        assert signal.SIGKILL in sent  # the second one is in earnest
    finally:
        os.close(status)
        os.close(said)


_INTERRUPTED_EARLY = """
import os, signal, time, _thread
from rocdoctor.host.supervised import command_child
real, sigint = _thread.start_new_thread, signal.SIGINT
signal.signal(sigint, signal.default_int_handler)  # tests that run in the background are started with it ignored
def interrupted(*arguments):  # the child has not taken the mask off yet
    os.kill(os.getpid(), sigint)
    return real(*arguments)
command_child._thread.start_new_thread = interrupted
command_child.run_apart(lambda: time.sleep(30) or 7)
"""


def test_an_interrupt_before_the_child_has_handlers_is_an_interrupt() -> None:
    done = subprocess.run([sys.executable, "-c", _INTERRUPTED_EARLY], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, "")
