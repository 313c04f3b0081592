"""Processes of a smoke run: the mark that finds them again, what the kernel says of them, and how they end.

psutil tells of memory and of interfaces. The mark, the kernel's letter and children are looked for many times a second
or in all processes, where psutil would decode each environment and read every process to find the children of one.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Collection, Mapping
from pathlib import Path

from rocdoctor.host.live.patience import each_within, within
from rocdoctor.train.smoke.worker import segments
from rocdoctor.train.smoke.worker.device_choice import NUMBERS

MARK = "ROCDOCTOR_SMOKE_RUN"
# A socket has a path of 107 bytes at most (unix(7)); multiprocessing adds 32: /pymp-xxxxxxxx/listener-xxxxxxxx.
_MOST_FOLDER_BYTES = 75
# Of a log, between two looks a second apart or so; and what is kept of a longer one, of which only the end is read.
MOST_LOG_BYTES = 16 * 1024 * 1024
_KEPT_BYTES = 256 * 1024


def environment(base: Mapping[str, str], mark: str, folder: Path | None = None) -> dict[str, str]:
    """The user's environment, since it is under test, without what would make torch believe in another launcher.

    ``folder``: ours alone; inductor's own would be /tmp/torchinductor_NAME, which anybody can make first, and it
    unpickles what lies there. Temporary files are made there too, so that nothing is left of a rank that is ended; not
    where sockets in it would have too long a name.
    """
    kept = {name: value for name, value in base.items() if not name.startswith(_FOREIGN) and name not in _LAUNCHER}
    kept.setdefault("TORCH_FR_BUFFER_SIZE", "200")
    if folder is not None:
        kept.setdefault("TORCHINDUCTOR_CACHE_DIR", str(folder / "inductor"))
        if len(os.fsencode(folder)) <= _MOST_FOLDER_BYTES:
            kept["TMPDIR"] = str(folder)
    kept.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # its own pool of forks hangs inside ours
    return {**kept, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", MARK: mark}


def alone(kept: Mapping[str, str]) -> dict[str, str]:
    """The same for ranks that are all on this machine: gloo, which asks nobody who he is, listens on loopback.

    What the user names stays. Without a name gloo takes the address of the host name, which others may reach.
    """
    import psutil

    try:
        loopback = psutil.net_if_stats().get("lo")
    except OSError:
        loopback = None
    return {**({"GLOO_SOCKET_IFNAME": "lo"} if loopback is not None and loopback.isup else {}), **kept}


# PET_: torchrun takes each of its options from there, also another rendezvous than the one that it is told.
_FOREIGN = ("TORCHELASTIC_", "GROUP_", "ROLE_", "PET_")
_LAUNCHER = frozenset(
    (
        "RANK",
        "WORLD_SIZE",
        "LOCAL_RANK",
        "LOCAL_WORLD_SIZE",
        "MASTER_ADDR",
        "MASTER_PORT",
        "TORCH_DISTRIBUTED_DEBUG",
        "ROCDOCTOR_SMOKE_KEY",  # which no rank needs
        NUMBERS,  # which the runner chooses
    )
)


# A process that hangs in the kernel may hold the lock of its memory, where its environment and its maps are read.
_MEMORY_S = 1.0
_MOST_VARIABLES_BYTES = 8 << 20  # the kernel passes 6 MiB at most (bprm_stack_limits of fs/exec.c)
_mute: set[str] = set()


def marked(mark: str) -> list[int]:
    """Processes whose environment at start held the mark of a run (zombies have none left)."""
    wanted = f"{MARK}={mark}".encode()
    entries = [one for one in os.listdir("/proc") if one.isdigit()] if os.path.isdir("/proc") else []
    entries = [one for one in entries if one not in _mute]
    seen = each_within(_MEMORY_S, entries, lambda entry: wanted in _environment(entry))
    _mute.update(entry for entry, one in zip(entries, seen, strict=True) if one is None)
    return [int(entry) for entry, one in zip(entries, seen, strict=True) if one]


def _environment(entry: str) -> list[bytes]:
    """The variables of a process of ours; none of anybody else's, who could make the reading of them hang."""
    try:
        with open(f"/proc/{entry}/status", "rb") as stream:
            row = next((line for line in stream if line.startswith(b"Uid:")), b"")
        if {int(word) for word in row.split()[1:]} != {os.getuid()}:
            return []
        with open(f"/proc/{entry}/environ", "rb") as stream:
            return stream.read(_MOST_VARIABLES_BYTES).split(b"\0")
    except (OSError, ValueError):
        return []


