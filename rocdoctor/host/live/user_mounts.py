"""File systems that a user has mounted: who owns what there, and with which rights, is that user's word alone.

A FUSE file system is a program of its owner, who need not be root, and ``allow_other`` lets root see what it claims
(mount.fuse3(8), manpages.ubuntu.com); ``user_id`` in mountinfo is that owner. udisks mounts disks and images for users,
usually below /run/media/USER (storaged.org, org.freedesktop.UDisks2.Filesystem; all read 2026-11-24); what root mounts
there for itself has no nosuid unless root said so. Each subvolume of btrfs has a number of its own in ``st_dev``, and
mountinfo has another one (bugzilla.redhat.com, 711881; read 2026-11-28).

What fstab lets users mount is told by fstab_users.py.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TextIO, TypeAlias

from rocdoctor.host.live.fstab_users import (
    SOMEBODY,
    Allowed,
    AllowedMounts,
    allowed_by_fstab,
    backing_file,
    by_source,
    exchangeable,
    plain,
)
from rocdoctor.model.lazy_re import regex

Place: TypeAlias = int | str | os.PathLike[str]
_NONE = AllowedMounts({}, {})
_OF_DISKS = ("/media/", "/run/media/")
_FUSE = regex(r"fuse(?:blk)?(?:\.|\Z)")
# Kinds of file systems behind which stands a program or a network (Linux, fs/*; the names of their modules).
_SERVED = regex(
    r"(?:fuse(?:blk)?(?:\.|\Z)|nfs|cifs|smb|ceph|lustre|9p|virtiofs|gfs|ocfs|beegfs|gpfs|afs|autofs|orangefs|coda)"
)
_USER = regex(r"(?:\A|,)user_id=([0-9]{1,10})(?:,|\Z)")
_LOGINS = ("cifs", "smb3", "smbfs")  # there user= may be the login at the server
_MOST_SIGNS, _MOST_LINKS = 1 << 20, 40
_NUMBER = regex(rb"^mnt_id:\s*([0-9]{1,19})$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Mount:
    number: int
    device: int
    point: str
    options: str
    kind: str
    source: str
    of_kind: str


@dataclass(frozen=True, slots=True)
class _Table:
    """Who mounted which file system, by its number; and the numbers by mount and by mount point."""

    users: Mapping[int, int]
    by_mount: Mapping[int, int]
    by_point: Mapping[str, int]
    told: frozenset[int] = frozenset()
    """Numbers that mountinfo tells; empty where each file of such a file system has one of these."""
    in_folder: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """The names of their mount points, by the folder of these."""

    def of(self, mount: int | None, path: str) -> int | None:
        """The file system of a mount, else of the longest mount point that a real path lies at or below."""
        if mount is not None and (device := self.by_mount.get(mount)) is not None:
            return device
        while path not in self.by_point:
            if path == os.path.dirname(path):
                return None
            path = os.path.dirname(path)
        return self.by_point[path]


def _mounts(mountinfo: str) -> Iterator[_Mount]:
    for line in mountinfo.split("\n"):  # of what may stand in a name the kernel escapes nothing else that ends a line
        before, _, after = line.partition(" - ")
        left, right = before.split(" "), after.split(" ")
        if len(left) < 6 or len(right) < 3 or not left[0].isdecimal():
            continue
        major, _, minor = left[2].partition(":")
        if major.isdecimal() and minor.isdecimal():
            yield _Mount(
                int(left[0]),
                os.makedev(int(major), int(minor)),
                plain(left[4]),
                left[5],
                right[0],
                plain(right[1]),
                right[2],
            )


def _at_points(allowed: Mapping[str, Allowed], points: Mapping[str, str]) -> dict[str, Allowed]:
    """The same, with the place that links in fstab lead to; ``points``: kinds of file systems by their mount points."""
    found = dict(allowed)
    for point, how in allowed.items():
        if point not in points and os.path.isabs(point) and (place := _led_to(point, points)) is not None:
            found.setdefault(place, how)
    return found


def _led_to(path: str, points: Mapping[str, str]) -> str | None:
    """Where links lead, as far as nothing is asked that may hang; a mount point is no link. None where they go on."""
    rest, done, links = path.split("/")[::-1], "/", 0
    while rest:
        name = rest.pop()
        if name == "..":
            done = os.path.dirname(done)
        if name in ("", ".", ".."):
            continue
        place = os.path.join(done, name)
        if place in points:
            done = place
            continue
        if may_hang(place, points):
            return None
        try:
            link = os.readlink(place)
        except OSError:
            done = place
            continue
        links += 1
        if links > _MOST_LINKS:
            return None
        done = "/" if link.startswith("/") else done
        rest += link.split("/")[::-1]
    return done


def mounted_by_users(mountinfo: str, allowed: AllowedMounts = _NONE, devices: str = "/sys/dev/block") -> dict[int, int]:
    """Device numbers of such file systems: the user who mounted one, ``SOMEBODY`` where it is not told.

    What the root folder is on is left out: there is nothing beyond it that could be kept from anybody. ``allowed``: of
    ``allowed_by_fstab``; ``devices``: what the kernel tells of block devices.
    """
    found: dict[int, int] = {}
    mounts = list(_mounts(mountinfo))
    kinds = {one.point: one.kind for one in mounts}
    points = _at_points(allowed.points, kinds)

    def hangs(path: str) -> bool:
        return may_hang(path, kinds)

    for one in mounts:
        user = _USER.search(one.of_kind) if _FUSE.match(one.kind) else None
        if one.point == "/":
            found[one.device] = 0
        elif user is not None and user[1] != "0":
            found.setdefault(one.device, int(user[1]))
        elif one.point.startswith(_OF_DISKS) and "nosuid" in one.options.split(","):
            found.setdefault(one.device, SOMEBODY)
        elif (how := points.get(one.point) or _by_source(one, allowed, hangs, devices)) is not None:
            marked = how.option in one.options.split(",") or (not how.option and one.kind not in _LOGINS)
            if marked and (not how.movable or exchangeable(one.device, hangs, devices)):
                found.setdefault(one.device, how.user)
    return {device: user for device, user in found.items() if user}


def _by_source(mount: _Mount, allowed: AllowedMounts, hangs: Callable[[str], bool], devices: str) -> Allowed | None:
    if not allowed.sources:
        return None
    behind = backing_file(mount.device, devices)
    return by_source(allowed.sources, mount.source, behind, lambda: exchangeable(mount.device, hangs, devices))


def _table(mountinfo: str, allowed: AllowedMounts = _NONE) -> _Table:
    users = mounted_by_users(mountinfo, allowed)
    if not users:
        return _Table({}, {}, {})
    mounts = list(_mounts(mountinfo))
    devices = {one.number: one.device for one in mounts}
    # Only what is on no one device may have further numbers, and FUSE has none.
    further = any(one.device in users and not os.major(one.device) and not _FUSE.match(one.kind) for one in mounts)
    told = frozenset(devices.values()) if further else frozenset[int]()
    points = {one.point: one.device for one in mounts}
    inside: dict[str, set[str]] = {}
    for point in (point for point, device in points.items() if device in users):
        inside.setdefault(os.path.dirname(point), set()).add(os.path.basename(point))
    return _Table(users, devices, points, told, {folder: frozenset(names) for folder, names in inside.items()})


class UserMounts:
    """Those of this process, read again whenever something is mounted."""

    def __init__(
        self, path: str = "/proc/self/mountinfo", utab: str = "/run/mount/utab", fstab: str = "/etc/fstab"
    ) -> None:
        self._path, self._utab, self._fstab = path, utab, fstab
        self._lock = threading.Lock()
        self._stream: TextIO | None = None
        self._of = 0
        self._told = _table("")

    def user(self, status: os.stat_result, place: Place) -> int | None:
        """Who mounted the file system that a file is on; None for root, or for none of these.

        ``place``: its descriptor, or the path that it was found by. The number in its status is asked first. The kernel
        gives each subvolume of btrfs a number of its own, which mountinfo does not tell: there its mount is asked.
        """
        table = self._table()
        user = table.users.get(status.st_dev)
        if user is not None or not table.told or status.st_dev in table.told:
            return user
        device = table.of(*_mount_of(place, status))
        return None if device is None else table.users.get(device)

    def names_in(self, folder: str, again: bool = True) -> frozenset[str]:
        """What stands in a folder and is the mount point of such a file system.

        ``again``: whether something was mounted since the last look is asked of the kernel, which costs a call.
        """
        table = self._table() if again else self._told
        if not table.users:
            return frozenset()
        return table.in_folder.get(os.path.realpath(folder), frozenset())

    def _table(self) -> _Table:
        with self._lock, contextlib.suppress(OSError, ValueError):
            if self._stream is None or self._of != os.getpid() or self._changed(self._stream):
                self._read()
        return self._told

    def _changed(self, stream: TextIO) -> bool:
        """The kernel says so to whoever holds the file open: proc(5), /proc/mounts (read 2026-11-24)."""
        waiting = select.poll()
        waiting.register(stream, select.POLLPRI | select.POLLERR)
        return bool(waiting.poll(0))

    def _read(self) -> None:
        if self._stream is None or self._of != os.getpid():  # what was opened before a fork speaks of the parent
            told = open(self._path, encoding="utf-8", errors="surrogateescape", newline="\n")  # noqa: SIM115
            self._stream = told
            self._of = os.getpid()
        self._stream.seek(0)
        mountinfo = self._stream.read()
        points = {one.point: one.kind for one in _mounts(mountinfo)}
        noted, listed = ("" if may_hang(path, points) else _text_of(path) for path in (self._utab, self._fstab))
        self._told = _table(mountinfo, allowed_by_fstab(noted, listed))


def may_hang(path: str, points: Mapping[str, str]) -> bool:
    """Whether a program or a network serves something on the way to a path, by the kinds of mounts at ``points``.

    Of the root folder nothing is asked: if that hangs, all does. Links are not followed, since that may hang as well.
    """
    while path != os.path.dirname(path):
        if _SERVED.match(points.get(path, "")):
            return True
        path = os.path.dirname(path)
    return False


def served_below(folder: str, mountinfo: str) -> list[str]:
    """The mount points below a real path that a program or a network serves; what autofs has not mounted is none."""
    within = f"{folder.rstrip('/')}/"
    found = (one for one in _mounts(mountinfo) if one.point.startswith(within) and _SERVED.match(one.kind))
    return [one.point for one in found if one.kind != "autofs"]


def _text_of(path: str) -> str:
    """The text of a plain file; "" for anything else, which might never end."""
    with contextlib.suppress(OSError):
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        with open(opened, encoding="utf-8", errors="surrogateescape", newline="\n") as told:
            return told.read(_MOST_SIGNS) if stat.S_ISREG(os.fstat(opened).st_mode) else ""
    return ""


def _mount_of(place: Place, status: os.stat_result) -> tuple[int | None, str]:
    """The number of the mount that a file was reached by, None where it is not told, and its real path."""
    if isinstance(place, int):
        return _mount_number(place), _path_of(place)
    path = os.path.abspath(os.fspath(place))
    link = stat.S_ISLNK(status.st_mode)
    with contextlib.suppress(OSError, AttributeError):
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC | (os.O_NOFOLLOW if link else 0))
        try:
            if os.path.samestat(os.fstat(opened), status):  # else another file was put in its place
                return _mount_number(opened), _path_of(opened)
        finally:
            os.close(opened)
    folder, name = os.path.split(path)
    return None, os.path.join(os.path.realpath(folder), name) if link else os.path.realpath(path)


def _mount_number(descriptor: int) -> int | None:
    """``mnt_id`` of proc(5), /proc/PID/fdinfo, also of a descriptor that only names a file (read 2026-11-28)."""
    with contextlib.suppress(OSError):
        opened = os.open(f"/proc/self/fdinfo/{descriptor}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            found = _NUMBER.search(os.read(opened, 1024))
        finally:
            os.close(opened)
        return int(found[1]) if found else None
    return None


def _path_of(descriptor: int) -> str:
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/self/fd/{descriptor}")
    return ""
