"""Machines that are network namespaces behind a bridge in a namespace of its own; everything goes away at the end."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count

_COUNTER = count()
PORT = 29511
KEY = "a-key-of-these-tests-alone"


def missing() -> str:
    """Why namespaces cannot be made here; empty when they can."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "network namespaces need root"
    if shutil.which("ip") is None or shutil.which("tc") is None:
        return "network namespaces need ip and tc (iproute2)"
    name = f"rd-try-{os.getpid()}"
    done = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
    return "" if done.returncode == 0 else f"no network namespaces here: {done.stderr.strip()}"


def command(*words: str) -> None:
    """Run one, loudly."""
    subprocess.run(words, check=True, capture_output=True, timeout=20)


@dataclass
class Ran:
    """How rocdoctor ended on one node."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def text(self) -> str:
        """All it said, in one line."""
        return " ".join((self.err + " " + self.out).split())


class Network:
    """``nodes`` machines with eth0 at 198.51.100.1, .2, ... on one bridge."""

    def __init__(self, nodes: int = 2) -> None:
        self.name = f"rd{os.getpid()}-{next(_COUNTER)}"
        self.switch = f"{self.name}-sw"
        self.spaces = [f"{self.name}-{number}" for number in range(nodes)]
        for space in (self.switch, *self.spaces):
            command("ip", "netns", "add", space)
            command("ip", "-n", space, "link", "set", "lo", "up")
        command("ip", "-n", self.switch, "link", "add", "br0", "type", "bridge")
        command("ip", "-n", self.switch, "link", "set", "br0", "up")
        for number, space in enumerate(self.spaces):
            port = f"p{number}"
            command(
                "ip", "-n", self.switch, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", space
            )
            command("ip", "-n", self.switch, "link", "set", port, "master", "br0", "up")
            command("ip", "-n", space, "addr", "add", f"{self.address(number)}/24", "dev", "eth0")
            command("ip", "-n", space, "link", "set", "eth0", "up")

    @staticmethod
    def address(node: int) -> str:
        """A node's address (TEST-NET-2, RFC 5737)."""
        return f"198.51.100.{node + 1}"

    def link(self, node: int, *words: str) -> None:
        """``ip link set eth0 WORD...`` on a node."""
        command("ip", "-n", self.spaces[node], "link", "set", "eth0", *words)

    def port(self, node: int, *words: str) -> None:
        """The same for the port of the switch that a node hangs on."""
        command("ip", "-n", self.switch, "link", "set", f"p{node}", *words)

    def start(self, node: int, words: list[str], variables: dict[str, str]) -> subprocess.Popen[str]:
        """Run a command on a node."""
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("NCCL", "GLOO", "SLURM", "TP_"))
        }
        return subprocess.Popen(
            ["ip", "netns", "exec", self.spaces[node], *words],
            env={**kept, **variables},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
        )

    def smoke(
        self,
        node: int,
        *words: str,
        rdzv: str = "",
        nodes: int = 2,
        wait: float = 20.0,
        gloo: str = "eth0",
        more: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[str]:
        """``rocdoctor smoke`` on a node; ``gloo`` is GLOO_SOCKET_IFNAME (empty: not set), ``more`` other variables."""
        variables = {"ROCDOCTOR_SMOKE_KEY": KEY, **({"GLOO_SOCKET_IFNAME": gloo} if gloo else {}), **(more or {})}
        program = [
            sys.executable,
            "-m",
            "rocdoctor",
            "smoke",
            "--nnodes",
            str(nodes),
            "--node-rank",
            str(node),
            "--wait",
            str(wait),
            "--rdzv",
            rdzv or f"{self.address(0)}:{PORT}",
            "--python",
            sys.executable,
            *words,
        ]
        return self.start(node, program, variables)

    def close(self) -> None:
        """End what runs in the namespaces and remove them."""
        for space in (*self.spaces, self.switch):
            with contextlib.suppress(OSError, subprocess.SubprocessError):
                listed = subprocess.run(
                    ["ip", "netns", "pids", space], capture_output=True, text=True, check=False, timeout=10
                )
                for pid in listed.stdout.split():
                    with contextlib.suppress(OSError):
                        os.kill(int(pid), 9)
            subprocess.run(["ip", "netns", "del", space], capture_output=True, check=False, timeout=10)

    def left(self) -> list[str]:
        """Processes that still run in the machines."""
        found = []
        for space in self.spaces:
            listed = subprocess.run(
                ["ip", "netns", "pids", space], capture_output=True, text=True, check=False, timeout=10
            )
            found += listed.stdout.split()
        return found


def _inside(space: str) -> list[str]:
    words = ["ip", "netns", "pids", space]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=10).stdout.split()


def finish(process: subprocess.Popen[str], began: float, limit_s: float = 240.0) -> Ran:
    """Wait for a command."""
    try:
        out, err = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        err += " (ended by the test)"
    return Ran(process.returncode, out, err, time.monotonic() - began)


def both(first: subprocess.Popen[str], second: subprocess.Popen[str]) -> tuple[Ran, Ran]:
    """Wait for two."""
    began = time.monotonic()
    return finish(first, began), finish(second, began)


@contextlib.contextmanager
def network(nodes: int = 2) -> Iterator[Network]:
    """A network that is gone at the end whatever happens."""
    made: Network | None = None
    try:
        made = Network(nodes)
        yield made
    finally:
        if made is not None:
            made.close()
