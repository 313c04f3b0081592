"""A shell in which nothing real can be started: commands are typed into it, and it tells which programs they call.

It is bash in its restricted mode with a folder of stand-ins as its only path: programs named by a path, other folders
and redirections are refused by bash itself, whoever runs it. Each stand-in notes its words. A command that starts
``touch`` (or any other program that no command of ours starts) is seen by that.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

BASH = shutil.which("bash")
needs_bash = pytest.mark.skipif(BASH is None, reason="no bash here")

# What no command of ours starts, and what the hostile words of the tests do.
MARK = "PWNED"
# Each is one word. Quoting makes them harmless; what it could not is refused.
HOSTILE = (
    f"x;touch {MARK}",
    f"$(touch {MARK})",
    f"`touch {MARK}`",
    f"x\ntouch {MARK}\n",
    f"x';touch {MARK};'",
    f"-oProxyCommand=touch${{IFS}}{MARK}",
    f'x";touch {MARK};"',
    f"x #\r\ntouch {MARK}",
    f"a|touch {MARK}&",
    f"\u202ex;touch {MARK}\u2066",
    f"x${{IFS}};touch${{IFS}}{MARK}",
    f"a[$(touch {MARK})]",
    f"--{MARK}",
    f"x\\\n;touch {MARK}",
    f"\x1b[2Jx&&touch {MARK}",
    f"!touch {MARK}",
    f"x\u2028touch {MARK}",
    f"<(touch {MARK})",
    f"~root/{MARK}",
    f"x>{MARK}",
)

# Programs that commands of ours call. Words in capitals are for the person to fill in.
PROGRAMS = (
    "sudo",
    "usermod",
    "newgrp",
    "id",
    "rocdoctor",
    "rocminfo",
    "rocm-smi",
    "rocm-sdk",
    "amd-smi",
    "nvidia-smi",
    "lspci",
    "lsmod",
    "modinfo",
    "modprobe",
    "dkms",
    "dmesg",
    "grep",
    "head",
    "tail",
    "ls",
    "cat",
    "df",
    "free",
    "top",
    "uptime",
    "ps",
    "pip",
    "python",
    "python3",
    "pip3",
    "docker",
    "podman",
    "singularity",
    "apptainer",
    "srun",
    "sinfo",
    "scontrol",
    "ssh",
    "ip",
    "ss",
    "getent",
    "nc",
    "hostname",
    "ldconfig",
    "ldd",
    "strings",
    "nvcc",
    "hipcc",
    "ptxas",
    "cc",
    "gcc",
    "mokutil",
    "slurmd",
    "nproc",
    "taskset",
    "env",
    "printenv",
    "stat",
    "cut",
    "py-spy",
    "apt",
    "apt-file",
    "apt-cache",
    "dpkg",
    "uname",
    "chronyc",
    "ethtool",
    "tc",
    "readlink",
    "tee",
    "sysctl",
    "ibstat",
    "journalctl",
    "squeue",
    "ibv_devinfo",
    "nvidia-ctk",
    "dnf",
    "zypper",
    "pacman",
    "rpm",
    "update-grub",
    "update-initramfs",
    "mount",
    "systemctl",
    "lscpu",
    "find",
    "rm",
    "sh",
    "torchrun",
    "lsblk",
    "numactl",
    "fuser",
    "nvidia-settings",
    "cpupower",
    "sleep",
    "sed",
    "groups",
    "YOUR_COMMAND",
    "...",
    "INTERFACE",
    "COMPILER",
    "lsof",
    "ibqueryerrors",
    "ib_write_bw",
    "uniq",
    "ping",
    "kubectl",
    "nvidia-bug-report.sh",
    "accelerate",
    "deepspeed",
    "dirname",
    "basename",
    "date",
    "curl",
    "wget",
    "gpg",
    "perfquery",
    "install",
    "mkdir",
    "chmod",
    "dd",
    "sort",
    "conda",
)

# One write a call: the programs of a pipe run at once.
_NOTE = '#!/bin/sh\nprintf \'%s\\0\' "${0##*/}" "$@" \'\n\' >> "$CALLS"\n'
_SCRIPT = """
command_not_found_handle() { mark unknown "$@"; }
mapfile -d '' -t typed < "$TYPED"
number=0
for one in "${typed[@]}"; do
    ( eval "$one" )
    mark done "$number"
    number=$((number + 1))
