"""Which libraries a program loads, and which of them somebody else can change.

The loader looks names up in folders that the file names (RPATH, RUNPATH), in those of LD_LIBRARY_PATH, in its cache and
in folders of its own; programs have it load more by name while they run. So all these folders count, and in them each
file whose name stands in the program or in a library of it. Layouts: ``include/uapi/linux/elf.h``; of the cache
``sysdeps/generic/dl-cache.h`` of glibc.
"""

from __future__ import annotations

import contextlib
import errno
import os
import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from rocdoctor.host.live.folder_names import TooManyNamesError, matching
from rocdoctor.host.live.regular_files import open_regular
from rocdoctor.host.live.trust import Weakness, weaknesses
from rocdoctor.host.live.trusted_content import doubtful_in, entries

CACHE = "/etc/ld.so.cache"
_OWN = ("/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib")  # of the loader, and for systems without a cache
_MAGIC = b"glibc-ld.so.cache1.1"
_MOST_CACHE_BYTES = 16 << 20
_MOST_ROWS, _MOST_NAMES = 256, 4096
_LONGEST, _MOST_TEXT = 64 << 10, 1 << 20  # of a name or a list of folders, and of all that one file names
_MOST_LIBRARIES = 2000
# Of a program and its libraries: names times folders, and what is read for names that stand in them. Thirty times the
# most that torch needs.
_MOST_LOOKS, _MOST_SEARCHED = 1_000_000, 16 << 30
_BLOCK, _OVERLAP = 1 << 18, 256
_LOAD, _DYNAMIC = 1, 2  # kinds of segments
# What the dynamic section says: names of libraries (also those for auditing and filtering), and folders.
_NAMES = (1, 0x6FFFFEFB, 0x6FFFFEFC, 0x7FFFFFFD, 0x7FFFFFFF)
_FOLDERS = (15, 29)
_TABLE, _TABLE_BYTES = 5, 10


@dataclass(frozen=True, slots=True)
class Linked:
    """What an ELF file tells the loader: names of libraries, and folders where to look.

    ``endless``: it names more than any library does: all its tags may lead to one long text.
    """

    names: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    endless: bool = False


class Libraries:
    """What was seen of libraries so far; programs share most of them."""

    def __init__(self, cache: str = CACHE) -> None:
        self._cached = frozenset(cached_folders(cache))
        usual = dict.fromkeys([*self._cached, *_OWN])
        better: list[str] = []
        for folder in usual:
            with contextlib.suppress(TooManyNamesError):  # then it is not root's, and counts as it is
                better += matching("glibc-hwcaps/*", folder)
        self._usual = (*usual, *better)
        self._weak: dict[str, dict[str, Weakness]] = {}
        self._linked: dict[str, Linked | None] = {}

    def weak_of(self, program: str) -> Iterator[Weakness]:
        """Where somebody else can change what a program has loaded, and the folders where it is looked for.

        Raises OSError where it names more than can be looked for.
        """
        files, folders = self._closure(program)
        weak: dict[str, Weakness] = {}
        for folder in folders if files else ():
            found = self._in(folder)
            if folder in self._usual:  # where all programs look: what this one names
                for name, one in found.items():
                    weak.setdefault(name, one)
            else:
                yield from found.values()
        if "" in weak:  # anything may be put there
            yield weak.pop("")
        if weak:
            named = _named_in_all(files, weak)
            yield from (one for name, one in weak.items() if name in named)

    def _closure(self, program: str) -> tuple[list[str], list[str]]:
        """(the program and its libraries, all folders where these are looked for); ([], []) where it is no ELF file."""
        files: dict[str, None] = {}
        folders = dict.fromkeys(self._usual)
        todo = [os.path.realpath(program)]
        names: dict[str, None] = {}
        looks = 0
        while todo:
            file = todo.pop()
            if file in files or (linked := self._of(file)) is None:
                continue
            if linked.endless or len(files) >= _MOST_LIBRARIES:
                raise OSError(errno.E2BIG, "names more libraries than can be looked for", file)
            files[file] = None
            fresh = [one for one in linked.names if one not in names]
            names.update(dict.fromkeys(fresh))
            added = [one for one in linked.folders if one not in folders]
            folders.update(dict.fromkeys(added))
            looks += len(fresh) * (len(folders) - len(added)) + len(names) * len(added)
            if looks > _MOST_LOOKS:
                raise OSError(errno.E2BIG, "names more libraries than can be looked for", file)
            new = frozenset(added)
            for folder in folders:
                for name in names if folder in new else fresh:
                    path = os.path.join(folder, name)
                    if os.path.lexists(path):
                        todo.append(os.path.realpath(path))
        return list(files), list(folders)

    def _of(self, path: str) -> Linked | None:
        if path not in self._linked:
            self._linked[path] = linked(path)
        return self._linked[path]

    def _in(self, folder: str) -> dict[str, Weakness]:
        """The libraries of a folder that are weak, by name; by "" the folder itself."""
        if folder not in self._weak:
            self._weak[folder] = _weak_in(folder, folder in self._cached)
        return self._weak[folder]


