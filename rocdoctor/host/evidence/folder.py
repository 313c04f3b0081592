"""Evidence that lies in a folder or an archive: a root file system's layout plus the outputs of commands.

Known layouts: ``files/`` or the folder itself as the root, ``commands/<command with spaces as _>``,
``sos_commands/<plugin>/<command>`` (sos reports). Such a tree is an excerpt: what it does not hold is unknown.
Symbolic links are followed by our own code and never lead out of the tree; so are links that a copy or a checkout
flattened into one-line files holding the target.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Protocol

from rocdoctor.host.base import MAX_ANSWER_BYTES, Answer, Kind, argv_of, normalise
from rocdoctor.host.live.named_path import READING

MAX_LINKS = 40
MAX_STEPS = 4096  # parts of one path and of the links on it: a path of the kernel has 4,096 characters
MAX_MATCHES = 10_000
MAX_NAMES = 50_000  # of one folder
# All answers together: many times what a machine's files amount to, and a bundle still holds it as base64.
MAX_TOTAL_BYTES = 40 * 1024 * 1024
# Folders that are held open, far below the number of files that a process may open.
_MAX_OPEN = 64
_CLOEXEC, _NOFOLLOW = getattr(os, "O_CLOEXEC", 0), getattr(os, "O_NOFOLLOW", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
_NAMED_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | _NOFOLLOW | _CLOEXEC
_IN_FOLDERS = os.open in os.supports_dir_fd and bool(_NOFOLLOW)


class TreeError(ValueError):
    """A folder or archive that cannot be read; the message says why."""


class FolderTree(Protocol):
    """Raw access by path parts, links not followed."""

    def kind(self, parts: tuple[str, ...]) -> str:
        """``dir``, ``file``, ``link``, ``denied``, or "" when there is nothing (or neither of these)."""
        ...

    def target(self, parts: tuple[str, ...]) -> str: ...

    def names(self, parts: tuple[str, ...]) -> list[str]: ...

    def data(self, parts: tuple[str, ...]) -> bytes: ...


class DiskTree:
    """A folder on disk, held open: what is looked up in it stays in it, whoever exchanges what lies on the way.

    Each folder is opened in the one above and never through a link. Where that is not possible (Windows) by its path.
    """

    def __init__(self, root: Path, descriptor: int | None = None) -> None:
        self.root = root
        self._lock = threading.Lock()
        self._open: OrderedDict[tuple[str, ...], int] = OrderedDict()
        self._top = descriptor if descriptor is not None or not _IN_FOLDERS else os.open(root, _FOLDER | _CLOEXEC)

    def __del__(self) -> None:
        for one in (*getattr(self, "_open", {}).values(), getattr(self, "_top", None)):
            with contextlib.suppress(OSError):
                if one is not None:
                    os.close(one)

    def _place(self, parts: tuple[str, ...]) -> tuple[str, int | None]:
        """(what to open, in which folder): OSError where that is none, or no folder of this tree any more."""
        if self._top is None:
            return os.path.join(self.root, *parts), None
        return (parts[-1], self._folder(parts[:-1])) if parts else (".", self._top)

    def _folder(self, parts: tuple[str, ...]) -> int:
        assert self._top is not None
        known = len(parts)
        while known and parts[:known] not in self._open:
            known -= 1
        if known:
            self._open.move_to_end(parts[:known])
        here = self._open[parts[:known]] if known else self._top
        for at in range(known, len(parts)):
            here = os.open(parts[at], _NAMED_FOLDER, dir_fd=here)
            self._open[parts[: at + 1]] = here
            if len(self._open) > _MAX_OPEN:
                os.close(self._open.popitem(last=False)[1])
        return here

    def kind(self, parts: tuple[str, ...]) -> str:
        try:
            with self._lock:
                name, folder = self._place(parts)
                mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        except PermissionError:
            return "denied"
        except (OSError, ValueError):
            return ""
        if stat.S_ISLNK(mode):
            return "link"
        return "dir" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else ""

    def target(self, parts: tuple[str, ...]) -> str:
        try:
            with self._lock:
                name, folder = self._place(parts)
                return os.readlink(name, dir_fd=folder)
        except OSError:
            return ""

    def names(self, parts: tuple[str, ...]) -> list[str]:
        try:
            return self.listed(parts)
        except (OSError, ValueError):
            return []

    def listed(self, parts: tuple[str, ...]) -> list[str]:
        """The names in a folder; raises OSError where it cannot be looked into."""
        with self._lock:
            name, folder = self._place(parts)
            place: str | int = name
            if folder is not None:
                place = os.open(name, _FOLDER | _NOFOLLOW | _CLOEXEC, dir_fd=folder)
        try:
            with os.scandir(place) as entries:
                return sorted(entry.name for entry in islice(entries, MAX_NAMES))
        finally:
            if isinstance(place, int):
                os.close(place)

    def data(self, parts: tuple[str, ...], most: int = MAX_ANSWER_BYTES + 1) -> bytes:
        with self._lock:
            name, folder = self._place(parts)
            descriptor = os.open(name, READING | _NOFOLLOW, dir_fd=folder)
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError("not a regular file")
            return stream.read(most)


def split(path: str) -> tuple[str, ...]:
    """The parts of a path; ``.`` and empty ones dropped."""
    return tuple(part for part in path.split("/") if part not in ("", "."))


@dataclass(frozen=True, slots=True)
class _Led:
    """Where a link leads (None: nowhere), and the steps and links that it takes to get there.

    ``over``: not to be said, since that many steps and links did not suffice.
    """

    to: tuple[str, ...] | None
    steps: int
    links: int
    over: bool = False


# By root, place of the link, and whether the path goes on behind it: only then a one-line file may be a link.
Links = dict[tuple[tuple[str, ...], tuple[str, ...], bool], _Led]


class _TooFar(Exception):
    """A path that takes more steps or links than any real one."""


def resolve(tree: FolderTree, root: tuple[str, ...], path: str, known: Links | None = None) -> tuple[str, ...] | None:
    """The parts of what a path leads to inside ``root``, links followed; None when it leads nowhere.

    ``known`` keeps where links lead, for a tree that does not change. Like the kernel this follows 40 links in all.
    """
    try:
        return _Walk(tree, root, {} if known is None else known).to(root, path)
    except _TooFar:
        return None


class _Walk:
    """One resolution: what is left of its steps and links."""

    def __init__(self, tree: FolderTree, root: tuple[str, ...], known: Links) -> None:
        self.tree, self.root, self.known = tree, root, known
        self.steps, self.links = MAX_STEPS, MAX_LINKS

    def to(self, here: tuple[str, ...], path: str, goes_on: bool = False) -> tuple[str, ...] | None:
        todo = split(path)
        for at, part in enumerate(todo, 1):
            self._spend(1, 0)
            if part == "..":
                here = here[:-1] if len(here) > len(self.root) else self.root
                continue
            step = (*here, part)
            kind = self.tree.kind(step)
            behind = goes_on or at < len(todo)
            if kind == "link" or (kind == "file" and behind):
                found = self._link(here, step, kind, behind)
                if found is None:
                    return None
                here = found
            elif kind in ("dir", "file", "denied"):
                here = step
            else:
                return None
        return here

    def _spend(self, steps: int, links: int) -> None:
        self.steps, self.links = self.steps - steps, self.links - links
        if self.steps < 0 or self.links < 0:
            raise _TooFar

    def _link(self, here: tuple[str, ...], step: tuple[str, ...], kind: str, behind: bool) -> tuple[str, ...] | None:
        key = self.root, step, behind
        before = self.known.get(key)
        if before is not None and before.over and self.steps <= before.steps and self.links <= before.links:
            raise _TooFar
        if before is not None and not before.over:
            self._spend(before.steps, before.links)
            return before.to
        steps, links = self.steps, self.links
        try:
            self._spend(0, 1)
            target = self.tree.target(step) if kind == "link" else _flattened(self.tree, step)
            found = self.to(self.root if target.startswith("/") else here, target, behind) if target else None
        except _TooFar:
            self.known[key] = _Led(None, steps, links, over=True)
            raise
        self.known[key] = _Led(found, steps - self.steps, links - self.links)
        return found


def _flattened(tree: FolderTree, parts: tuple[str, ...]) -> str:
    """The target of a link that became a one-line file; "" when the file is something else."""
    try:
        text = tree.data(parts)[:4097].decode("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return text if len(text) <= 4096 and re.fullmatch(r"(\.\./|/|\./)?[^\s\0]+", text) and "/" in text else ""


class TreeHost:
    """A host that answers from a tree of files."""

    kind: Kind = "folder"

    def __init__(self, tree: FolderTree, origin: str) -> None:
        self.tree = tree
        self.origin = origin
        self.notes: tuple[str, ...] = getattr(tree, "notes", ())
        self._sizes: dict[tuple[str, ...], int] = {}
        self._links: Links = {}
        base = self._base()
        self.root = (*base, "files") if tree.kind((*base, "files")) == "dir" else base
        self.commands = self._index_commands(base)
        if not self.commands and not any(tree.kind((*self.root, name)) for name in ("sys", "proc", "etc", "dev")):
            raise TreeError("no sys, proc, etc, files, commands or sos_commands folder in it")

    def _base(self) -> tuple[str, ...]:
        """Where the layout begins: the folder itself, or the single folder inside it (archives of reports)."""
        base: tuple[str, ...] = ()
        for _ in range(4):
            names = self.tree.names(base)
            if {"files", "commands", "sos_commands", "sys", "proc", "etc"} & set(names):
                break
            folders = [name for name in names if self.tree.kind((*base, name)) == "dir"]
            if len(folders) != 1:
                break
            base = (*base, folders[0])
        return base

    def _index_commands(self, base: tuple[str, ...]) -> dict[str, list[tuple[str, ...]]]:
        """``run ...`` question -> the files that hold its output (several when a suffix tells them apart)."""
        found: dict[str, list[tuple[str, ...]]] = {}
        places = [(*base, "commands")]
        sos = (*base, "sos_commands")
        places += [(*sos, name) for name in self.tree.names(sos)]
        for place in places:
            # A link in the place of one of these folders could lead anywhere.
            for name in self.tree.names(place) if resolve(self.tree, (), "/".join(place)) == place else ():
                if name.isprintable() and self.tree.kind((*place, name)) in ("file", "link"):
                    plain, dot, suffix = name.rpartition(".")
                    repeated = dot and re.fullmatch(r"(gpu)?\d{1,3}", suffix)
                    question = "run " + (plain if repeated else name).replace("_", " ").strip()
                    found.setdefault(question, []).append((*place, name))
        return found

    def available(self) -> tuple[str, ...]:
        return tuple(self.commands)

    def prefetch(self, questions: Iterable[str]) -> None:
        pass

    def ask(self, question: str) -> Answer:
        verb, _, rest = question.partition(" ")
        if verb == "read":
            return self._read(question, self._resolved(rest))
        if verb == "list":
            return Answer(question, "ok", "\n".join(self._glob(rest)).encode(), complete=False)
        if verb == "link":
            parts = self._resolved(rest)
            if parts is None:
                return Answer(question, "not-asked", complete=False)
            return Answer(question, "ok", ("/" + "/".join(parts[len(self.root) :])).encode(), complete=False)
        if verb == "run":
            return self._command(question)
        return Answer(question, "not-asked", complete=False)

    def _resolved(self, path: str) -> tuple[str, ...] | None:
        return resolve(self.tree, self.root, path, self._links)

    def _read(self, question: str, parts: tuple[str, ...] | None) -> Answer:
        kind = self.tree.kind(parts) if parts is not None else ""
        if parts is None or kind in ("", "dir"):
            return Answer(question, "not-asked", complete=False)
        if kind == "denied":
            return Answer(question, "denied", complete=False)
        try:
            data = self.tree.data(parts)
        except PermissionError:
            return Answer(question, "denied", complete=False)
        except OSError as error:
            return Answer(question, "failed", note=str(error), complete=False)
        cut = len(data) > MAX_ANSWER_BYTES
        self._sizes[parts] = min(len(data), MAX_ANSWER_BYTES)
        if sum(self._sizes.values()) > MAX_TOTAL_BYTES:
            del self._sizes[parts]
            why = f"left out, because the evidence read so far is larger than {MAX_TOTAL_BYTES // 2**20} MiB"
            return Answer(question, "failed", note=why, complete=False)
        return Answer(question, "ok", normalise(data[:MAX_ANSWER_BYTES]), truncated=cut, complete=False)

    def _command(self, question: str) -> Answer:
        argv = argv_of(question)
        spelled = "run " + " ".join(argv).replace("/", ".").replace("_", " ") if argv else question
        files = self.commands.get(question) or self.commands.get(spelled) or []
        answers = [self._read(question, resolve(self.tree, (), "/".join(parts))) for parts in files]
        good = [answer for answer in answers if answer.ok]
        if len(good) <= 1:
            return (good or answers or [Answer(question, "not-asked", complete=False)])[0]
        data = b"\n".join(answer.data for answer in good)
        return Answer(question, "ok", data[:MAX_ANSWER_BYTES], complete=False)

    def _glob(self, pattern: str) -> list[str]:
        """Matches of a pattern, without following links out; links that lead somewhere count as what they lead to."""
        found = [""]
        for wanted in split(pattern):
            following: list[str] = []
            for prefix in found:
                if len(following) >= MAX_MATCHES:
                    break
                if not any(sign in wanted for sign in "*?["):
                    if self._resolved(f"{prefix}/{wanted}") is not None:
                        following.append(f"{prefix}/{wanted}")
                    continue
                parts = self._resolved(prefix)
                names = self.tree.names(parts) if parts is not None else []
                following += [f"{prefix}/{name}" for name in names if name.isprintable() and fnmatchcase(name, wanted)]
            found = following[:MAX_MATCHES]
        return sorted(found)
