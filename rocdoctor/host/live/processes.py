"""Questions about processes: what /proc tells of one, as few short lines that say nothing of its data files."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from rocdoctor.host.base import Answer
from rocdoctor.model.lazy_re import regex

MAX_THREADS = 2048
MAX_FAMILY = 512
MAX_FILES = 65_536
_MAX_DEPTH = 8
# Terminals, shared memory and sources of bytes are in every process and say nothing.
_COMMON = regex(r"/dev/(?:null|zero|full|tty\w*|pts/.*|ptmx|u?random|shm/.*|console|stdin|stdout|stderr|fd/.*)\Z")
# What launchers set to tell a process its place (torchrun, Open MPI, Slurm, MPICH).
RANK_NAMES = (
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "MASTER_PORT",
    "TORCHELASTIC_RUN_ID",
    "TORCHELASTIC_RESTART_COUNT",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "OMPI_COMM_WORLD_RANK",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
    "SLURM_LOCALID",
    "SLURM_STEP_TASKS_PER_NODE",
    "SLURM_STEP_ID",
)
# Looked for in the whole, which may have as many variables as fit in a megabyte.
_PLACE = regex(rb"(?<![^\0])(" + "|".join(RANK_NAMES).encode() + rb")=([^\0]{0,4096})")
_RANK = regex(rb"(?:\A|\0)(?:LOCAL_RANK|OMPI_COMM_WORLD_LOCAL_RANK|MPI_LOCALRANKID)=")


def _folder(question: str) -> Path:
    return Path(question.split(" ")[1])


def _lines(function: Callable[[Path], Iterator[str]]) -> Callable[[str], Answer]:
    def answer(question: str) -> Answer:
        try:
            text = "\n".join(function(_folder(question)))
        except PermissionError:
            return Answer(question, "denied")
        except (FileNotFoundError, ProcessLookupError):
            return Answer(question, "absent")
        except OSError as error:
            return Answer(question, "failed", note=os.strerror(error.errno) if error.errno else str(error))
        return Answer(question, "ok", text.encode("utf-8", errors="replace"))

    return answer


def _text(path: Path) -> str:
    """A small file of /proc on one line, or "" where it cannot be read."""
    try:
        with path.open("rb", 0) as stream:
            return " ".join(stream.read(8192).decode("utf-8", errors="replace").split())
    except OSError:
        return ""


def held(folder: Path) -> Iterator[str]:
    """Device nodes among the open files: the link is read, the file behind it never touched."""
    yield from sorted(open_nodes(folder))[:256]


def open_nodes(folder: Path, most: int = MAX_FILES) -> dict[str, list[str]]:
    """By what looks like a device node, the links that lead to it: a name space of a user's own has any name.

    Of the open files those with the ``most`` lowest numbers are looked at.
    """
    found: dict[str, list[str]] = {}
    with os.scandir(folder / "fd") as entries:
        for count, entry in enumerate(entries):
            if count >= most:
                break
            with contextlib.suppress(OSError):
                target = os.readlink(entry.path)
                if target.startswith("/dev/") and not _COMMON.match(target):
                    found.setdefault(target, []).append(entry.path)
    return found


def _threads(folder: Path) -> Iterator[str]:
    """``tid state switches wchan name`` of each thread; a wchan that is not shown is "-"."""
    numbers = sorted(int(name) for name in os.listdir(folder / "task") if name.isdecimal())
    for number in numbers[:MAX_THREADS]:
        task = folder / "task" / str(number)
        stat = _text(task / "stat")
        name, _, rest = stat.partition("(")[2].rpartition(")")
        if not rest.split():
            continue
        status = _text(task / "status")
        switches = sum(int(count) for count in re.findall(r"voluntary_ctxt_switches: (\d{1,18})", status))
        wchan = _text(task / "wchan")
        yield f"{number} {rest.split()[0]} {switches} {wchan if wchan not in ('', '0') else '-'} {name}"


def stat_lines() -> dict[int, tuple[int, str]]:
    """pid -> (pid of the parent, the line of /proc/PID/stat) of every process that shows."""
    found: dict[int, tuple[int, str]] = {}
    for name in os.listdir("/proc"):
        if name.isdecimal() and (line := _text(Path("/proc", name, "stat"))):
            fields = line.rpartition(")")[2].split()
            if len(fields) > 1 and fields[1].isdecimal():
                found[int(name)] = (int(fields[1]), line)
    return found


def _is_rank(pid: int) -> bool:
    """Whether a launcher told this process its place."""
    try:
        with open(f"/proc/{pid}/environ", "rb", 0) as stream:
            return _RANK.search(stream.read(1 << 20)) is not None
    except OSError:
        return False


def family(pid: int, every: dict[int, tuple[int, str]]) -> list[int]:
    """A process, its descendants, and what else its parent started, as far as that is no service manager.

    From inside a rank (a data loader's worker, a program below a wrapper script) the parent is the launcher of ranks.
    """
    top = pid
    for _ in range(_MAX_DEPTH):
        parent = every.get(top, (0, ""))[0]
        if parent <= 1 or not _is_rank(parent):
            break
        top = parent
    children: dict[int, list[int]] = {}
    for number, (other, _) in sorted(every.items()):
        children.setdefault(other, []).append(number)
    parent = every.get(top, (0, ""))[0]
    layer = [top, *(children.get(parent, ()) if parent > 1 else ())]
    found = dict.fromkeys([pid, *layer])
    for _ in range(_MAX_DEPTH):
        layer = [child for one in layer for child in children.get(one, ()) if one != child]
        found.update(dict.fromkeys(layer))
    return list(found)[:MAX_FAMILY]


def _processes(folder: Path) -> Iterator[str]:
    """The lines of /proc/PID/stat of the family."""
    (folder / "stat").stat()
    every = stat_lines()
    for number in family(int(folder.name), every):
        if number in every:
            yield every[number][1]


def _ranks(folder: Path) -> Iterator[str]:
    """``pid NAME=value ...`` of the family: the variables that tell a process its place, or ``pid denied``."""
    (folder / "stat").stat()
    for number in family(int(folder.name), stat_lines()):
        try:
            with open(f"/proc/{number}/environ", "rb", 0) as stream:
                data = stream.read(1 << 20)
        except PermissionError:
            yield f"{number} denied"
            continue
        except OSError:
            continue
        pairs = dict(reversed(_PLACE.findall(data)))  # of a name given twice the first counts
        told = (
            (name, pairs[name.encode()].decode("utf-8", "replace")) for name in RANK_NAMES if name.encode() in pairs
        )
        words = [f"{name}={value}" for name, value in told if not re.search(r"\s", value)]
        yield " ".join([str(number), *words])


def _libraries(folder: Path) -> Iterator[str]:
    """The shared objects that are mapped, each once."""
    found: set[str] = set()
    with (folder / "maps").open(encoding="utf-8", errors="replace") as lines:
        for count, line in enumerate(lines):
            if count > 200_000:
                break
            path = line.rstrip("\n").partition("/")[2]
            if re.search(r"\.so(?:\.[\w.]{1,40})?\Z", path):
                found.add("/" + path)
    yield from sorted(found)[:4096]


QUICK: dict[str, Callable[[str], Answer]] = {
    "held": _lines(held),
    "threads": _lines(_threads),
    "processes": _lines(_processes),
    "ranks": _lines(_ranks),
    "libraries": _lines(_libraries),
}
