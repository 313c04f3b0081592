"""File systems that a user has mounted: who owns what there, and with which rights, is that user's word alone.

A FUSE file system is a program of its owner, who need not be root, and ``allow_other`` lets root see what it claims
(mount.fuse3(8), manpages.ubuntu.com); ``user_id`` in mountinfo is that owner. udisks mounts disks and images for users,
usually below /run/media/USER (storaged.org, org.freedesktop.UDisks2.Filesystem; all read 2026-11-24); what root mounts
there for itself has no nosuid unless root said so.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
from typing import TextIO

from rocdoctor.model.lazy_re import regex

SOMEBODY = -1
_OF_DISKS = ("/media/", "/run/media/")
_FUSE = regex(r"fuse(?:blk)?(?:\.|\Z)")
_USER = regex(r"(?:\A|,)user_id=([0-9]{1,10})(?:,|\Z)")


def mounted_by_users(mountinfo: str) -> dict[int, int]:
    """Device numbers of such file systems: the user who mounted one, ``SOMEBODY`` where it is not told.

    What the root folder is on is left out: there is nothing beyond it that could be kept from anybody.
    """
    found: dict[int, int] = {}
    for line in mountinfo.split("\n"):  # of what may stand in a name the kernel escapes nothing else that ends a line
        before, _, after = line.partition(" - ")
        left, right = before.split(" "), after.split(" ")
        if len(left) < 6 or len(right) < 3:
            continue
        major, _, minor = left[2].partition(":")
        if not (major.isdecimal() and minor.isdecimal()):
            continue
        device = os.makedev(int(major), int(minor))
        user = _USER.search(right[2]) if _FUSE.match(right[0]) else None
        if left[4] == "/":
            found[device] = 0
        elif user is not None and user[1] != "0":
            found.setdefault(device, int(user[1]))
        elif left[4].startswith(_OF_DISKS) and "nosuid" in left[5].split(","):
            found.setdefault(device, SOMEBODY)
    return {device: user for device, user in found.items() if user}


class UserMounts:
    """Those of this process, read again whenever something is mounted."""

    def __init__(self, path: str = "/proc/self/mountinfo") -> None:
        self._path = path
        self._lock = threading.Lock()
        self._stream: TextIO | None = None
        self._of = 0
        self._found: dict[int, int] = {}

    def user(self, device: int) -> int | None:
        """Who mounted the file system with this number; None for root, or for none of these."""
        with self._lock, contextlib.suppress(OSError, ValueError):
            if self._stream is None or self._of != os.getpid() or self._changed(self._stream):
                self._read()
        return self._found.get(device)

    def _changed(self, stream: TextIO) -> bool:
        """The kernel says so to whoever holds the file open: proc(5), /proc/mounts (read 2026-11-24)."""
        waiting = select.poll()
        waiting.register(stream, select.POLLPRI | select.POLLERR)
        return bool(waiting.poll(0))

    def _read(self) -> None:
        if self._stream is None or self._of != os.getpid():  # what was opened before a fork speaks of the parent
            self._stream = open(self._path, encoding="utf-8", errors="replace", newline="\n")  # noqa: SIM115
            self._of = os.getpid()
        self._stream.seek(0)
        self._found = mounted_by_users(self._stream.read())
