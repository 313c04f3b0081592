"""Troubles of the machine that make ranks fail although none of them is to blame: memory, disk, network interface."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from rocdoctor.insight.links.socket_interfaces import chosen, wanted
from rocdoctor.model.lazy_re import regex
from rocdoctor.train.smoke.nodes.interfaces import GLOO, NodeInterface, interfaces

# A rank writes logs, meeting places and checkpoints of some hundred KiB.
_ROOM_BYTES = 256 << 10
_KILLS = regex(rb"^oom_kill (\d{1,15})$", 8)  # MULTILINE
_REFUSED = regex(rb"^max (\d{1,15})$", 8)  # MULTILINE
_NO_THREAD = ("resource temporarily unavailable", "can't start new thread", "pthread_create failed")
_NO_FILE = "too many open files"
# Less than the ranks' records and logs take; above that a limit counts where somebody met it.
_LEAST_FILE_BYTES = 1 << 20
_OUT_OF_ADDRESSES = ("failed to map segment", "cannot allocate memory", "unable to allocate", "memoryerror")


def oom_kills(root: Path = Path("/")) -> int:
    """How many processes of this machine the kernel has ended for want of memory since it started; 0 if not told.

    /proc/vmstat counts those of the machine and those of every control group (linux mm/oom_kill.c, from 4.13 on).
    """
    with contextlib.suppress(OSError):
        found = _KILLS.search((root / "proc/vmstat").read_bytes())
        return int(found[1]) if found else 0
    return 0


def killed_for_memory(before: int, signals: Collection[int | None], root: Path = Path("/")) -> str:
    """Whether the kernel ended one for want of memory, where something was ended by SIGKILL."""
    if signal.SIGKILL not in signals or oom_kills(root) <= before:
        return ""
    return (
        "during the test the kernel killed a process because memory ran out (sudo dmesg names "
        "it): the machine, or the cgroup of this shell or container, has too little"
    )


class RefusedForks(NamedTuple):
    """How often a process or thread was refused, by a limit of this control group (``own``) or in all groups above."""

    own: int = 0
    above: int = 0


def refused_forks(root: Path = Path("/")) -> RefusedForks:
    """What the control groups of this process have counted until now.

    ``pids.events`` tells it (linux kernel/cgroup/pids.c, ``pids_event``, read 2026-11-29): in version 1 those of each
    group, in version 2 those of groups that had reached their limit and, once more, in all groups above.
    """
    own = above = 0
    with contextlib.suppress(OSError, ValueError):
        for row in (root / "proc/self/cgroup").read_text(encoding="utf-8", errors="replace").splitlines():
            _, names, path = row.split(":", 2)
            if names and "pids" not in names.split(","):
                continue
            base = root / "sys/fs/cgroup" / ("pids" if names else "")
            mine = base.joinpath(*(part for part in path.split("/") if part not in ("", "..")))
            own += _refused_in(mine)
            above += sum(_refused_in(one) for one in mine.parents if one == base or base in one.parents)
    return RefusedForks(own, above)


def _refused_in(folder: Path) -> int:
    with contextlib.suppress(OSError):
        told = _REFUSED.search((folder / "pids.events").read_bytes())
        return int(told[1]) if told else 0
    return 0


def limit_reached(before: RefusedForks, words: Collection[str], root: Path = Path("/")) -> str:
    """Which limit of threads or open files was in the way. ``words``: what ranks said when they failed.

    What groups above have counted may be of others below them, so it counts where a rank says so too.
    """
    said = " ".join(words).lower()
    starved, now = any(part in said for part in _NO_THREAD), refused_forks(root)
    if now.own > before.own or (starved and now.above > before.above):
        return (
            "this cgroup reached its limit of processes and threads during the test (pids.max): "
            "raise it (docker run --pids-limit, systemd's TasksMax=)"
        )
    limit = process_limit()
    if limit is not None and (starved or threads_of_user() >= limit):
        return f"no more threads could be started; ulimit -u allows this user {limit} of them: raise it"
    if _NO_FILE in said and f"{_NO_FILE} in system" not in said:
        return f"no more files could be opened; ulimit -n allows a process {file_limit()} of them: raise it"
    return ""


def file_too_large(signals: Collection[int | None], words: Collection[str]) -> str:
    """Whether the limit of a file's size was in the way, which is passed on to the ranks."""
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    met = soft < _LEAST_FILE_BYTES or signal.SIGXFSZ in signals or any("file too large" in one.lower() for one in words)
    if soft == resource.RLIM_INFINITY or not met:
        return ""
    return f"ulimit -f lets a file have {soft} bytes only, and the ranks write files: raise it"


