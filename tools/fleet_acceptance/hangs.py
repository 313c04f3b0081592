"""Figure 8: 64 hosts of a real sshd of which some hang, and the gate before a job."""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from rocdoctor.fleet.record import as_data
from tests.fleet.kit import node
from tests.waiting import until
from tools.fleet_acceptance.rows import PROGRAM, Row, Setting, holds, most, none, ran, skipped

_HOSTS = [f"127.0.1.{number}" for number in range(1, 65)]
_PORT, _SOCKETS = 22222, 16
_LIMIT_S = 60
# Host number -> what it does in place of a record, and what has to be said of it, whichever engine asked.
_HANGS, _FLOODS = f"no record within {_LIMIT_S} s", "larger than a record may be"
_ODD: dict[int, tuple[str, str]] = {
    3: ("exec sleep 600", _HANGS),
    9: ("trap '' TERM INT HUP; while :; do sleep 600; done", _HANGS),
    17: ("kill -STOP $$", _HANGS),
    23: ("exec cat /dev/zero", _FLOODS),
    31: ("exec yes x", _FLOODS),
    40: ("exit 3", "exited with exit code 3"),
    47: ("echo 'cannot be written: No space left on device' >&2; exit 2", "No space left"),
    58: ("exec sed s/NODE/127.0.1.2/ $0.record", "speaks for another node"),
}
_SSHD = """\
Port {port}
{addresses}
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
StrictModes no
UsePAM no
PidFile none
MaxStartups 200
PermitRootLogin yes
"""
_SSH = """\
Host 127.0.1.*
  Port {port}
  User {user}
  IdentityFile {folder}/user
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
"""


def figure(setting: Setting) -> Iterator[Row]:
    """Through ClusterShell and ssh; then what the gate costs."""
    yield from _gate(setting)
    what = f"{len(_HOSTS)} ssh hosts of which {len(_ODD)} hang or fail"
    programs = [one for one in ("sshd", "ssh", "ssh-keygen", "clush", "unshare") if shutil.which(one) is None]
    if not setting.heavy or os.geteuid() != 0 or programs:
        yield skipped(what, "--light" if not setting.heavy else f"needs root and {', '.join(programs) or 'namespaces'}")
        return
    with _sshd(setting.place("ssh")) as folder:
        for engine in ("clush", "pdsh", "ansible"):
            if shutil.which("ansible-playbook" if engine == "ansible" else engine) is None:
                yield skipped(f"{engine}: {what}", "not installed")
                continue
            yield from _asked(folder, engine)


def _asked(folder: Path, engine: str) -> Iterator[Row]:
    words = [*PROGRAM, "fleet", "run", folder / f"store-{engine}", "127.0.1.[1-64]", "--on", engine]
    words += ["--program", folder / "record", "--limit", _LIMIT_S, "--at-once", "32", "--json"]
    inner = ["sh", "-c", f'mount --bind {folder}/ssh_config /etc/ssh/ssh_config && exec "$@"', "sh", *words]
    began = time.monotonic()
    done = ran(["unshare", "-m", *inner])
    took = time.monotonic() - began
    found = done.data() if done.out.startswith("{") else {"nodes": [], "counts": {}}
    said = {one["node"]: one["reasons"][0]["message"] for one in found["nodes"]}
    wrong = [
        f"{number}: {said.get(f'127.0.1.{number}')}"
        for number, (_, words) in _ODD.items()
        if not re.search(words, said.get(f"127.0.1.{number}", ""))
    ]
    odd = {f"127.0.1.{number}" for number in _ODD}
    yield none(f"{engine}: of {len(_ODD)} hosts that hang or fail, with another reason", wrong)
    yield none(
        f"{engine}: other hosts without a record", [f"{one}: {why}" for one, why in said.items() if one not in odd]
    )
    deadline = 2 * (_LIMIT_S + 15) + 30
    yield most(f"{engine}: the whole run, wall", took, deadline, " s")
    if not found["nodes"]:
        yield holds(f"{engine}: it answered", False, done.err[-300:])


@contextlib.contextmanager
def _sshd(folder: Path) -> Iterator[Path]:
    """A server that is all hosts: which one a session is of, it reads from its own address."""
    folder.chmod(0o755)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    (folder / "ssh_config").write_text(_SSH.format(port=_PORT, folder=folder, user=getpass.getuser()))
    record = replace(node("NODE"), taken_at=int(time.time()))
    (folder / "record.record").write_text(json.dumps(as_data(record)) + "\n")
    cases = "".join(f"127.0.1.{number}) {body};;\n" for number, (body, _) in _ODD.items())
    (folder / "record").write_text(
        "#!/bin/sh\nset -- $SSH_CONNECTION\ncase $3 in\n" + cases + 'esac\nsed "s/NODE/$3/" $0.record\n'
    )
    (folder / "record").chmod(0o755)
    Path("/run/sshd").mkdir(exist_ok=True)
    sshd = shutil.which("sshd") or "/usr/sbin/sshd"
    servers = [_server(folder, sshd, number) for number in range(0, len(_HOSTS), _SOCKETS)]
    try:
        for number, one in enumerate(servers):
            log = folder / f"log-{number * _SOCKETS}"
            assert until(partial(_listens, log)), log.read_text()
            assert one.poll() is None, log.read_text()
        yield folder
    finally:
        for one in servers:
            one.terminate()
            one.wait()
        for pid in _left(folder):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def _server(folder: Path, sshd: str, first: int) -> subprocess.Popen[bytes]:
    """One that listens on 16 of the addresses, as many as sshd can."""
    addresses = "\n".join(f"ListenAddress {one}" for one in _HOSTS[first : first + _SOCKETS])
    config = folder / f"sshd_config-{first}"
    config.write_text(_SSHD.format(port=_PORT, folder=folder, addresses=addresses))
    with (folder / f"log-{first}").open("wb") as log:
        return subprocess.Popen([sshd, "-D", "-e", "-f", config], stderr=log)


def _listens(log: Path) -> bool:
    return log.read_bytes().count(b"listening on") == _SOCKETS


def _left(folder: Path) -> list[int]:
    """Processes of our stand-in that are still there, as a node keeps what nothing ends."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if f"{folder}/record".encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found


def _gate(setting: Setting) -> Iterator[Row]:
    place = setting.place("gate")
    record = [*PROGRAM, "record", "--out", place, "--quiet"]
    ran(record)
    runs = [ran([*PROGRAM, "gate", "--record", place]) for _ in range(5)]
    yield most("gate, CPU", min(one.cpu_s for one in runs), 0.2, " s")
    said = runs[0].out.strip()
    yield holds("  it judges a record of this boot", said.startswith(("open:", "closed:")), said)
    found = list(place.glob("*.json"))
    for name in found:
        name.unlink()
        os.mkfifo(name)
    began = time.monotonic()
    done = ran([*PROGRAM, "gate", "--record", place])
    passed = bool(found) and done.code == 0 and time.monotonic() - began < 60
    yield holds("a FIFO as record holds up no job", passed, done.out.strip())
