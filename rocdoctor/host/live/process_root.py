"""Files below the root folder of another process: a path is resolved inside it and never leads out.

``/proc/PID/root/etc/os-release`` may be an absolute link, which the kernel would follow from our own root. So each
component is opened by itself, links are read and followed here, and ``..`` ends at the root. That needs no kernel
feature (openat2 came with 5.6, and some containers forbid it), and nobody can exchange a component under way: what is
open stays what it is. Links of the kernel (``/proc/N/root``) are links like others.

Root looks with the rights of the process: who lives in a name space of his own may mount any file over one of his, also
files of the host that he may not read.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from rocdoctor.model.lazy_re import regex

if TYPE_CHECKING:
    import ctypes

PATH = regex(r"/proc/([0-9]{1,10})/root(/.*)?\Z", re.DOTALL)
_MAX_LINKS = 40
_MAX_MATCHES = 10_000
_MAX_NAMES = 50_000
_LOOK = getattr(os, "O_PATH", 0) | getattr(os, "O_CLOEXEC", 0)
# The kernel changes the groups of the calling thread, the C library those of all threads.
_SETGROUPS = {"x86_64": 116, "aarch64": 159, "riscv64": 159, "loongarch64": 159, "ppc64le": 81, "s390x": 206}


@dataclass(frozen=True, slots=True)
class Rights:
    """With whose rights files are looked at."""

    uid: int
    gid: int
    groups: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Root:
    """The root folder of a process, kept open, so that it stays that one; ``rights`` is None for our own."""

    descriptor: int
    rights: Rights | None


_roots: dict[int, Root] = {}


def pin(pid: int, rights: Rights | None) -> None:
    """Answer for this process from the root folder that it has at this moment; raises OSError."""
    descriptor = os.open(f"/proc/{pid}/root", _LOOK | os.O_DIRECTORY)
    old = _roots.get(pid)
    _roots[pid] = Root(descriptor, rights)
    if old is not None:
        os.close(old.descriptor)


@contextlib.contextmanager
def found(path: str) -> Iterator[tuple[int, str]]:
    """(a descriptor that only names the file, its path inside the root) of a path that ``PATH`` matches."""
    with _root(path) as (root, inner):
        descriptor, place = _walk(root, inner)
        try:
            yield descriptor, place
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def opened(path: str) -> Iterator[int]:
    """A regular file, opened for reading.

    Raises:
        OSError: it cannot be, or it is none.
    """
    with found(path) as (named, _):
        if not stat.S_ISREG(os.fstat(named).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        descriptor = os.open(f"/proc/self/fd/{named}", os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            yield descriptor
        finally:
            os.close(descriptor)


def head(path: str) -> str:
    """The part of a path that names the root folder."""
    match = PATH.match(path)
    assert match is not None
    return f"/proc/{match[1]}/root"


def listed(path: str) -> list[str]:
    """The paths that match (``*``, ``?`` and ``[`` in the parts of a path), sorted; raises OSError as opening does."""
    with _root(path) as (root, inner):
        parts = [part for part in inner.split("/") if part]
        matches = [head(path) + place for place in sorted(_matching(root, "", parts))]
        if not matches:  # also where the folder may not be looked into: then nothing is known of what it holds
            _names(root, os.path.dirname(re.split(r"[*?\[]", inner, maxsplit=1)[0]))
        return matches


# -- how it works


@contextlib.contextmanager
def _root(path: str) -> Iterator[tuple[int, str]]:
    match = PATH.match(path)
    assert match is not None
    pinned = _roots.get(int(match[1]))
    if pinned is not None:
        with _as(pinned.rights):
            yield pinned.descriptor, match[2] or "/"
        return
    descriptor = os.open(f"/proc/{match[1]}/root", _LOOK | os.O_DIRECTORY)
    try:
        yield descriptor, match[2] or "/"
    finally:
        os.close(descriptor)


def _walk(root: int, path: str) -> tuple[int, str]:
    """(an open descriptor of what a path leads to, its path inside the root)."""
    todo = list(reversed(path.split("/")))
    chain: list[tuple[int, str]] = [(os.dup(root), "")]  # the folders from the root to here
    links = 0
    try:
        while todo:
            part = todo.pop()
            if part in ("", "."):
                continue
            if part == "..":
                if len(chain) > 1:
                    os.close(chain.pop()[0])
                continue
            here = chain[-1][0]
            step = os.open(part, _LOOK | os.O_NOFOLLOW, dir_fd=here)
            if not stat.S_ISLNK(os.fstat(step).st_mode):
                chain.append((step, part))
                continue
            try:
                links += 1
                if links > _MAX_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
                target = os.readlink("", dir_fd=step)
            finally:
                os.close(step)
            todo.extend(reversed(target.split("/")))
            if target.startswith("/"):
                while len(chain) > 1:
                    os.close(chain.pop()[0])
        return os.dup(chain[-1][0]), "/" + "/".join(name for _, name in chain[1:])
    finally:
        for descriptor, _ in chain:
            os.close(descriptor)


def _matching(root: int, prefix: str, parts: Sequence[str]) -> list[str]:
    """What matches the rest of a pattern below a folder; a folder that cannot be read has no matches."""
    plain = 0
    while plain < len(parts) and not any(sign in parts[plain] for sign in "*?["):
        plain += 1
    prefix = "/".join([prefix, *parts[:plain]])
    if plain == len(parts):
        with contextlib.suppress(OSError):
            os.close(_walk(root, prefix)[0])
            return [prefix]
        return []
    result: list[str] = []
    names: list[str] = []
    with contextlib.suppress(OSError):
        names = _names(root, prefix)
    for name in names:
        hidden = name.startswith(".") and not parts[plain].startswith(".")
        if len(result) < _MAX_MATCHES and name.isprintable() and not hidden and fnmatchcase(name, parts[plain]):
            one, rest = f"{prefix}/{name}", parts[plain + 1 :]
            result += _matching(root, one, rest) if rest else [one]
    return result[:_MAX_MATCHES]


def _names(root: int, folder: str) -> list[str]:
    named, _ = _walk(root, folder)
    try:
        descriptor = os.open(f"/proc/self/fd/{named}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    finally:
        os.close(named)
    try:
        with os.scandir(descriptor) as entries:  # one after the other: there may be millions
            return sorted(entry.name for entry in islice(entries, _MAX_NAMES))
    finally:
        os.close(descriptor)


# -- the rights of another user, for this thread alone


@contextlib.contextmanager
def _as(rights: Rights | None) -> Iterator[None]:
    """Look at files with the rights of another user; raises OSError where that is not possible."""
    if rights is None:
        yield
        return
    import ctypes

    library = _library()
    before = os.getgroups()
    uid, gid = library.setfsuid(-1), library.setfsgid(-1)
    try:
        _set_groups(library, rights.groups)
        library.setfsgid(ctypes.c_uint32(rights.gid))
        library.setfsuid(ctypes.c_uint32(rights.uid))
        if (library.setfsuid(-1), library.setfsgid(-1)) != (rights.uid, rights.gid):
            raise PermissionError(errno.EPERM, "files cannot be looked at with the rights of the job")
        yield
    finally:
        library.setfsuid(ctypes.c_uint32(uid))
        library.setfsgid(ctypes.c_uint32(gid))
        _set_groups(library, before)


@cache
def _library() -> ctypes.CDLL:
    import ctypes

    return ctypes.CDLL(None, use_errno=True)


def _set_groups(library: ctypes.CDLL, groups: Sequence[int]) -> None:
    import ctypes

    number = _SETGROUPS.get(os.uname().machine)
    if number is None:
        raise OSError(errno.ENOSYS, "files of another user's job cannot be looked at on this architecture")
    array = (ctypes.c_uint32 * max(1, len(groups)))(*groups)
    if library.syscall(number, ctypes.c_long(len(groups)), array) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
