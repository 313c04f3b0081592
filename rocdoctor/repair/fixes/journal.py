"""The folder of one ``fix --apply``: a copy of every file before it is changed, and the list of what was done.

Each step is written down before it is done, so an interrupted run can be taken back too. One run at a time: a lock
beside the folders.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import stat
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from rocdoctor import __version__
from rocdoctor.host.live.new_file import write_new
from rocdoctor.host.live.only_one import only_one
from rocdoctor.host.live.regular_files import READING, read_opened
from rocdoctor.host.live.trust import owner_of, privileged, weaknesses
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.shell_command import ShellCommand, shell
from rocdoctor.repair.fixes.known_changes import is_kernel, is_startup, is_undoing
from rocdoctor.repair.fixes.target_machine import TargetMachine
from rocdoctor.repair.fixes.user_files import Refused, SeenFile, digest_of

SCHEMA = "rocdoctor.fixes/1"
_LIST = "list.json"
_MOST_BYTES = 4 << 20
_COPY = regex(r"copy-[0-9]{1,4}\Z")
_DIGEST = regex(r"[0-9a-f]{64}\Z")
_OURS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC if hasattr(os, "O_DIRECTORY") else 0


@dataclass(frozen=True, slots=True)
class Copy:
    """A file before the step. ``copy`` is the name in the folder, "" where there was no file; times in ns."""

    path: str
    copy: str = ""
    digest: str = ""
    mode: int = 0
    mtime_ns: int = 0


@dataclass(frozen=True, slots=True)
class Entry:
    """One step. ``old`` and ``new`` are words of the kernel (``edit``: digests of the file); ``undo`` are commands."""

    kind: Literal["edit", "kernel", "command"]
    check: str
    state: Literal["begun", "done", "failed", "undone"] = "begun"
    path: str = ""
    old: str = ""
    new: str = ""
    words: tuple[str, ...] = ()
    undo: tuple[tuple[str, ...], ...] = ()
    copies: tuple[Copy, ...] = ()


class Folder:
    """The folder of a run, kept open: whatever becomes of its path, this one is read and written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.descriptor = os.open(path, _OURS)

    def __del__(self) -> None:
        with contextlib.suppress(OSError, AttributeError):
            os.close(self.descriptor)

    def read(self, name: str, uid: int | None = None) -> bytes:
        """The content of one of its files, which has to be ``uid``'s alone; raises OSError or Refused."""
        path = self.path / name
        if not stat.S_ISREG(os.stat(name, dir_fd=self.descriptor, follow_symlinks=False).st_mode):
            raise Refused(f"{path}: no regular file")
        descriptor = os.open(name, READING | os.O_NOFOLLOW, dir_fd=self.descriptor)
        if uid is not None:
            try:
                _judge(path, descriptor, uid)
            except Refused:
                os.close(descriptor)
                raise
        return read_opened(descriptor, path, _MOST_BYTES)

    def put(self, name: str, data: bytes) -> None:
        """Write one of its files; raises Refused, so that nothing is changed without a copy."""
        path = self.path / name
        try:
            write_new(path, data, 0o600, replace=True, folder=self.descriptor)
        except OSError as error:
            raise Refused(f"{path}: {error.strerror or error}, and nothing is changed without a copy") from None


def undoing(folder: Path) -> ShellCommand:
    """The command that takes back what was done with the copies in a folder."""
    return shell("rocdoctor fix --undo {folder:path}", folder=str(folder))