def _weak_in(folder: str, listed: bool) -> dict[str, Weakness]:
    """``listed``: only what the loader's cache lists is taken from there, so nothing that somebody may put there."""
    found: dict[str, Weakness] = {}
    try:
        weak = weaknesses(folder, missing_ok=True)
    except OSError as error:
        weak = [Weakness(folder, None, f"cannot be judged ({error.strerror})")]
    if weak:
        return dict.fromkeys([one.name for one in entries(folder)] if listed else [""], weak[0])
    for path in doubtful_in(folder):
        name = os.path.basename(path)
        if ".so" not in name:
            continue
        with contextlib.suppress(OSError):  # a link to nothing
            if weak := weaknesses(path):
                found[name] = weak[0]
    return found


def _named_in_all(files: Collection[str], names: Collection[str]) -> set[str]:
    """Those of the names that stand in one of the files; all of them where the files are too long to be read."""
    found: set[str] = set()
    left = _MOST_SEARCHED
    for file in files:
        with contextlib.suppress(OSError):
            left -= os.stat(file).st_size  # whoever owns a library says how long it is, without a byte on the disk
        if left < 0:
            return set(names)
        found.update(_named_in(file, names))
    return found


def _named_in(path: str, names: Collection[str]) -> list[str]:
    """Those of the names that stand in a file as texts of their own, also at the end of a path."""
    wanted = {os.fsencode(name) + b"\0": name for name in names}
    found: dict[str, None] = {}
    before = b"\0"
    with contextlib.suppress(OSError), open_regular(Path(path)) as stream:
        while block := stream.read(_BLOCK):
            data = before + block
            found.update(dict.fromkeys(name for text, name in wanted.items() if text in data))
            before = data[-_OVERLAP:]
    return list(found)


def linked(path: str) -> Linked | None:
    """What a file tells the loader; None where it is no ELF file, or a damaged one, which starts no more."""
    try:
        with open_regular(Path(path)) as stream:
            return _linked(stream.fileno(), os.path.dirname(path))
    except (OSError, struct.error, OverflowError):
        return None


def _linked(file: int, origin: str) -> Linked | None:
    head = os.pread(file, 64, 0)
    if len(head) < 64 or head[:4] != b"\x7fELF" or head[4] not in (1, 2) or head[5] not in (1, 2):
        return None
    wide, order = head[4] == 2, "<" if head[5] == 1 else ">"
    (start,) = struct.unpack_from(order + ("Q" if wide else "I"), head, 32 if wide else 28)
    size, count = struct.unpack_from(order + "HH", head, 54 if wide else 42)
    raw = os.pread(file, size * min(count, _MOST_ROWS), start)
    form = order + ("I4xQQ8xQ16x" if wide else "III4xI12x")  # kind, place in the file, address, bytes in the file
    rows = [struct.unpack_from(form, raw, size * row) for row in range(len(raw) // size if size else 0)]
    where = next(((at, length) for kind, at, _, length in rows if kind == _DYNAMIC), None)
    if where is None:
        return Linked()
    pair = struct.Struct(order + ("QQ" if wide else "II"))
    data = os.pread(file, min(where[1], pair.size * _MOST_NAMES), where[0])
    said = list(pair.iter_unpack(data[: len(data) // pair.size * pair.size]))
    known = dict(said)
    table = known.get(_TABLE, 0)
    loaded = [row for row in rows if row[0] == _LOAD and row[2] <= table < row[2] + row[3]]
    at = loaded[0][1] + table - loaded[0][2] if loaded else None
    end = 0 if at is None else min(known.get(_TABLE_BYTES, 0), os.fstat(file).st_size - at)
    texts: dict[int, str] = {}
    left = _MOST_TEXT
    named = [(tag, place) for tag, place in dict.fromkeys(said) if tag in (*_NAMES, *_FOLDERS)]
    for place in dict.fromkeys(place for _, place in named):
        length = max(0, min(end - place, _LONGEST))
        text = b"" if at is None or not length else os.pread(file, length, at + place).partition(b"\0")[0]
        left -= len(text)
        if left < 0 or len(text) == _LONGEST:
            return Linked(endless=True)
        texts[place] = os.fsdecode(text)
    folders = [one for tag, place in named if tag in _FOLDERS for one in texts[place].split(":")]
    if len(folders) > _MOST_NAMES:
        return Linked(endless=True)
    return Linked(
        tuple(one for tag, place in named if tag in _NAMES and (one := texts[place])),
        tuple(os.path.normpath(os.path.join("/", _expanded(one, origin))) for one in folders),
    )


def _expanded(folder: str, origin: str) -> str:
    return folder.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)


def cached_folders(path: str = CACHE) -> list[str]:
    """The folders of the libraries in the loader's cache; [] where there is none of the usual form."""
    try:
        with open_regular(Path(path)) as stream:
            data = stream.read(
                min(os.fstat(stream.fileno()).st_size, _MOST_CACHE_BYTES)
            )  # all of it is set aside first
    except OSError:
        return []
    start = max(0, data.find(_MAGIC))  # an older table may stand before it
    head = len(_MAGIC) + 28
    if data[start : start + len(_MAGIC)] != _MAGIC or len(data) < start + head:
        return []
    (count,) = struct.unpack_from("=I", data, start + len(_MAGIC))
    rows = data[start + head : start + head + 24 * count]
    found: dict[str, None] = {}
    for row in range(len(rows) // 24):
        (place,) = struct.unpack_from("=I", rows, 24 * row + 8)
        end = data.find(b"\0", start + place)
        folder = os.path.dirname(os.fsdecode(data[start + place : end])) if end >= 0 else ""
        if os.path.isabs(folder):
            found[folder] = None
    return list(found)
