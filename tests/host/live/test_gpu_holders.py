"""Who has a GPU's nodes open, with a node that a process of this test's own holds."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from rocdoctor.host.live import gpu_holders
from rocdoctor.host.live.live_host import LiveHost
from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.system.process_stat import parse_holders

pytestmark = pytest.mark.live
_HOLD = "import os,sys; f = os.open('/dev/full', os.O_RDONLY); print('up', flush=True); sys.stdin.read()"
_AWAY = f"import subprocess,sys; subprocess.Popen([sys.executable, '-c', {_HOLD!r}], start_new_session=True)"


def test_a_process_that_holds_a_node_is_told_but_not_our_own_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_holders, "_GPU_NODE", regex(r"/dev/full\Z"))
    monkeypatch.setattr("rocdoctor.host.live.processes._COMMON", regex(r"/dev/null\Z"))
    pipe = subprocess.PIPE
    ours = subprocess.Popen([sys.executable, "-c", _HOLD], stdin=pipe, stdout=pipe, text=True)
    # Its starter ends, so it is nobody's child any more, as a server of somebody else.
    away = subprocess.Popen([sys.executable, "-c", _AWAY], stdin=pipe, stdout=pipe, text=True)
    try:
        assert ours.stdout is not None and ours.stdout.readline() == "up\n"
        assert away.stdout is not None and away.stdout.readline() == "up\n"
        away.wait(30)
        answer = LiveHost(timeout_s=60).ask("holders gpu")
        assert answer.ok
        found, _ = parse_holders(answer.text)
        mine = [one for one in found if one.pid == ours.pid]
        others = [one for one in found if os.path.exists(f"/proc/{one.pid}") and one.pid != ours.pid]
        assert mine == [], "what we started ourselves"
        assert others and others[0].nodes == ("/dev/full",)
        assert re.match("python", others[0].name)
        assert others[0].age_s < 600
    finally:
        for one in (ours, away):
            assert one.stdin is not None
            one.stdin.close()
            one.wait(30)


def test_a_file_that_is_called_like_a_node_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user has a /dev of his own in a name space, and would stand there with every GPU."""
    files = {name: tmp_path / name for name in ("kfd", "null")}
    files["kfd"].write_text("")
    files["null"].symlink_to("/dev/null")
    os.mkfifo(tmp_path / "waits")
    names = gpu_holders._named
    opened = {"/dev/kfd": ["/nowhere", str(files["kfd"]), str(tmp_path / "waits")], "/dev/sda": [str(files["null"])]}
    assert gpu_holders._devices(names(opened)) == ([], 0)
    opened["/dev/kfd"].append(str(files["null"]))
    assert gpu_holders._devices(names(opened)) == (["/dev/kfd"], 0)


def test_files_that_hang_cost_a_few_looks_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user may open thousands on a file system of his own: each look leaves a thread behind that nothing ends."""
    looked: list[str] = []
    ended = threading.Event()

    def hangs(link: str) -> bool:
        looked.append(link)
        return ended.wait(60)

    monkeypatch.setattr(gpu_holders, "_is_device", hangs)
    monkeypatch.setattr(gpu_holders, "_LOOK_S", 0.01)
    try:
        nodes, hung = gpu_holders._devices({"/dev/kfd": [str(number) for number in range(60)]})
    finally:
        ended.set()
    assert (nodes, hung) == ([], 60)
    assert len(looked) == gpu_holders._MOST_HUNG


def test_the_walk_over_all_processes_keeps_its_time_where_something_else_hung() -> None:
    from rocdoctor.host.live.live_host import LiveHost

    host = LiveHost()
    for _ in range(3):
        host.hung("python default --import", 5.0)
    assert host.deadline_s("holders gpu") >= 0.5 > host.deadline_s("env")