class Journal:
    """The list and the copies of one run."""

    def __init__(self, kept: Folder, entries: list[Entry], root: str) -> None:
        self.kept = kept
        self.entries = entries
        self.root = root

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return self.kept.path

    @property
    def back(self) -> ShellCommand:
        """The command that takes back what the list holds."""
        return undoing(self.folder)

    @classmethod
    def make(cls, state: Path, root: Path) -> Journal:
        """A new folder below ``state``, closed to others; raises Refused."""
        name = time.strftime("%Y%m%d-%H%M%S", time.gmtime()) + f"-{secrets.token_hex(2)}"
        folder = state / name
        try:
            folder.mkdir(mode=0o700)
            kept = Folder(folder)
        except OSError as error:
            raise Refused(f"{folder}: {error.strerror or error}") from None
        journal = cls(kept, [], str(root))
        journal._write()
        return journal

    def keep(self, path: str, seen: SeenFile | None) -> Copy:
        """Copy a file into the folder before it is changed."""
        if seen is None:
            return Copy(path)
        name = f"copy-{sum(one.startswith('copy-') for one in os.listdir(self.kept.descriptor)) + 1}"
        self.kept.put(name, seen.data)
        return Copy(path, name, seen.digest, seen.mode, seen.mtime_ns)

    def begin(self, entry: Entry) -> int:
        """Write a step down; the number by which ``end`` knows it."""
        self.entries.append(entry)
        self._write()
        return len(self.entries) - 1

    def end(self, number: int, state: Literal["done", "failed", "undone"], new: str | None = None) -> None:
        """Write down how a step ended.

        A full disk changes nothing about the step, and undoing looks at the files and not at this word alone.
        """
        entry = self.entries[number]
        self.entries[number] = replace(entry, state=state, new=entry.new if new is None else new)
        with contextlib.suppress(Refused):
            self._write()

    def copied(self, copy: Copy) -> bytes:
        """The content of a copy; raises Refused where it is gone or another."""
        try:
            data = self.kept.read(copy.copy)
        except OSError as error:
            raise Refused(f"its copy {copy.copy} cannot be read ({error.strerror})") from None
        if digest_of(data) != copy.digest:
            raise Refused(f"its copy {copy.copy} has been changed")
        return data

    def _write(self) -> None:
        data = {
            "schema": SCHEMA,
            "tool": __version__,
            "root": self.root,
            "entries": [asdict(one) for one in self.entries],
        }
        self.kept.put(_LIST, json.dumps(data, indent=1).encode())


def opened(folder: Path, place: TargetMachine) -> Journal:
    """The folder of an earlier run, judged and read through one descriptor.

    Raises:
        Refused: it is none, or not the user's alone (what stands in it would be written and run), or it is damaged, or
            names what no fix can have done.
    """
    if folder.is_symlink():
        raise Refused(f"{folder}: a symbolic link, which is not followed: name the folder that it leads to")
    try:
        if found := weaknesses(os.path.join(os.getcwd(), folder)) if privileged() else []:
            raise Refused(f"{found[0]}, so the contents of {folder} are not trusted: this would be done as root")
        kept = Folder(folder)
        os.stat(_LIST, dir_fd=kept.descriptor, follow_symlinks=False)  # a folder without a list is none of ours
        _judge(folder, kept.descriptor, place.uid)
        data = kept.read(_LIST, place.uid)
    except (FileNotFoundError, NotADirectoryError):
        raise Refused(f"{folder}: no folder of rocdoctor fix") from None
    except OSError as error:
        raise Refused(f"{folder}: {error.strerror or error}") from None
    return Journal(kept, _entries(data, folder / _LIST, place), str(place.root))


def _judge(path: Path, descriptor: int, uid: int) -> None:
    status = os.fstat(descriptor)
    if owner_of(status, descriptor) != uid:
        raise Refused(f"{path}: it belongs to somebody else; undo it as the user who applied the fixes")
    if status.st_mode & 0o077:
        raise Refused(f"{path}: others can read or change it, so it is not trusted")


