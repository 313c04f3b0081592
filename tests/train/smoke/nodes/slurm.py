"""Slurm over machines that are network namespaces: a controller and a daemon a node, in a folder of their own."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.train.smoke.nodes.network import Network, network
from tests.waiting import until

_PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "scontrol")
_CONF = """\
ClusterName=rd
SlurmctldHost={host}(198.51.100.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmctldPort=17917
{gres}
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def slurm_missing() -> str:
    """Why Slurm cannot be tried here; empty when it can."""
    absent = [name for name in _PROGRAMS if shutil.which(name) is None]
    return f"needs {', '.join(absent)} (slurm-wlm, munge)" if absent else ""


class Cluster:
    """Slurm on every machine of a network; its names are n0, n1, ...

    ``gpus`` of each are empty files: Slurm counts them and hands them out as it does device files.
    """

    def __init__(self, made: Network, gpus: int = 0) -> None:
        self.network = made
        self.gpus = gpus
        self.folder = Path(tempfile.mkdtemp(prefix="rd-slurm-"))
        self._began: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start all and wait until the nodes are idle."""
        host = socket.gethostname()
        names = "".join(f"{self.network.address(number)} n{number}\n" for number in range(len(self.network.spaces)))
        (self.folder / "hosts").write_text(f"127.0.0.1 localhost {host}\n{names}")
        nodes = "\n".join(
            f"NodeName=n{number} NodeHostname={host} NodeAddr={self.network.address(number)} Port=18101 CPUs=2 "
            f"RealMemory=500 State=UNKNOWN{f' Gres=gpu:{self.gpus}' if self.gpus else ''}"
            for number in range(len(self.network.spaces))
        )
        (self.folder / "state").mkdir()
        for number in range(len(self.network.spaces)):
            (self.folder / f"spool-n{number}").mkdir()
        gres = "GresTypes=gpu" if self.gpus else ""
        self.conf.write_text(_CONF.format(host=host, folder=self.folder, gres=gres, nodes=nodes))
        for number in range(self.gpus):
            (self.folder / f"gpu{number}").touch()
        if self.gpus:
            (self.folder / "gres.conf").write_text(f"Name=gpu File={self.folder}/gpu[0-{self.gpus - 1}]\n")
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o400)
        self.folder.chmod(0o755)
        places = {"socket": "munge.socket", "key-file": "munge.key", "pid-file": "munge.pid", "log-file": "munge.log"}
        self._begin(
            "munged",
            "--foreground",
            "--force",
            f"--seed-file={self.folder}/munge.seed",
            *(f"--{name}={self.folder / place}" for name, place in places.items()),
        )
        _until(lambda: (self.folder / "munge.socket").exists())
        self._begin(*self.inside(0, "slurmctld", "-D", "-f", str(self.conf)))
        for number in range(len(self.network.spaces)):
            self._begin(*self.inside(number, "slurmd", "-D", "-N", f"n{number}", "-f", str(self.conf)))
        _until(self._idle)

    @property
    def conf(self) -> Path:
        """The configuration file."""
        return self.folder / "slurm.conf"

    def inside(self, number: int, *words: str) -> list[str]:
        """A command as it is started on a machine, with names of all machines and the control groups of this one."""
        hosts = ("sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', str(self.folder / "hosts"))
        return ["nsenter", f"--net=/run/netns/{self.network.spaces[number]}", "unshare", "-m", *hosts, *words]

    def _begin(self, *words: str) -> None:
        with open(self.folder / "out.log", "ab") as log:
            began = subprocess.Popen(
                words,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=self.environment(),
                start_new_session=True,
            )
        self._began.append(began)

    def environment(self, **more: str) -> dict[str, str]:
        """Variables for Slurm's programs."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "NCCL", "GLOO"))}
        return {**kept, "SLURM_CONF": str(self.conf), **more}

    def _idle(self) -> bool:
        words = self.inside(0, "sinfo", "-h", "-o", "%T %D")
        done = subprocess.run(words, capture_output=True, text=True, env=self.environment(), check=False, timeout=20)
        return done.stdout.split() == ["idle", str(len(self.network.spaces))]

    def srun(self, *words: str, limit_s: float = 120.0, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command with ``srun`` on all machines, one task each unless told otherwise."""
        command = self.inside(0, "srun", "-N", str(len(self.network.spaces)), *words)
        return subprocess.run(
            command, capture_output=True, text=True, env=self.environment(**variables), check=False, timeout=limit_s
        )

    def close(self) -> None:
        """End what was begun and remove its folders."""
        for one in reversed(self._began):
            with contextlib.suppress(OSError):
                os.killpg(one.pid, signal.SIGKILL)
            one.wait(5)
        shutil.rmtree(self.folder, ignore_errors=True)


def _until(holds: Callable[[], object]) -> None:
    assert until(holds), "Slurm did not start"


@contextlib.contextmanager
def cluster(nodes: int = 2, gpus: int = 0) -> Iterator[Cluster]:
    """A cluster that is gone at the end whatever happens."""
    with network(nodes) as made:
        found = Cluster(made, gpus)
        try:
            found.start()
            yield found
        finally:
            found.close()
