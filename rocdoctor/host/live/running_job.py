"""A running job on this machine: what it is, and a host that answers in its place.

Questions speak of ``/proc/job``, whatever the number of the process, so that a capture means the same everywhere. Files
are those that the job sees: where it lives in another mount name space (a container), they are reached through its
root folder.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rocdoctor.host.base import Answer, Host, Kind
from rocdoctor.host.live.patience import RUN
from rocdoctor.host.live.processes import family, stat_lines
from rocdoctor.host.live.trust import privileged
from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import whole_number

if TYPE_CHECKING:
    from rocdoctor.host.live.live_host import LiveHost
    from rocdoctor.host.live.patience import Patience

JOB = "/proc/job"
STATUS = f"read {JOB}/status"
# The kernel passes 6 MiB of arguments and variables at most (bprm_stack_limits of fs/exec.c); of a command the first
# word counts here.
_MAX_ENVIRONMENT_BYTES, _MAX_WORD_BYTES, _PIECE_BYTES = 8 << 20, 64 << 10, 256 << 10
_MAX_PYTHONS = 32  # of the descendants that seem to be one
_MAX_VARIABLES, _MAX_FOLDERS = 65_536, 1000  # of an environment, and of its PATH
# For the open files of a job's processes together: each may have hundreds of thousands.
_ALL_WALKS_S = 3.0
# Between two looks at threads that seem to hang.
PAUSE_S = 1.0
_PYTHON = regex(r"(?:python|pypy)[\d.]*[a-z]?\Z")
_OF_FILES = ("read", "list", "link", "stat", "open", "space")


class JobError(Exception):
    """A process that cannot be judged; the message says why."""


@dataclass(frozen=True, slots=True)
class RunningProcess:
    """The process: ``python`` is its interpreter, None with ``no_python`` saying why; ids are effective ones."""

    pid: int
    uid: int
    gid: int
    groups: frozenset[int]
    same_mounts: bool
    environment: dict[str, str] | None
    python: str | None = None
    no_python: str = ""
    started: str = ""  # when, by which a later process of this number is told apart
    hangs: bool = False  # what stands in its memory cannot be read


def find_job(pid: int) -> RunningProcess:
    """The process with this number (or that has this thread); raises JobError for one that cannot be judged."""
    if not hasattr(os, "geteuid") or not os.path.isdir("/proc/self"):
        raise JobError("--pid needs Linux with /proc")
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except PermissionError:
        raise JobError(f"process {pid} cannot be read by this user; ask as its user or as root") from None
    except (OSError, ValueError):
        raise JobError(f"no process {pid} here (inside a container numbers differ; ps there shows them)") from None
    found = {name: value for name, _, value in (line.partition(":") for line in status.splitlines())}
    ids = {
        name: [one for word in found.get(name, "").split() if (one := whole_number(word)) is not None]
        for name in _NUMBERS
    }
    if not ids["Uid"][1:2] or not ids["Gid"][1:2] or not ids["Tgid"]:
        raise JobError(f"process {pid}: /proc/{pid}/status makes no sense")
    if found.get("Kthread", "").strip() == "1" or (pid == 2 and ids["PPid"] == [0]) or ids["PPid"] == [2]:
        raise JobError(f"process {pid} is a thread of the kernel, not a job")
    if found.get("State", "").strip()[:1] in ("Z", "X"):
        raise JobError(f"process {pid} has ended; its parent {ids['PPid'][0] if ids['PPid'] else ''} has not noticed")
    pid = ids["Tgid"][0]
    # A process that hangs in the kernel may hold the lock of its memory, where these files are read.
    seen = RUN.look(f"/proc/{pid}", lambda: _looked_at(pid, ids["Uid"][1]))
    environment, python, why = seen or (None, None, f"process {pid} hangs in the kernel: its memory gives no answer")
    groups = frozenset([*ids["Groups"], ids["Gid"][1]])
    same = _same_mounts(pid)
    if not same and python is not None:
        python, why = None, "the job lives in a container: its interpreter can only be asked in there (--python PATH)"
    if not same:  # root looks with the rights of the job, which may have mounted what it may not read
        from rocdoctor.host.live.process_root import Rights, pin

        rights = Rights(ids["Uid"][1], ids["Gid"][1], tuple(sorted(groups)))
        with contextlib.suppress(OSError):
            pin(pid, rights if privileged() and rights.uid != 0 else None)
    uid, gid = ids["Uid"][1], ids["Gid"][1]
    return RunningProcess(pid, uid, gid, groups, same, environment, python, why, _started(pid), seen is None)


_NUMBERS = ("Tgid", "PPid", "Uid", "Gid", "Groups")


def _looked_at(pid: int, uid: int) -> tuple[dict[str, str] | None, str | None, str]:
    """(the environment, the interpreter or None, why there is none)."""
    environment = _environment(pid)
    return environment, *_interpreter(pid, uid, environment)


def _environment(pid: int) -> dict[str, str] | None:
    """The environment as the process was started with; None where this user may not read it."""
    try:
        data = _memory(pid, "environ", _MAX_ENVIRONMENT_BYTES)
    except OSError:
        return None
    entries = os.fsdecode(data).split("\0", _MAX_VARIABLES)[:_MAX_VARIABLES]
    pairs = [entry.partition("=") for entry in entries if "=" in entry[1:]]
    return {name: value for name, _, value in reversed(pairs)}  # of a name given twice the first counts


def _memory(pid: int, name: str, most_bytes: int) -> bytes:
    """The begin of a file of /proc that is read from a process's memory: prctl(2) lets it say where that is."""
    with open(f"/proc/{pid}/{name}", "rb", 0) as stream:
        pieces = bytearray()
        while len(pieces) < most_bytes and (piece := stream.read(min(_PIECE_BYTES, most_bytes - len(pieces)))):
            pieces += piece
        return bytes(pieces)


