"""Evidence that lies in a tar archive: bounded in time, memory and disk whatever its headers say."""

from __future__ import annotations

import io
import os
import tempfile
from dataclasses import dataclass
from typing import IO, cast

from rocdoctor.host.base import MAX_ANSWER_BYTES
from rocdoctor.host.evidence.decompress import Damaged, is_packed, unpacked
from rocdoctor.host.evidence.folder import TreeError, split
from rocdoctor.host.evidence.tar_headers import Header, HeaderError, headers

MAX_MEMBERS = 150_000
MAX_TOTAL_BYTES = 1024 * 1024 * 1024
_MAX_DEPTH = 64
_MAX_NAME = 4096
_MAX_IN_MEMORY = 32 * 1024 * 1024
# Logs of one message pack well, by some hundred; what a few bytes make gigabytes of is no evidence.
_LEAST_BYTES, _MOST_TIMES = 64 * 1024 * 1024, 200


@dataclass(frozen=True, slots=True)
class _Member:
    """What is kept of an archive's member: little, since there may be very many."""

    kind: str
    target: str = ""
    begin: int = 0
    size: int = 0


class TarTree:
    """A tar archive (plain, gz, bz2, xz); members outside the archive's own tree are ignored.

    A compressed one is unpacked once into a temporary file without a name, since questions come in any order.
    ``notes`` say what of it could not be read.
    """

    def __init__(self, opened: IO[bytes]) -> None:
        self.members: dict[tuple[str, ...], _Member] = {(): _DIRECTORY}
        self.children: dict[tuple[str, ...], set[str]] = {(): set()}
        self.notes: tuple[str, ...] = ()
        problem, whole = "", 0
        try:
            self.stream, problem = _unpacked(opened)
            for count, header in enumerate(headers(self.stream)):
                if count >= MAX_MEMBERS or len(self.members) >= MAX_MEMBERS:
                    problem = f"only its first {count} members were read"
                    if count < MAX_MEMBERS:
                        problem += f" (with the folders that their names imply they are {MAX_MEMBERS})"
                    break
                self._add(header)
                whole = max(whole, header.begin + (header.size if header.kind == "file" else 0))
        except (HeaderError, OSError, ValueError, OverflowError) as error:
            if len(self.members) == 1:
                raise TreeError(f"not a readable tar archive: {problem or error}") from None
            problem = problem or f"damaged or cut off ({error})"
        if problem and len(self.members) == 1:
            raise TreeError(f"not a readable tar archive: {problem}")
        if not problem and self.stream.seek(0, io.SEEK_END) < whole:
            problem = "cut off"
        if problem:
            self.notes = (f"the archive was not read to its end: {problem}",)

    def _add(self, header: Header) -> None:
        parts = split(header.name)
        if ".." in parts or len(parts) > _MAX_DEPTH or len(header.name) > _MAX_NAME:
            return
        for depth in range(len(parts)):
            self.members.setdefault(parts[:depth], _DIRECTORY)
            self.children.setdefault(parts[:depth], set()).add(parts[depth])
        if header.kind == "link":
            self.members[parts] = _Member("link", header.target[:_MAX_NAME])
        elif header.kind == "hard link":  # the target stands before it
            self.members[parts] = self.members.get(split(header.target[:_MAX_NAME]), _NOTHING)
        elif header.kind == "file":
            self.members[parts] = _Member("file", "", header.begin, header.size)
        else:
            self.members[parts] = _DIRECTORY if header.kind == "dir" else _NOTHING

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


def _unpacked(opened: IO[bytes]) -> tuple[IO[bytes], str]:
    """(the plain archive as a file, why it is not whole or ""); raises what the unpackers raise when nothing is."""
    opened.seek(0)
    packed = is_packed(opened.read(6))
    opened.seek(0)
    if not packed:
        return opened, ""
    plain = tempfile.SpooledTemporaryFile(_MAX_IN_MEMORY)  # noqa: SIM115 - stays open as long as the host
    most = min(MAX_TOTAL_BYTES, _LEAST_BYTES + _MOST_TIMES * os.fstat(opened.fileno()).st_size)
    problem = ""
    with opened:
        try:
            for piece in unpacked(opened):
                plain.write(piece)
                if plain.tell() > most:
                    problem = f"it unpacks to more than {most // 2**20} MiB"
                    break
        except Damaged as error:
            problem = f"damaged or cut off ({error})"
    plain.seek(0)
    return cast("IO[bytes]", plain), problem
