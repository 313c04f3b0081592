"""Who is connected to whom, by what the kernel tells of the sockets of processes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rocdoctor.train.smoke.run.connections import closed, connected
from rocdoctor.train.smoke.run.processes import file_call

_DIALS = "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); sys.stdin.read()"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("RuntimeError: Connection closed by peer [127.0.0.1]:1", True),
        ("Connection reset by peer", True),
        ("Timed out waiting 1000ms for recv", False),
        ("", False),
    ],
)
def test_words_of_a_closed_connection(words: str, told: bool) -> None:
    assert closed(words) is told


def test_two_processes_are_connected_until_one_end_is_closed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        with subprocess.Popen([sys.executable, "-c", _DIALS, port], stdin=subprocess.PIPE) as other:
            held, _ = server.accept()
            pids = {0: os.getpid(), 3: other.pid}
            assert connected(pids) == {0: frozenset({3}), 3: frozenset({0})}
            held.shutdown(socket.SHUT_RDWR)
            assert connected(pids) == {0: frozenset(), 3: frozenset()}
            held.close()
            assert other.stdin is not None
            other.stdin.close()


def test_what_cannot_be_looked_at_tells_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    assert connected({0: os.getpid(), 1: ended.pid}) == {}


def test_a_process_that_opens_a_pipe_without_a_reader_is_in_a_file_call(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    words = f"print('now', flush=True); open({str(pipe)!r}, 'wb')"
    with subprocess.Popen([sys.executable, "-c", words], stdout=subprocess.PIPE) as waits:
        assert waits.stdout is not None and waits.stdout.readline()
        found, until = "", time.monotonic() + 20.0
        while not found and time.monotonic() < until:
            found = file_call(waits.pid)
        with pipe.open("rb"):
            pass
    assert found in ("open", "openat")


def test_a_process_that_waits_for_a_message_is_in_no_file_call() -> None:
    words = "print('now', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", words], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as waits:
        assert waits.stdout is not None and waits.stdout.readline()
        assert file_call(waits.pid) == ""
        waits.communicate(b"\n")
    assert file_call(0) == ""