def _entries(text: bytes, path: Path, place: TargetMachine) -> list[Entry]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise Refused(f"{path}: damaged") from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA or not isinstance(data.get("entries"), list):
        raise Refused(f"{path}: damaged, or from another release of rocdoctor")
    root = data.get("root")
    if not isinstance(root, str):
        raise Refused(f"{path}: damaged")
    if root != str(place.root):
        raise Refused(f"{path.parent}: it was made for another machine's root ({root[:200]})")
    entries = []
    for number, raw in enumerate(data["entries"], 1):
        try:
            entry = _entry(raw)
        except (KeyError, TypeError, ValueError):
            raise Refused(f"{path}: damaged (entry {number})") from None
        if not _possible(entry, place):
            raise Refused(f"{path}: entry {number} names what rocdoctor fix never does, so nothing of it is undone")
        entries.append(entry)
    return entries


def _entry(raw: Any) -> Entry:
    """One step as it stands in the list; raises KeyError, TypeError or ValueError where something has another form."""
    named = {one.name: raw[one.name] for one in fields(Entry)}
    kind, state = named["kind"], named["state"]
    if kind not in ("edit", "kernel", "command") or state not in ("begun", "done", "failed", "undone"):
        raise ValueError
    texts = {name: _text(named[name]) for name in ("check", "path", "old", "new")}
    undo = tuple(_texts(words) for words in _list(named["undo"]))
    copies = tuple(_copy(one) for one in _list(named["copies"]))
    return Entry(kind, state=state, words=_texts(named["words"]), undo=undo, copies=copies, **texts)


def _copy(raw: Any) -> Copy:
    named = {one.name: raw[one.name] for one in fields(Copy)}
    path, copy, digest = (_text(named[name]) for name in ("path", "copy", "digest"))
    mode, mtime_ns = named["mode"], named["mtime_ns"]
    if type(mode) is not int or type(mtime_ns) is not int or not 0 <= mode <= 0o7777 or abs(mtime_ns) >= 1 << 63:
        raise ValueError
    if (copy or digest) and not (_COPY.match(copy) and _DIGEST.match(digest)):
        raise ValueError
    return Copy(path, copy, digest, mode, mtime_ns)


def _list(raw: Any) -> list[Any]:
    if not isinstance(raw, list):
        raise TypeError
    return raw


def _texts(raw: Any) -> tuple[str, ...]:
    return tuple(_text(one) for one in _list(raw))


def _text(raw: Any) -> str:
    if not isinstance(raw, str):
        raise TypeError
    if b"\0" in os.fsencode(raw):  # which is a ValueError for half of a pair of surrogates
        raise ValueError
    return raw


def _possible(entry: Entry, place: TargetMachine) -> bool:
    """Whether a fix can have done it: nothing else is taken back, whoever wrote it down."""
    if entry.kind == "command":
        changes = [copy.path for copy in entry.copies]
        return not entry.path and is_undoing(entry.words, entry.undo, changes)
    if entry.words or entry.undo:
        return False
    if entry.kind == "kernel":
        return not entry.copies and is_kernel(entry.path, entry.old, entry.new)
    return (
        is_startup(entry.path, place.home)
        and [(copy.path, copy.digest) for copy in entry.copies] == [(entry.path, entry.old)]
        and all(_DIGEST.match(digest) for digest in (entry.old, entry.new))
    )


@contextlib.contextmanager
def alone(state: Path, uid: int) -> Iterator[None]:
    """Hold the lock of the folder of backups, which is made where it is missing.

    Raises:
        Refused: another run holds it, or the folder cannot be made or belongs to somebody else.
    """
    with contextlib.ExitStack() as held:
        try:
            _folder_of_ours(state, uid)
            held.enter_context(only_one(state / ".lock"))
        except BlockingIOError:
            raise Refused("another rocdoctor fix is at work on this machine: wait until it has ended") from None
        except OSError as error:
            raise Refused(f"{state}: {error.strerror or error}") from None
        yield


def _folder_of_ours(state: Path, uid: int) -> None:
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = os.lstat(state)
    if not stat.S_ISDIR(status.st_mode) or owner_of(status, state) != uid or status.st_mode & 0o022:
        raise Refused(f"{state}: backups go to a folder of yours that others cannot change")