def sweep(mark: str, keep: int = 0) -> None:
    """End every process that carries the mark; several looks, since one may be forking right now."""
    ended: set[int] = set()
    for _ in range(20):
        found = [pid for pid in marked(mark) if pid not in (keep, os.getpid())]
        if not found:
            break
        ended.update(found)
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
    segments.remove(ended)


def process_state(pid: int) -> str:
    """The kernel's letter for a process (T stopped, D uninterruptible, Z ended and not yet waited for), or nothing."""
    with contextlib.suppress(OSError, IndexError), open(f"/proc/{pid}/stat", "rb") as stream:
        return stream.read().rsplit(b")", 1)[1].split()[0].decode()
    return ""


# Numbers of flock(2) and fcntl(2), and of fcntl's commands that wait (F_SETLKW, F_OFD_SETLKW), of the kernel's tables.
_FLOCK = {"x86_64": (73, 72), "aarch64": (32, 25)}
_WAITING_COMMANDS = (7, 38)


def awaited_lock(pid: int) -> str:
    """The file whose lock a process waits for in the kernel; empty when it does something else, or that is not told."""
    flock, fcntl = _FLOCK.get(os.uname().machine, (-1, -1))
    with contextlib.suppress(OSError, ValueError, IndexError):
        with open(f"/proc/{pid}/syscall", "rb") as stream:
            words = stream.read(256).split()
        number, handle, command = int(words[0]), int(words[1], 16), int(words[2], 16)
        if number == flock or (number == fcntl and command in _WAITING_COMMANDS):
            return os.readlink(f"/proc/{pid}/fd/{handle}")
    return ""


# Numbers of calls that wait for a file system, or for who opens the other end of a pipe, and for no socket:
# arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h.
_FILE_CALLS = {
    "x86_64": {
        2: "open",
        257: "openat",
        437: "openat2",
        74: "fsync",
        75: "fdatasync",
        77: "ftruncate",
        82: "rename",
        264: "renameat",
        316: "renameat2",
        83: "mkdir",
        258: "mkdirat",
        87: "unlink",
        263: "unlinkat",
        262: "newfstatat",
        332: "statx",
        217: "getdents64",
        285: "fallocate",
    },
    "aarch64": {
        56: "openat",
        437: "openat2",
        82: "fsync",
        83: "fdatasync",
        46: "ftruncate",
        38: "renameat",
        276: "renameat2",
        34: "mkdirat",
        35: "unlinkat",
        79: "newfstatat",
        291: "statx",
        61: "getdents64",
        47: "fallocate",
    },
}


def file_call(pid: int) -> str:
    """The call to a file system in which a process is in the kernel; empty when it is in none, or that is not told."""
    with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/syscall", "rb") as stream:
        return _FILE_CALLS.get(os.uname().machine, {}).get(int(stream.read(256).split()[0]), "")
    return ""


def has_children(pid: int) -> bool:
    """Whether any thread of a process has started a process that is still there."""
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", "rb") as stream:
                if stream.read(16).strip():
                    return True
    return False


def pss_bytes(pid: int) -> int | None:
    """Memory of a process with shared pages counted by share."""
    import psutil

    try:
        seen = within(_MEMORY_S, lambda: int(psutil.Process(pid).memory_full_info().pss))
    except (psutil.Error, OSError):
        return None
    return seen[0] if seen else None


def tail(path: Path, lines: int = 3, keep: Collection[str] = ()) -> str:
    """The last lines of a file, bounded, after earlier ones that hold one of ``keep`` (lower case)."""
    with contextlib.suppress(OSError), path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - (65536 if keep else 8192)))
        words = [line for line in stream.read(65536).decode("utf-8", errors="replace").splitlines() if line.strip()]
        kept = [line for line in words[:-lines] if any(one in line.lower() for one in keep)]
        return "\n".join(line[:300] for line in (*kept[:4], *words[-lines:]))
    return ""


def keep_short(folder: Path) -> None:
    """Shorten the logs of a folder to their ends where they are too long; who writes into one appends to it."""
    for path in folder.glob("*.log"):
        with (
            contextlib.suppress(OSError),
            open(os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW), "r+b", 0) as log,
        ):
            size = os.fstat(log.fileno()).st_size
            if size > MOST_LOG_BYTES:
                end = os.pread(log.fileno(), _KEPT_BYTES, size - _KEPT_BYTES)
                log.truncate(0)
                log.write(end)
