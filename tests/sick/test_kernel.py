"""Files of the kernel that hang, fail or are refused: the report comes, and says what it lacks."""

from __future__ import annotations

import re
import threading
import time
from pathlib import Path

import pytest

from rocdoctor.host.base import Answer
from rocdoctor.host.live import quick_questions
from rocdoctor.host.live.live_host import LiveHost
from tests.sick.kit import GIVE_UP_S, MARGIN_S, Place, gpus_of, marked, place, usual
from tests.waiting import until

pytestmark = pytest.mark.live

LINK = "/sys/bus/pci/devices/0000:03:00.0/current_link_speed"
NODES = "/sys/class/kfd/kfd/topology/nodes"


@pytest.fixture
def radeons(tmp_path: Path) -> Place:
    return place(tmp_path, "rx7900xtx-2gpu")


@pytest.mark.parametrize("path", [LINK, NODES], ids=["file", "folder"])
def test_a_read_that_no_signal_ends_does_not_keep_the_command_from_ending(radeons: Place, path: str) -> None:
    with radeons.start("check", "--timeout", "1", words=(f"fuse={path}:stuck",)) as run:
        result = run.result(wait_for_left_s=0)
        assert result.seconds < 1 + MARGIN_S
        assert gpus_of(result.out) == 2, result.out
        assert "Found: " in result.out
        run.heal()
        assert until(lambda: not marked(run.mark), GIVE_UP_S)


def test_what_was_not_answered_is_said_and_a_replay_says_the_same(radeons: Place) -> None:
    width = "/sys/bus/pci/devices/0000:06:00.0/current_link_width"
    words = (f"fuse={LINK}:stuck", f"fuse={width}:eio", f"fuse={NODES}:denied")
    radeons.tool("rocminfo", "sleep 600\n")
    with radeons.start("bundle", "--timeout", "1", "-o", "sick.txt", words=words) as run:
        assert run.result().code == 0
    result = radeons.run("check", "--verbose", "--from", "sick.txt")
    text = " ".join(result.out.split())
    assert re.search(r"\d questions were not answered in time: [^)]*" + LINK + r" \(within 1s\)", text), text
    assert "run rocminfo (within 1s)" in text
    assert f"read {width} (Input/output error)" in text
    assert f"1 question was refused (permission denied): list {NODES}/*" in text
    bundled = " ".join((radeons.work / "sick.txt").read_text().split())
    assert f"read {width} (Input/output error)" in bundled.partition("-- env --")[0]


_KINDS = ("eio", "denied", "gone")
_FOLDERS = [(path, kind) for path in (NODES, "/sys/bus/pci/devices", "/sys/class/drm") for kind in _KINDS]


@pytest.mark.parametrize(("path", "kind"), usual(_FOLDERS, *_FOLDERS[::4]))  # each path and each kind once
def test_a_folder_that_cannot_be_listed_is_not_an_empty_one(radeons: Place, path: str, kind: str) -> None:
    result = radeons.run("check", words=(f"fuse={path}:{kind}",))
    assert gpus_of(result.out) == 2, result.out
    assert "kfd-missing" not in result.out
    assert f"list {path}" in result.out, result.out


def test_a_device_that_holds_every_read_costs_one_deadline_and_little_more_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    released = threading.Event()

    def read(question: str) -> Answer:
        released.wait(GIVE_UP_S)
        return Answer(question, "ok")

    monkeypatch.setitem(quick_questions._QUICK, "read", read)
    host = LiveHost(timeout_s=2.0)
    questions = [f"read /sick/{number}" for number in range(60)]
    host.prefetch(questions)
    began = time.monotonic()
    assert [host.ask(question).status for question in questions] == ["timeout"] * 60
    assert time.monotonic() - began < MARGIN_S  # a deadline each would be 120 s
    released.set()