def _started(pid: int) -> str:
    """When a process was started, in ticks since the boot; "" where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _same_mounts(pid: int) -> bool:
    try:
        return os.stat(f"/proc/{pid}/ns/mnt").st_ino == os.stat("/proc/self/ns/mnt").st_ino
    except OSError:
        return True  # another user's: nothing of its file system can be read anyway


def _interpreter(pid: int, uid: int, environment: dict[str, str] | None) -> tuple[str | None, str]:
    """The Python of the process, or of the first of its descendants that has one."""
    every = stat_lines()
    own = [pid, *(number for number in family(pid, every) if number != pid and _descends(number, pid, every))]
    pythons = 0
    for number in own:
        program = _program_of(number)
        if program is None:
            continue
        pythons += 1
        if pythons > _MAX_PYTHONS:
            break
        path = _as_called(number, program, environment if number == pid else _environment(number))
        if path is None:
            continue
        if os.geteuid() == 0 and uid != 0:
            return None, "root does not run another user's interpreter (--python PATH, or ask as that user)"
        return path, ""
    try:
        os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return None, "the interpreter of another user's process cannot be seen"
    return None, "the job's program is not Python"


def _descends(number: int, pid: int, every: dict[int, tuple[int, str]]) -> bool:
    for _ in range(32):
        number = every.get(number, (0, ""))[0]
        if number == pid:
            return True
    return False


def _program_of(pid: int) -> str | None:
    """The file that a process runs, where it has the name of a Python."""
    try:
        program = os.path.realpath(f"/proc/{pid}/exe")
    except OSError:  # it has ended meanwhile
        return None
    return program if _PYTHON.match(os.path.basename(program).removesuffix(" (deleted)")) else None


def _as_called(pid: int, program: str, environment: dict[str, str] | None) -> str | None:
    """The interpreter as it was called: the path of a virtual environment, which its program file does not show."""
    try:
        words = _memory(pid, "cmdline", _MAX_WORD_BYTES).split(b"\0", 1)
        folder = os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return None
    called = os.fsdecode(words[0])
    variables = environment or {}
    candidates = [os.path.join(folder, called)] if "/" in called else []
    if called and not candidates:
        folders = variables.get("PATH", "").split(os.pathsep, _MAX_FOLDERS)[:_MAX_FOLDERS]
        candidates += [os.path.join(one, called) for one in folders if one]
    candidates += [os.path.join(variables[name], "bin", "python") for name in _PREFIXES if variables.get(name)]
    for path in [*candidates, program]:
        if os.path.isabs(path) and os.path.realpath(path) == program and os.access(path, os.X_OK):
            return path
    return None


_PREFIXES = ("VIRTUAL_ENV", "CONDA_PREFIX")


def hidden_of(job: RunningProcess) -> str:
    """What cannot be seen of another user's job, as a sentence; empty for an own one."""
    if job.environment is not None:
        return ""
    if job.hangs:
        return f"{job.no_python}, so its environment, command and interpreter are not known"
    return f"process {job.pid} is another user's: its environment, devices and interpreter cannot be read"


def live_for(
    job: RunningProcess,
    timeout_s: float,
    python: str | None,
    trust_python: bool = False,
    patience: Patience | None = None,
) -> LiveHost:
    """The live host that a job's host asks: its interpreter is the job's unless another one was chosen."""
    from rocdoctor.host.live.live_host import LiveHost

    # Root starts nothing with variables of another user (LD_PRELOAD, PYTHONPATH), nor of a container's root.
    environment = job.environment if job.uid == os.geteuid() and job.same_mounts else None
    return LiveHost(timeout_s, python or job.python, environment, trust_python, patience=patience)


