"""``fleet net`` over machines that are network namespaces, with links that are shaped, stopped or visited."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.train.smoke.nodes.network import KEY, PORT, Network, Ran, command, finish, missing, network
from tests.train.smoke.nodes.slurm import cluster, slurm_missing
from tests.waiting import until

pytestmark = [pytest.mark.heavy, pytest.mark.skipif(bool(missing()), reason=missing() or "namespaces are there")]


def _shape(made: Network, node: int, mbit: int) -> None:
    """A link that carries so much in either direction."""
    form = ("root", "tbf", "rate", f"{mbit}mbit", "burst", "64kb", "latency", "50ms")
    command("tc", "-n", made.switch, "qdisc", "add", "dev", f"p{node}", *form)
    command("tc", "-n", made.spaces[node], "qdisc", "add", "dev", "eth0", *form)


def _net(made: Network, node: int, count: int, *words: str, key: str = KEY) -> subprocess.Popen[str]:
    program = [sys.executable, "-m", "rocdoctor", "fleet", "net", f"h[0-{count - 1}]", "--node-rank", str(node)]
    program += ["--rdzv", f"{made.address(0)}:{PORT}", "--seed", "1", *words]
    return made.start(node, program, {"ROCDOCTOR_SMOKE_KEY": key})


def _read(ran: Ran) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ran.out)
    return found


def _states(found: dict[str, Any]) -> dict[str, str]:
    return {one["node"]: one["state"] for one in found["nodes"]}


def test_a_slow_link_is_named() -> None:
    with network(5) as made:
        for node in range(5):
            _shape(made, node, 20 if node == 3 else 200)
        began = time.monotonic()
        ranks = [_net(made, node, 5, "--json") for node in range(5)]
        ran = [finish(one, began) for one in ranks]
        assert made.left() == []
    assert _states(_read(ran[0])) == {"h0": "well", "h1": "well", "h2": "well", "h3": "slow", "h4": "well"}, ran[0].out
    assert [one.code for one in ran] == [1, 0, 0, 0, 0]


def test_a_stranger_and_a_node_that_stops_hold_up_nobody() -> None:
    """A stranger is closed without a word, one with another key does not come in, and who stops is silent."""
    with network(4) as made:
        for node in range(4):
            _shape(made, node, 100)
        began = time.monotonic()
        first = _net(made, 0, 4, "--json", "--wait", "12")
        other = _net(made, 3, 4, "--wait", "3", key="another-key-than-these-tests-have")
        stranger = "import socket,sys,time\nfor _ in range(100):\n try:\n  s=socket.create_connection"
        stranger += f"(('{made.address(0)}',{PORT}),5);break\n except OSError: time.sleep(0.1)\n"
        stranger += 's.sendall(b\'{"hello": 1, "node": 2, "nodes": 4}\\n\');print(s.recv(100))'
        heard = finish(made.start(2, [sys.executable, "-c", stranger], {}), began)
        assert heard.out == "b''\n"
        rest = [_net(made, node, 4) for node in (1, 2)]
        assert until(lambda: _connected(made, 2))
        stopped = _whole(rest[1])
        for process in stopped:
            process.suspend()
        ran = finish(first, began)
        for process in stopped:
            process.kill()
        rest[1].wait()
        assert finish(rest[0], began).code == 0
        assert "not rocdoctor of this run with this key" in finish(other, began).text
    found = _read(ran)
    assert (_states(found)["h2"], _states(found)["h3"]) == ("silent", "silent"), found["findings"]
    assert {_states(found)[name] for name in ("h0", "h1")} <= {"well", "undecided"}
    assert [one["kind"] for one in found["findings"] if one["kind"] == "node"] == []


def _whole(started: subprocess.Popen[str]) -> list[psutil.Process]:
    """A command and the child in which it works."""
    parent = psutil.Process(started.pid)
    return [parent, *parent.children(recursive=True)]


def _connected(made: Network, node: int) -> bool:
    words = ["ip", "netns", "exec", made.spaces[node], "ss", "-tnH", "state", "established"]
    return f":{PORT}" in subprocess.run(words, capture_output=True, text=True, check=False).stdout


@pytest.mark.skipif(bool(slurm_missing()), reason=slurm_missing() or "Slurm is there")
def test_one_srun_over_sixteen_nodes_one_slow_and_one_that_hangs(tmp_path: Path) -> None:
    topology = tmp_path / "topology.conf"
    topology.write_text("SwitchName=a Nodes=n[0-7]\nSwitchName=b Nodes=n[8-15]\n")
    with cluster(16) as slurm:
        for node in range(16):
            _shape(slurm.network, node, 3 if node == 5 else 30)
        words = ["srun", "-N", "16", "--ntasks-per-node=1", "--wait=5", sys.executable, "-m", "rocdoctor", "fleet"]
        words += ["net", "--json", "--seed", "2", "--topology", str(topology), "--wait", "30"]
        argv = slurm.inside(0, *words)
        began = subprocess.Popen(
            argv, env=slurm.environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            assert until(lambda: bool(_ranks(slurm.network, 11)))
            os.kill(_ranks(slurm.network, 11)[0], signal.SIGSTOP)
            found: dict[str, Any] = json.loads(began.communicate(timeout=200)[0])
        finally:
            began.kill()
    states = _states(found)
    assert (states["n5"], states["n11"]) == ("slow", "silent"), found["findings"]
    assert [name for name, state in states.items() if state in ("slow", "unreachable")] == ["n5"]


def _ranks(made: Network, node: int) -> list[int]:
    """The processes of a node that are connected to node 0."""
    words = ["ip", "netns", "exec", made.spaces[node], "ss", "-tnpH", "state", "established", "dst", made.address(0)]
    told = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    return [int(pid) for pid in re.findall(r'"python[^"]*",pid=(\d+)', told)]
