"""A file or folder whose reads hang in the kernel, or fail: the smallest FUSE server that can do that.

A request that the server has taken and never answers holds its caller in a wait that no signal ends, as a driver does
that waits for a GPU which is gone. The connection ends, and with it every such wait, when the server's end of
``/dev/fuse`` is closed. Layouts and numbers: ``include/uapi/linux/fuse.h``.
"""

from __future__ import annotations

import errno
import os
import select
import stat
import struct

_LOOKUP, _FORGET, _GETATTR, _OPEN, _READ, _FLUSH, _RELEASE = 1, 2, 3, 14, 15, 25, 18
_INIT, _OPENDIR, _READDIR, _RELEASEDIR, _INTERRUPT, _BATCH_FORGET, _READDIRPLUS = 26, 27, 28, 29, 36, 42, 44
_ASKING = {_LOOKUP, _READ, _READDIR, _READDIRPLUS}
_DIRECT_IO = 1  # no page is kept, so each read asks
# What a request for content gets: None is never an answer.
KINDS: dict[str, int | None] = {"stuck": None, "eio": errno.EIO, "denied": errno.EACCES, "gone": errno.ENODEV}


def serve(device: int, ends: int, kind: str, folder: bool) -> None:
    """Answer until ``ends`` is closed at its other end or the file system is gone."""
    while True:
        ready, _, _ = select.select([device, ends], [], [])
        if ends in ready:
            return
        try:
            request = os.read(device, 1 << 20)
        except OSError as error:
            if error.errno in (errno.EINTR, errno.EAGAIN, errno.ENOENT):
                continue
            return
        opcode, unique = struct.unpack_from("<IQ", request, 4)
        answer = _answer(opcode, kind, folder)
        if answer is not None:
            number, body = answer
            os.write(device, struct.pack("<IiQ", 16 + len(body), -number, unique) + body)


def _answer(opcode: int, kind: str, folder: bool) -> tuple[int, bytes] | None:
    if opcode in (_FORGET, _BATCH_FORGET, _INTERRUPT):
        return None
    if opcode in _ASKING:
        number = KINDS[kind]
        return None if number is None else (number, b"")
    if opcode == _INIT:  # version 7.31, nothing optional
        return 0, struct.pack("<IIIIHHIIHHI7I", 7, 31, 0, 0, 0, 0, 4096, 1, 1, 0, 0, *[0] * 7)
    if opcode == _GETATTR:
        mode = stat.S_IFDIR | 0o555 if folder else stat.S_IFREG | 0o444
        attributes = (1, 4096, 8, 0, 0, 0, 0, 0, 0, mode, 1, os.getuid(), os.getgid(), 0, 4096, 0)
        return 0, struct.pack("<QII", 0, 0, 0) + struct.pack("<6Q10I", *attributes)
    if opcode in (_OPEN, _OPENDIR):
        return 0, struct.pack("<QII", 1, _DIRECT_IO, 0)
    if opcode in (_FLUSH, _RELEASE, _RELEASEDIR):
        return 0, b""
    return errno.ENOSYS, b""
