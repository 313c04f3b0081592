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
from rocdoctor.fixes.files import Refused, Seen, digest_of
from rocdoctor.host.new_file import write_new
from rocdoctor.host.regular import read_regular
from rocdoctor.lazy_re import regex

SCHEMA = "rocdoctor.fixes/1"
_LIST = "list.json"
_MOST_BYTES = 4 << 20
_COPY = regex(r"copy-[0-9]{1,4}\Z")


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


class Journal:
    """The list and the copies of one run."""

    def __init__(self, folder: Path, entries: list[Entry], root: str) -> None:
        self.folder = folder
        self.entries = entries
        self.root = root

    @classmethod
    def make(cls, state: Path, root: Path) -> Journal:
        """A new folder below ``state``, closed to others; raises Refused."""
        name = time.strftime("%Y%m%d-%H%M%S", time.gmtime()) + f"-{secrets.token_hex(2)}"
        folder = state / name
        try:
            folder.mkdir(mode=0o700)
        except OSError as error:
            raise Refused(f"{folder}: {error.strerror or error}") from None
        journal = cls(folder, [], str(root))
        journal._write()
        return journal

    def keep(self, path: str, seen: Seen | None) -> Copy:
        """Copy a file into the folder before it is changed."""
        if seen is None:
            return Copy(path)
        name = f"copy-{sum(1 for _ in self.folder.glob('copy-*')) + 1}"
        _put(self.folder / name, seen.data)
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
            data = read_regular(self.folder / copy.copy, _MOST_BYTES)
        except OSError as error:
            raise Refused(f"its copy {copy.copy} cannot be read ({error.strerror})") from None
        if digest_of(data) != copy.digest:
            raise Refused(f"its copy {copy.copy} has been changed")
        return data

    def _write(self) -> None:
        data = {
            "schema": SCHEMA, "tool": __version__, "root": self.root, "entries": [asdict(one) for one in self.entries]
        }  # fmt: skip
        _put(self.folder / _LIST, json.dumps(data, indent=1).encode())


def _put(path: Path, data: bytes) -> None:
    """Write a file of the folder; raises Refused, so that nothing is changed without a copy."""
    try:
        write_new(path, data, 0o600, replace=True)
    except OSError as error:
        raise Refused(f"{path}: {error.strerror or error}, and nothing is changed without a copy") from None


def opened(folder: Path, uid: int, root: Path) -> Journal:
    """The folder of an earlier run.

    Raises:
        Refused: it is none, or not the user's alone: what stands in it would be written and run.
    """
    try:
        status = os.lstat(folder)
        if not stat.S_ISDIR(status.st_mode):
            raise Refused(f"{folder}: no folder of rocdoctor fix")
        for path, one in ((folder, status), (folder / _LIST, os.lstat(folder / _LIST))):
            if one.st_uid != uid:
                raise Refused(f"{path}: it belongs to somebody else; undo it as the user who applied the fixes")
            if one.st_mode & 0o077:
                raise Refused(f"{path}: others can read or change it, so it is not trusted")
            if path != folder and not stat.S_ISREG(one.st_mode):
                raise Refused(f"{path}: no regular file")
        data = json.loads(read_regular(folder / _LIST, _MOST_BYTES))
    except FileNotFoundError:
        raise Refused(f"{folder}: no folder of rocdoctor fix") from None
    except OSError as error:
        raise Refused(f"{folder}: {error.strerror or error}") from None
    except ValueError:
        raise Refused(f"{folder / _LIST}: damaged") from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA or not isinstance(data.get("entries"), list):
        raise Refused(f"{folder / _LIST}: damaged, or of another release of rocdoctor")
    if data.get("root") != str(root):
        raise Refused(f"{folder}: it was made for another machine's root ({data.get('root')})")
    try:
        return Journal(folder, [_entry(one) for one in data["entries"]], str(root))
    except (KeyError, TypeError, ValueError):
        raise Refused(f"{folder / _LIST}: damaged") from None


def _entry(raw: Any) -> Entry:
    copies = tuple(Copy(**one) for one in raw["copies"])
    undo = tuple(tuple(words) for words in raw["undo"])
    named = {one.name: raw[one.name] for one in fields(Entry)}
    entry = Entry(**{**named, "copies": copies, "undo": undo, "words": tuple(raw["words"])})
    texts = [entry.check, entry.path, entry.old, entry.new, *entry.words, *(word for words in undo for word in words)]
    texts += [text for copy in copies for text in (copy.path, copy.copy, copy.digest)]
    if entry.kind not in ("edit", "kernel", "command") or not all(isinstance(text, str) for text in texts):
        raise ValueError
    paths = [entry.path, *(copy.path for copy in copies)]
    if any(path and (not path.startswith("/") or ".." in path.split("/")) for path in paths):
        raise ValueError
    if any(copy.copy and not _COPY.match(copy.copy) for copy in copies):
        raise ValueError
    return entry


@contextlib.contextmanager
def alone(state: Path, uid: int) -> Iterator[None]:
    """Hold the lock of the folder of backups, which is made where it is missing.

    Raises:
        Refused: another run holds it, or the folder cannot be made or belongs to somebody else.
    """
    import fcntl  # which Windows lacks, where fixes of evidence are shown all the same

    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = os.lstat(state)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != uid or status.st_mode & 0o022:
            raise Refused(f"{state}: backups go to a folder of yours that others cannot change")
        descriptor = os.open(state / ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Refused(f"{state}: {error.strerror or error}") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Refused("another rocdoctor fix is at work on this machine: wait until it has ended") from None
        yield
    finally:
        os.close(descriptor)