class JobHost:
    """A live host whose questions about ``/proc/job``, files and the interpreter are answered in the job's place."""

    kind: Kind = "live"

    def __init__(self, inner: Host, job: RunningProcess, python_chosen: bool = False) -> None:
        self.inner = inner
        self.job = job
        self.python_chosen = python_chosen
        self.origin = inner.origin
        self._walked_s = 0.0  # over the open files of its other processes

    def available(self) -> tuple[str, ...]:
        return (STATUS,)

    def prefetch(self, questions: Iterable[str]) -> None:
        own = [one for one in questions if not one.startswith("open ") and not one.endswith(" again")]
        if self.job.python is None and not self.python_chosen:
            own = [one for one in own if not one.startswith("python ")]
        self.inner.prefetch(self._translated(one) for one in own)

    def ask(self, question: str) -> Answer:
        verb = question.split(" ", 1)[0]
        if verb == "python" and not self.python_chosen and self.job.python is None:
            return Answer(question, "failed", note=self.job.no_python)
        if verb == "open":
            return self._open(question)
        if question.endswith(" again"):
            time.sleep(PAUSE_S)
        walks = verb == "held" and question != f"held {JOB}"
        if walks and self._walked_s > _ALL_WALKS_S:
            return Answer(question, "timeout", note=f"{_ALL_WALKS_S:g}s for all processes of the job", seconds=0.0)
        translated, began = self._translated(question), time.monotonic()
        answer = replace(self.inner.ask(translated), question=question)
        self._walked_s += time.monotonic() - began if walks else 0.0
        if answer.data and translated != question and self.job.started and _started(self.job.pid) != self.job.started:
            return Answer(question, "absent")  # it has ended, and its number may be another's
        if not answer.ok:
            return answer
        if question == f"read {JOB}/environ":
            whole = len(answer.data) <= _MAX_ENVIRONMENT_BYTES and answer.data.count(b"\0") <= _MAX_VARIABLES
            return replace(answer, data=as_lines(answer.data), truncated=answer.truncated or not whole)
        if question == f"read {JOB}/cmdline":
            return replace(answer, data=as_command(answer.data))
        if verb == "list":
            return replace(answer, data="\n".join(map(self._back, answer.text.splitlines())).encode())
        return replace(answer, data=self._back(answer.text).encode()) if verb == "link" else answer

    def _translated(self, question: str) -> str:
        verb, _, rest = question.partition(" ")
        if rest == JOB or rest.startswith((f"{JOB}/", f"{JOB} ")):
            return f"{verb} /proc/{self.job.pid}{rest[len(JOB) :]}"
        if self.job.same_mounts or verb not in _OF_FILES or not rest.startswith("/"):
            return question
        return question if rest.startswith(("/proc/", "/sys/")) else f"{verb} /proc/{self.job.pid}/root{rest}"

    def _back(self, path: str) -> str:
        folder = f"/proc/{self.job.pid}"
        if not self.job.same_mounts and path.startswith(f"{folder}/root/"):
            return path[len(folder) + 5 :]
        return JOB + path[len(folder) :] if path.startswith(f"{folder}/") else path

    def _open(self, question: str) -> Answer:
        """Open a device node with the job's rights: its groups may be older than those of this shell."""
        from rocdoctor.host.live.device_nodes import open_as

        job, translated = self.job, self._translated(question)
        if os.geteuid() == job.uid and frozenset([*os.getgroups(), os.getegid()]) == job.groups:
            return replace(self.inner.ask(translated), question=question)
        if os.geteuid() == 0:
            path = translated.partition(" ")[2]
            return open_as(question, path, job.uid, job.gid, sorted(job.groups))
        return Answer(question, "failed", note="this shell has different rights than the job, so nothing was tried")


def as_lines(data: bytes) -> bytes:
    """NUL-separated variables as lines, in the form of the question ``env``; no more than a process is started with."""
    entries = data[:_MAX_ENVIRONMENT_BYTES].split(b"\0", _MAX_VARIABLES)[:_MAX_VARIABLES]
    lines = [entry.replace(b"\\", b"\\\\").replace(b"\n", b"\\n") for entry in entries if b"=" in entry]
    return b"\n".join(lines)


def as_command(data: bytes) -> bytes:
    """NUL-separated arguments as one command line."""
    words = data.rstrip(b"\0").decode("utf-8", errors="replace").split("\0")
    return shlex.join(words).replace("\n", " ").encode()
