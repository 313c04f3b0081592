"""What fstab lets users mount, and whether a user can change what it mounts.

mount(8) lets users mount what fstab marks so, with nosuid unless it says suid: of ``user`` it notes who did, of
``users``, ``owner`` and ``group`` nothing (util-linux/util-linux libmount/src/optmap.c and context_mount.c, read
2026-11-28). It notes that behind the mount, and who started it can end it between the two (tried with util-linux 2.38,
2026-11-28). Where nothing is noted, what root does not mount at its start (``noauto``) is taken for a user's.

The rest users may unmount and mount again, from the same source: it is theirs where they can exchange what that holds,
a removable disk (Documentation/ABI/testing/sysfs-devices-removable of torvalds/linux, read 2026-11-28) or a file of
theirs behind a loop device. A mount point in a folder of a user may be a link that leads elsewhere by now: so
the source counts as well, unless fstab lets root alone mount it at another place.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Mapping
from typing import NamedTuple

from rocdoctor.host.live.accounts import account_called
from rocdoctor.model.lazy_re import regex

SOMEBODY = -1
_FOR_USERS = frozenset(("user", "users", "owner", "group"))
_ESCAPE = regex(r"\\([0-7]{3})")
_TAGS = {"LABEL": "label", "UUID": "uuid", "PARTLABEL": "partlabel", "PARTUUID": "partuuid", "ID": "id"}
# Signs that stay in the names of links to devices (systemd/systemd src/shared/device-nodes.c).
_AS_IT_IS = regex(r"[A-Za-z0-9#+.:=@_-]|[^\x00-\x7f]")
_MOST_BYTES, _MOST_ABOVE, _MOST_STACKED = 4096, 24, 4


class Allowed(NamedTuple):
    """Who mounted: a user, or ``SOMEBODY``; ``option`` tells such a mount from root's own at that place, "" for none.

    ``movable``: only where users can exchange what is mounted, since root mounts it at its start as well.
    """

    user: int
    option: str
    movable: bool = False


class AllowedMounts(NamedTuple):
    """By mount point, and by source."""

    points: dict[str, Allowed]
    sources: dict[str, Allowed]


def allowed_by_fstab(utab: str, fstab: str, disks: str = "/dev/disk") -> AllowedMounts:
    """What users may have mounted. ``disks``: where links named after labels lead to devices."""
    points: dict[str, Allowed] = {}
    sources: dict[str, Allowed] = {}
    of_root: set[str] = set()
    for line in fstab.split("\n"):
        words = line.split()
        if len(words) < 4 or line.lstrip().startswith("#"):
            continue
        options = words[3].split(",")
        source = _source(plain(words[0]), disks).rstrip("/")
        if not _FOR_USERS.intersection(options):
            of_root.add(source)
            continue
        how = Allowed(SOMEBODY, "" if "suid" in options else "nosuid", "noauto" not in options)
        points[plain(words[1]).rstrip("/")] = how
        if source.startswith("/") or ":/" in source:
            sources[source] = how
    for line in utab.split("\n"):
        fields = dict(word.split("=", 1) for word in line.split(" ") if "=" in word)
        options, target = fields.get("OPTS", "").split(","), plain(fields.get("TARGET", ""))
        name = next((one[5:] for one in options if one.startswith("user=")), "")
        if name and target:
            points[target] = Allowed(_uid_of(name), "")
        elif "user" in options:  # without a name: by root
            points.pop(target, None)
            sources.pop(plain(fields.get("SRC", "")).rstrip("/"), None)
    return AllowedMounts(points, {one: how for one, how in sources.items() if one not in of_root})


def plain(path: str) -> str:
    """A path without the escapes of mountinfo and fstab."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), path)


def by_source(
    sources: Mapping[str, Allowed], source: str, behind_loop: str, exchanged: Callable[[], bool]
) -> Allowed | None:
    """What fstab allows with what is mounted; ``exchanged``: whether users can exchange that.

    mount(8) shows names that the device mapper gives, not devices. A file behind a loop device may have been renamed
    since, or its name in fstab be a link: where users may mount a file, each file of theirs is it.
    """
    names = (source.rstrip("/"), os.path.realpath(source) if source.startswith("/dev/") else "", behind_loop)
    if (found := next((how for one in names if (how := sources.get(one))), None)) is not None:
        return found
    files = [how for one, how in sources.items() if one.startswith("/") and not one.startswith("/dev/")]
    return files[0] if files and behind_loop and exchanged() else None


def _source(named: str, disks: str) -> str:
    """The device that a line of fstab names; what it names, where that is none or not there."""
    tag, _, value = named.partition("=")
    if tag in _TAGS:
        name = "".join(one if _AS_IT_IS.match(one) else f"\\x{ord(one):02x}" for one in value.strip("\"'"))
        named = os.path.join(disks, f"by-{_TAGS[tag]}", name)
        return os.path.realpath(named) if os.path.lexists(named) else ""
    return os.path.realpath(named) if named.startswith("/dev/") else named


def _uid_of(name: str) -> int:
    try:
        return account_called(name).pw_uid
    except (ImportError, KeyError, ValueError):
        return SOMEBODY


def backing_file(device: int, devices: str = "/sys/dev/block") -> str:
    """The file behind a loop device, also of one of its partitions; "" for others."""
    return _behind_loop(_place(device, devices))


def _behind_loop(place: str) -> str:
    return _told(f"{place}/loop/backing_file") or _told(f"{os.path.dirname(place)}/loop/backing_file")


def exchangeable(device: int, hangs: Callable[[str], bool], devices: str = "/sys/dev/block") -> bool:
    """Whether others than root can put something else into a block device: by hand, or by the file behind it.

    ``hangs``: whether a path may give no answer.
    """
    return _exchangeable(_place(device, devices), hangs, 0) if os.major(device) else False


def _exchangeable(place: str, hangs: Callable[[str], bool], stacked: int) -> bool:
    if file := next(
        (told for one in (place, os.path.dirname(place)) if (told := _told(f"{one}/loop/backing_file"))), ""
    ):
        return hangs(file) or _not_roots(file)
    above, steps = place, 0
    while above != os.path.dirname(above) and steps < _MOST_ABOVE:
        if _told(f"{above}/removable") in ("1", "removable") or _told(f"{above}/type") == "SD":
            return True
        above, steps = os.path.dirname(above), steps + 1
    if "/usb" in place:
        return True
    below: list[str] = []
    with contextlib.suppress(OSError):
        below = [os.path.realpath(f"{place}/slaves/{one}") for one in os.listdir(f"{place}/slaves")]
    return stacked < _MOST_STACKED and any(_exchangeable(one, hangs, stacked + 1) for one in below)


def _not_roots(path: str) -> bool:
    while True:
        try:
            told = os.lstat(path)
        except OSError:
            return True
        shared = told.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not told.st_mode & stat.S_ISVTX
        if told.st_uid or (shared and not stat.S_ISLNK(told.st_mode)):
            return True
        if path == os.path.dirname(path):
            return False
        path = os.path.dirname(path)


def _place(device: int, devices: str) -> str:
    return os.path.realpath(f"{devices}/{os.major(device)}:{os.minor(device)}")


def _told(path: str) -> str:
    with contextlib.suppress(OSError):
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            if stat.S_ISREG(os.fstat(opened).st_mode):
                return os.fsdecode(os.read(opened, _MOST_BYTES)).rstrip("\n")
        finally:
            os.close(opened)
    return ""
