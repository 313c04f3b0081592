"""The headers of a tar archive, read in bounded time and memory whatever they say.

The standard library's reader copies global headers for each member, keeps maps of sparse files and follows headers of
headers: a file of some hundred kilobytes holds it for minutes or takes gigabytes. Forms: POSIX pax(1) with ustar and
extended headers; GNU tar's long names, base-256 numbers and sparse files (its manual, "Basic Tar Format").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Literal

BLOCK = 512
# Of long names and extended headers together, which are made of records as short as six bytes.
MAX_EXTENDED = 32 * 1024 * 1024
MAX_RECORDS = 600_000
# Of all kinds; a member rarely has more than two.
MAX_BLOCKS = 450_000
_MAX_HEADER = 1024 * 1024
_MAX_SIZE = 1 << 50

Kind = Literal["file", "dir", "link", "hard link", "other"]
_KINDS: dict[bytes, Kind] = {b"0": "file", b"\0": "file", b"7": "file", b"1": "hard link", b"2": "link", b"5": "dir"}
_WITHOUT_DATA = frozenset((b"1", b"2", b"3", b"4", b"5", b"6"))


class HeaderError(ValueError):
    """What is there is no header, or the headers are more than any archive has; the message says which."""


@dataclass(frozen=True, slots=True)
class Header:
    """A member: ``target`` of links, and where its content lies in the archive."""

    name: str
    kind: Kind
    target: str
    begin: int
    size: int


@dataclass(slots=True)
class _Told:
    """What long names and extended headers say of the member that follows."""

    name: bytes | None = None
    target: bytes | None = None
    size: int | None = None
    sparse: bool = False


def headers(stream: IO[bytes]) -> Iterator[Header]:
    """The members in order, until the archive says that it ends or stops. Raises HeaderError."""
    left = _Left()
    told, at = _Told(), 0
    while True:
        stream.seek(at)
        block = stream.read(BLOCK)
        if not block or block == bytes(BLOCK) or (at and len(block) < BLOCK):
            return
        left.block()
        at += BLOCK
        size = _size(block)
        kind = block[156:157]
        if kind in (b"x", b"X", b"g", b"L", b"K"):
            data = left.extended(stream, size)
            at += _blocks(size)
            if kind == b"L":
                told.name = data.rstrip(b"\0")
            elif kind == b"K":
                told.target = data.rstrip(b"\0")
            elif kind != b"g":  # what is said of all members is no name of one
                left.records(data, told)
            continue
        if kind == b"S":
            told.sparse = True
            more = block[482:483] != b"\0"
            while more:
                left.block()
                more = stream.read(BLOCK)[504:505] not in (b"\0", b"")
                at += BLOCK
        found = _member(block, kind, told, at, size)
        at += _blocks(found.size) if kind not in _WITHOUT_DATA else 0
        told = _Told()
        yield found


def _member(block: bytes, kind: bytes, told: _Told, at: int, size: int) -> Header:
    name = told.name if told.name is not None else _name(block)
    target = told.target if told.target is not None else _text(block[157:257])
    size = size if told.size is None else told.size
    what = _KINDS.get(kind, "other")
    if told.sparse:
        what = "other"
    elif what == "file" and name.endswith(b"/"):  # of the time before there were types
        what = "dir"
    return Header(_words(name), what, _words(target), at, size)


def _name(block: bytes) -> bytes:
    name, prefix = _text(block[:100]), _text(block[345:500])
    return prefix + b"/" + name if prefix and block[257:263] == b"ustar\0" else name


def _text(field: bytes) -> bytes:
    return field.partition(b"\0")[0]


def _words(name: bytes) -> str:
    return name.decode("utf-8", errors="surrogateescape")


def _size(block: bytes) -> int:
    """The size in a header whose sum is right."""
    if len(block) < BLOCK:
        raise HeaderError("the file is too short")
    summed = block[:148] + b" " * 8 + block[156:]
    signed = 256 * sum(one > 127 for one in summed)  # old programs added signed bytes
    if sum(summed) - _number(block[148:156]) not in (0, signed):
        raise HeaderError("a header is damaged, or it is none")
    size = _number(block[124:136])
    if not 0 <= size <= _MAX_SIZE:
        raise HeaderError("a member of an impossible size")
    return size


def _number(field: bytes) -> int:
    """Octal digits, or bytes of which the first has its highest bit set; -1 for anything else."""
    if field[:1] == b"\x80":
        return int.from_bytes(field[1:], "big")
    digits = _text(field).strip(b" ")
    if not digits:
        return 0
    return int(digits, 8) if not digits.strip(b"01234567") else -1


def _blocks(size: int) -> int:
    return -(-size // BLOCK) * BLOCK


class _Left:
    """What headers may still take."""

    def __init__(self) -> None:
        self._blocks, self._extended, self._records = MAX_BLOCKS, MAX_EXTENDED, MAX_RECORDS

    def block(self) -> None:
        self._blocks -= 1
        if self._blocks < 0:
            raise HeaderError(f"more than {MAX_BLOCKS} headers")

    def extended(self, stream: IO[bytes], size: int) -> bytes:
        if size > _MAX_HEADER:
            raise HeaderError(f"a header of {size} bytes")
        self._extended -= size
        if self._extended < 0:
            raise HeaderError(f"extended headers of more than {MAX_EXTENDED // 2**20} MiB")
        return stream.read(size)

    def records(self, data: bytes, told: _Told) -> None:
        """``LENGTH NAME=VALUE``, each with a line end; the length is that of the whole."""
        at = 0
        while at < len(data):
            self._records -= 1
            if self._records < 0:
                raise HeaderError(f"more than {MAX_RECORDS} records in extended headers")
            digits = data[at : at + 9].partition(b" ")[0]
            length = int(digits) if digits.isdigit() else 0
            if length <= len(digits) + 1 or at + length > len(data):
                return
            name, _, value = data[at + len(digits) + 1 : at + length - 1].partition(b"=")
            at += length
            if name == b"path":
                told.name = value
            elif name == b"linkpath":
                told.target = value
            elif name == b"size" and value.isdigit() and len(value) < 16:
                told.size = int(value)
            elif name.startswith(b"GNU.sparse."):
                told.sparse = True
