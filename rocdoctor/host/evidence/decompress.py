"""Compressed evidence (gzip, bzip2, xz), unpacked piece by piece: bounded in memory and steps whatever it holds."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import IO

_PIECE_BYTES = 256 * 1024
# Parallel packers write a member for each block of 128 KiB or more, joined logs one for each file.
MAX_MEMBERS = 20_000
# xz -9 needs 65 MiB to unpack (xz(1)); a header may ask for 4 GiB.
MAX_XZ_BYTES = 128 * 1024 * 1024


class Damaged(ValueError):
    """Compressed data that cannot be unpacked to its end; the message says why."""


class _Gzip:
    """A member of gzip data, used as the other unpackers are."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    def decompress(self, data: bytes, most: int) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, most)


_Member = _Gzip | bz2.BZ2Decompressor | lzma.LZMADecompressor
_KINDS: tuple[tuple[bytes, Callable[[], _Member]], ...] = (
    (b"\x1f\x8b", _Gzip),
    (b"BZh", bz2.BZ2Decompressor),
    (b"\xfd7zXZ", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MAX_XZ_BYTES)),
)


def is_packed(head: bytes) -> bool:
    """Whether data that begins so can be unpacked."""
    return head.startswith(tuple(magic for magic, _ in _KINDS))


def unpacked(stream: IO[bytes], most_members: int = MAX_MEMBERS) -> Iterator[bytes]:
    """What the stream holds, in pieces of at most 256 KiB; what follows the last member is left alone.

    Raises Damaged.
    """
    data = stream.read(_PIECE_BYTES)
    magic, make = next(one for one in _KINDS if data.startswith(one[0]))
    for _ in range(most_members):
        member = make()
        while not member.eof:
            piece = b""
            if member.needs_input:
                piece, data = data or stream.read(_PIECE_BYTES), b""
                if not piece:
                    raise Damaged("it ends too early (cut off on its way?)")
            if part := _step(member, piece):
                yield part
        data = _next(member.unused_data, stream)
        if not data.startswith(magic):
            return
    raise Damaged(f"more than {most_members} members")


def _step(member: _Member, data: bytes) -> bytes:
    try:
        return member.decompress(data, _PIECE_BYTES)
    except (zlib.error, lzma.LZMAError, OSError, EOFError) as error:
        if "memory" in str(error).lower():
            raise Damaged(f"it needs more than {MAX_XZ_BYTES // 2**20} MiB of memory to unpack") from None
        raise Damaged(str(error)) from None


def _next(data: bytes, stream: IO[bytes]) -> bytes:
    """What follows a member, without the zeros that fill up to a block."""
    data = data.lstrip(b"\0")
    while len(data) < 6 and (more := stream.read(_PIECE_BYTES)):
        data = (data + more).lstrip(b"\0")
    return data
