"""Outputs of programs that an evidence happens to hold, and limits of control groups: shared by several collectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TypeVar

from rocdoctor.collect.reading import as_fact
from rocdoctor.host.base import Answer, Host, argv_of
from rocdoctor.model.evidence import Fact, Known, Unknown
from rocdoctor.parsers.kernel.running_kernel import parse_sysctl
from rocdoctor.parsers.system.memory import parse_cgroup

T = TypeVar("T")

_CGROUPS = "/sys/fs/cgroup"
_MAX_DEPTH = 32


def outputs(host: Host, program: str) -> Iterator[tuple[list[str], Answer]]:
    """(arguments, answer) of each output of a program at hand, however it was spelled.

    Nothing on a live machine: there files answer the same, and faster.
    """
    if host.kind == "live":
        return
    for question in _runs(host.available()):
        argv = argv_of(question) if program in question else None
        if argv and argv[0].rsplit("/", 1)[-1] == program:
            answer = host.ask(question)
            if answer.ok and answer.data:
                yield argv[1:], answer


@lru_cache(maxsize=1)  # asked for a dozen programs, and for one of them once a device
def _runs(questions: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the questions that run a program."""
    return tuple(one for one in questions if one.startswith("run "))


def stated(value: T | None, answer: Answer, line: int | None = None) -> Fact[T]:
    """What a parsed text states: Known, or the note that this text does not."""
    if value is None:
        return Unknown(f"{answer.question} does not state it", "not-asked", answer.source())
    return Known(value, answer.source(line))


def cgroup_folders(host: Host, controller: str) -> tuple[int, list[str]] | None:
    """(version, folders from our own group up to the root) of a controller; None where /proc/self/cgroup is not known.

    In a container without a name space of its own the path is the host's, while the folder tree begins at our group;
    the root folder, which ends the list, is then ours.
    """
    answer = host.ask("read /proc/self/cgroup")
    groups = parse_cgroup(answer.text) if answer.ok else None
    if groups is None or groups.version is None:
        return None
    old = groups.controller_paths.get(controller)
    path = old if old is not None else groups.unified_path
    if path is None:
        return None
    parts = [part for part in path.split("/") if part]
    if ".." in parts or len(parts) > _MAX_DEPTH:
        parts = []
    root = f"{_CGROUPS}/{controller}" if old is not None else _CGROUPS
    folders = ["/".join([root, *parts[:depth]]) for depth in range(len(parts), -1, -1)]
    return (1 if old is not None else 2), folders


def tightest(
    host: Host, folders: list[str], name: str, parse: Callable[[str, str], tuple[T | None] | None]
) -> Fact[T | None]:
    """The smallest limit among the files ``name`` of a group and those above it; Known(None) when none sets any.

    ``parse`` takes text and folder and gives (limit,), (None,) for no limit, or None for nonsense. A folder without
    the file sets no limit where the answer is complete.
    """
    host.prefetch(f"read {folder}/{name}" for folder in folders)
    best: Known[T | None] | None = None
    gap: Unknown | None = None
    for folder in folders:
        answer = host.ask(f"read {folder}/{name}")
        if answer.status == "absent" and answer.complete:
            continue
        found = parse(answer.text, folder) if answer.ok else None
        if found is None:
            gap = gap or answer.unknown()
            continue
        limit = found[0]
        if best is None or best.value is None or (limit is not None and limit < best.value):  # type: ignore[operator]
            best = Known(limit, answer.source(1))
    if best is not None and (best.value is not None or gap is None):
        return best
    return gap or Known(None, host.ask("read /proc/self/cgroup").source(1))


def sysctl(host: Host, name: str, parse: Callable[[str], T | None]) -> Fact[T]:
    """A kernel setting ("vm/swappiness") from its file under /proc/sys, or from an output of sysctl."""
    answer = host.ask(f"read /proc/sys/{name}")
    if answer.ok:
        return as_fact(answer, parse)
    for _, output in outputs(host, "sysctl"):
        settings = parse_sysctl(output.text)
        key = name.replace("/", ".")
        text = settings.values.get(key)
        value = parse(text) if text is not None else None
        if value is not None:
            return Known(value, output.source(settings.lines.get(key)))
    return answer.unknown()
