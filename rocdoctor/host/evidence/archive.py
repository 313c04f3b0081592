"""Evidence that lies in a tar archive: bounded in time, memory and disk whatever its headers say."""

from __future__ import annotations

import io
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from rocdoctor.host.base import MAX_ANSWER_BYTES
from rocdoctor.host.evidence.decompress import Damaged, is_packed, unpacked
from rocdoctor.host.evidence.folder import TreeError, split

MAX_MEMBERS = 150_000
MAX_TOTAL_BYTES = 1024 * 1024 * 1024
_MAX_DEPTH = 64
_MAX_NAME = 4096
_MAX_READ = 1024 * 1024
# Of long names and extended headers, which are made of records as short as six bytes.
_MAX_EXTENDED = 32 * 1024 * 1024
_MAX_IN_MEMORY = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Member:
    """What is kept of an archive's member: far less than a TarInfo, since there may be very many."""

    kind: str
    target: str = ""
    begin: int = 0
    size: int = 0


class _Bounded:
    """A file whose single reads are bounded: the sizes in an archive's headers are anybody's."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.seek, self.tell = stream.seek, stream.tell
        self.extended = _MAX_EXTENDED

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _MAX_READ:
            raise tarfile.ReadError(f"a header of {size} bytes")
        if size > tarfile.BLOCKSIZE:
            self.extended -= size
        if self.extended < 0:
            raise tarfile.ReadError(f"extended headers of more than {_MAX_EXTENDED // 2**20} MiB")
        return self.stream.read(size)


class TarTree:
    """A tar archive (plain, gz, bz2, xz); members outside the archive's own tree are ignored.

    A compressed one is unpacked once into a temporary file without a name, since questions come in any order.
    ``notes`` say what of it could not be read.
    """

    def __init__(self, path: Path) -> None:
        self.members: dict[tuple[str, ...], _Member] = {(): _DIRECTORY}
        self.children: dict[tuple[str, ...], set[str]] = {(): set()}
        self.notes: tuple[str, ...] = ()
        problem, whole = "", 0
        try:
            self.stream, problem = _unpacked(path)
            with tarfile.open(fileobj=cast("IO[bytes]", _Bounded(self.stream)), mode="r:") as archive:
                for count, member in enumerate(archive):
                    if count >= MAX_MEMBERS or len(self.members) >= MAX_MEMBERS:
                        problem = f"only its first {count} members were read"
                        if count < MAX_MEMBERS:
                            problem += f" (with the folders that their names imply they are {MAX_MEMBERS})"
                        break
                    self._add(member)
                    whole = max(whole, member.offset_data + (member.size if member.isreg() else 0))
                    archive.members = []  # type: ignore[attr-defined]  # the list would hold every header
        except (*_DAMAGE, ValueError, OverflowError, RecursionError) as error:
            if len(self.members) == 1:
                raise TreeError(f"not a readable tar archive: {problem or error}") from None
            problem = problem or f"damaged or cut off ({error})"
        if not problem and self.stream.seek(0, io.SEEK_END) < whole:
            problem = "cut off"
        if problem:
            self.notes = (f"the archive was not read to its end: {problem}",)

    def _add(self, member: tarfile.TarInfo) -> None:
        parts = split(member.name)
        if ".." in parts or len(parts) > _MAX_DEPTH or len(member.name) > _MAX_NAME:
            return
        for depth in range(len(parts)):
            self.members.setdefault(parts[:depth], _DIRECTORY)
            self.children.setdefault(parts[:depth], set()).add(parts[depth])
        if member.issym():
            self.members[parts] = _Member("link", member.linkname[:_MAX_NAME])
        elif member.islnk():  # the target stands before it
            self.members[parts] = self.members.get(split(member.linkname[:_MAX_NAME]), _NOTHING)
        elif member.isreg() and not member.issparse():
            self.members[parts] = _Member("file", "", member.offset_data, member.size)
        else:
            self.members[parts] = _DIRECTORY if member.isdir() else _NOTHING

    def kind(self, parts: tuple[str, ...]) -> str:
        return self.members.get(parts, _NOTHING).kind

    def target(self, parts: tuple[str, ...]) -> str:
        return self.members.get(parts, _NOTHING).target

    def names(self, parts: tuple[str, ...]) -> list[str]:
        return sorted(self.children.get(parts, ()))

    def data(self, parts: tuple[str, ...]) -> bytes:
        member = self.members.get(parts, _NOTHING)
        self.stream.seek(member.begin)
        return self.stream.read(min(member.size, MAX_ANSWER_BYTES + 1))


_DIRECTORY = _Member("dir")
_NOTHING = _Member("")
_DAMAGE = (tarfile.TarError, OSError, EOFError)


def _unpacked(path: Path) -> tuple[IO[bytes], str]:
    """(the plain archive as a file, why it is not whole or ""); raises what the unpackers raise when nothing is."""
    opened = path.open("rb")
    packed = is_packed(opened.read(6))
    opened.seek(0)
    if not packed:
        return opened, ""
    plain = tempfile.SpooledTemporaryFile(_MAX_IN_MEMORY)  # noqa: SIM115 - stays open as long as the host
    problem = ""
    with opened:
        try:
            for piece in unpacked(opened):
                plain.write(piece)
                if plain.tell() > MAX_TOTAL_BYTES:
                    problem = f"it unpacks to more than {MAX_TOTAL_BYTES // 2**20} MiB"
                    break
        except Damaged as error:
            problem = f"damaged or cut off ({error})"
    plain.seek(0)
    return cast("IO[bytes]", plain), problem