def full_folder(folder: Path) -> str:
    """Whether the ranks' folder has no room left."""
    with contextlib.suppress(OSError):
        seen = os.statvfs(folder)
        if seen.f_blocks and seen.f_bavail * seen.f_frsize < _ROOM_BYTES:
            return f"no space is left on the device that holds {folder.parent}, where the ranks write: free some"
        if seen.f_files and not seen.f_favail:
            return f"no more files can be created in {folder.parent}, where the ranks write (inodes): delete some"
    return ""


def wrong_interface(variables: Mapping[str, str]) -> str:
    """Why gloo has no address to meet at on this machine alone; empty where it should have one."""
    try:
        many = interfaces()
    except OSError:
        return ""
    value = variables.get(GLOO, "").strip()
    loopback = next((one for one in many if one.name == "lo"), None)
    if value and value != "lo":
        return _named(value, many)
    if loopback is None:
        return "this machine has no loopback interface, over which the ranks connect"
    return (
        "" if loopback.up else "the loopback interface, over which the ranks connect, is down: sudo ip link set lo up"
    )


def _named(value: str, many: Collection[NodeInterface]) -> str:
    names = chosen(wanted(GLOO, value), [one.name for one in many])
    found = [one for one in many if one.name in names]
    if not found:
        there = ", ".join(one.name for one in many if one.addresses) or "none with an address"
        return f"{GLOO} is {value}, but this machine has no such interface (it has {there}): unset it, or name one"
    if not any(one.up and one.addresses for one in found):
        how = "is down" if not any(one.up for one in found) else "has no address"
        return f"{GLOO} is {value}, but this interface {how}: unset it, or name another"
    return ""


def address_space(words: str, limit_bytes: int | None) -> str:
    """What is added to the words of a process that ended at its limit of address space (``ulimit -v``)."""
    if limit_bytes is None or not any(part in words.lower() for part in _OUT_OF_ADDRESSES):
        return ""
    return f"ulimit -v allows {limit_bytes >> 20} MiB of address space, but torch needs more: ulimit -v unlimited"


def process_limit() -> int | None:
    """The limit of this user's processes and threads; None where there is none. It does not hold for root (fork(2))."""
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    return None if soft == resource.RLIM_INFINITY or os.geteuid() == 0 else soft


def threads_of_user() -> int:
    """How many threads this user has in all processes that can be seen."""
    found = 0
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.stat(f"/proc/{entry}").st_uid == os.getuid():
                found += len(os.listdir(f"/proc/{entry}/task"))
    return found


def file_limit() -> int:
    """The limit of open files of a process, which is passed on to the ranks."""
    import resource

    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def address_space_limit() -> int | None:
    """The limit of address space, which is passed on to the ranks; None where there is none."""
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


# Errors of the system in a class of Python, as the process that starts the ranks told them.
_OF_THE_SYSTEM = ("FileNotFoundError: ", "PermissionError: ", "NotADirectoryError: ", "OSError: ", "FileExistsError: ")


def not_imported(absent: Mapping[str, str], kinds: Collection[str]) -> str:
    """A part of torch that could not be imported for want of a file or a right, where all ranks failed by an error.

    ``absent``: the error of each module; ``kinds``: how each rank failed. What a rank then says of the half-imported
    module tells nothing of the cause.
    """
    if set(kinds) != {"error"}:
        return ""
    for name, error in absent.items():
        if error.startswith(_OF_THE_SYSTEM):
            return f"{name} cannot be imported here: {error}"
    return ""