done
"""
# A redirection is no word of the evidence (``<`` and ``>`` in those are quoted), and the restricted mode has none.
_REDIRECTION = re.compile(r"(?:(?<= )2)?>/dev/null|2>&1|>\s?/dev/stderr|<\(|(?<= )2> ?/dev/null")


@dataclass(frozen=True, slots=True)
class Ran:
    """A command, and the words of every program that it called."""

    command: str
    calls: tuple[tuple[str, ...], ...]


class ShellBox:
    """The box; commands run one after the other, each in a subshell."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "bin"
        self.path.mkdir()
        for name in (*PROGRAMS, "mark"):
            self._stand_in(name)
        self._stand_in("scontrol", "echo node-07\n")
        self._stand_in("touch", f'for one; do :; done; : > "$HOME/{MARK}"\n')

    def _stand_in(self, name: str, more: str = "") -> None:
        file = self.path / name
        file.write_text(_NOTE + more)
        file.chmod(0o755)

    def run(self, commands: Iterable[str]) -> list[Ran]:
        """Type commands; what each of them called."""
        assert BASH is not None
        kept = list(dict.fromkeys(commands))
        calls, typed = self.folder / "calls", self.folder / "typed"
        calls.write_bytes(b"")
        typed.write_bytes(b"".join(_REDIRECTION.sub("", one).encode("utf-8", "surrogatepass") + b"\0" for one in kept))
        here = {
            "PATH": str(self.path),
            "HOME": str(self.folder),
            "CALLS": str(calls),
            "TYPED": str(typed),
            "USER": "alice",
            "LC_ALL": "C.UTF-8",
        }
        done = subprocess.run(
            [BASH, "--norc", "--noprofile", "-r", "-c", _SCRIPT],
            env=here,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=300,
            check=False,
        )
        said = done.stderr.decode(errors="replace")
        assert done.returncode == 0, said
        assert not (self.folder / MARK).exists(), "a word was run"
        assert not re.search("syntax error|unexpected EOF|restricted|bad substitution", said), said
        return _told(kept, calls.read_bytes().decode("utf-8", "surrogateescape"))

    def script(self, text: str, **given: str) -> list[tuple[str, ...]]:
        """Run a whole script, whose redirections and files are its own; the words of every program that it called."""
        assert BASH is not None
        calls, file = self.folder / "calls", self.folder / "script.sh"
        calls.write_bytes(b"")
        file.write_text(text)
        here = {"PATH": str(self.path), "HOME": str(self.folder), "CALLS": str(calls), "USER": "alice", **given}
        done = subprocess.run(
            [BASH, str(file)],
            env=here,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        said = done.stderr.decode(errors="replace")
        assert not list(self.folder.rglob(MARK)), "a word was run"
        assert not re.search("syntax error|unexpected EOF|command not found|bad substitution", said), said
        return [tuple(one.split("\0")) for one in calls.read_bytes().decode(errors="replace").split("\0\n\0")[:-1]]


def _told(commands: Sequence[str], calls: str) -> list[Ran]:
    """The calls of each command, cut at the marks behind it."""
    found: list[Ran] = []
    current: list[tuple[str, ...]] = []
    for record in calls.split("\0\n\0")[:-1]:
        words = tuple(record.split("\0"))
        if words[:2] == ("mark", "done"):
            found.append(Ran(commands[int(words[2])], tuple(current)))
            current = []
        else:
            command = commands[len(found)]
            assert words[:2] != ("mark", "unknown"), f"{words[2]!r} was started by: {command}"
            assert words[0] != "touch", f"a word was run in: {command}"
            options = words[1 : words.index("--")] if "--" in words else words[1:]
            assert not any(word.startswith("-") and MARK in word for word in options), f"{words} of {command}"
            current.append(words)
    assert len(found) == len(commands), f"a command ended the shell: {commands[len(found) :][:1]}"
    return found
