"""What may be run, and by whom: code that nobody else can change.

Root runs and imports only what root alone can change: each folder from ``/`` on, each link on the way, and the file
itself. A user without rights of root keeps to older rules, for folders of checks alone: whatever runs has the rights of
that user anyway.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

from rocdoctor.host.live.accounts import account, group
from rocdoctor.host.live.fstab_users import SOMEBODY
from rocdoctor.host.live.user_mounts import Place, UserMounts

_ROOT = frozenset((0,))
_MAX_LINKS = 40
_MOST_CODE = 4 << 20  # of a check of somebody's own
# Debian gives parts of /usr/local to "staff", one of the groups that a distribution numbers; nobody is in it there.
_STATIC_GROUPS = range(1, 100)


class Status(Protocol):
    """What is needed of ``os.stat_result``."""

    @property
    def st_mode(self) -> int: ...
    @property
    def st_uid(self) -> int: ...
    @property
    def st_gid(self) -> int: ...


@dataclass(frozen=True, slots=True)
class _Claimed:
    """What a file system of a user says: whatever owner it claims, it is that user's."""

    st_mode: int
    st_uid: int
    st_gid: int


_mounts = UserMounts()


def owner_of(status: os.stat_result, place: Place) -> int:
    """Whose a file is: who mounted its file system as a user, whatever that claims, else the owner that it states.

    A disk that may be a user's is nobody's to root (-1); to others it is of the owner that it states. ``place``: the
    descriptor or the path that the status is of.
    """
    user = _mounts.user(status, place)
    return status.st_uid if user is None or (user == SOMEBODY and not privileged()) else user


def mounted_in(folder: str, again: bool = True) -> frozenset[str]:
    """What stands in a folder and is the mount point of a file system that a user mounted, whatever owner it claims.

    ``again``: what was mounted since the last look counts too.
    """
    return _mounts.names_in(folder, again)


class Disk:
    """The file system as the judgement sees it."""

    def lstat(self, path: str) -> Status:
        """As ``os.lstat``, with the owner of the file system where a user mounted it."""
        status = os.lstat(path)
        user = owner_of(status, path)
        return status if user == status.st_uid else _Claimed(status.st_mode, user, status.st_gid)

    def readlink(self, path: str) -> str:
        """As ``os.readlink``."""
        return os.readlink(path)

    def listed(self, path: str) -> bool:
        """Whether an access control list may let others write; the bits of the group are its mask then."""
        if not hasattr(os, "getxattr"):
            return False
        try:
            return bool(os.getxattr(path, "system.posix_acl_access"))
        except OSError as error:
            return error.errno not in (errno.ENODATA, errno.ENOTSUP, errno.ENOSYS)

    def members(self, gid: int) -> bool:
        """Whether somebody may be in a group."""
        try:
            if group(gid).gr_mem:
                return True
            accounts = Path("/etc/passwd").read_text(encoding="utf-8", errors="replace").splitlines()
        except (KeyError, OSError):
            return True
        return any(line.split(":")[3:4] == [str(gid)] for line in accounts)


_DISK = Disk()


@dataclass(frozen=True, slots=True)
class Weakness:
    """A place where somebody else can change what runs; ``uid`` is that one, None for a group or everybody.

    Users and groups are numbers: names may not be shown, and accounts of a container lack those of the host.
    """

    path: str
    uid: int | None
    words: str

    def __str__(self) -> str:
        return f"{self.path} {self.words}"


def privileged() -> bool:
    """Whether we are root, over more than one user: who is root in a name space of one has that user's rights."""
    return hasattr(os, "geteuid") and os.geteuid() == 0 and not _root_of_one(_uid_map())


@cache
def _uid_map() -> str:
    try:
        return Path("/proc/self/uid_map").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _root_of_one(uid_map: str) -> bool:
    """Whether the only user of the name space is somebody else outside."""
    rows = [line.split() for line in uid_map.splitlines()]
    return len(rows) == 1 and len(rows[0]) == 3 and rows[0][2] == "1" and rows[0][1] != "0"


def weaknesses(
    path: str,
    owners: Collection[int] = _ROOT,
    disk: Disk = _DISK,
    missing_ok: bool = False,
    sticky_ok: bool = False,
) -> list[Weakness]:
    """Where anybody but ``owners`` can change what an absolute path leads to: [] where nobody can.

    Judged are all folders from ``/`` on, those of links on the way too, and the file. In a sticky folder such as /tmp
    everybody may write, and what belongs to an owner there is as good as anywhere. The sticky folder itself is not,
    since everybody can put a file there under a name that is looked up in it, unless ``sticky_ok``: then only new files
    of our own are made there. Raises OSError where there is no such file, unless ``missing_ok``: then the question is
    whether somebody else could make it.
    """
    found: dict[str, Weakness] = {}
    todo = list(reversed(path.split("/")))
    here, status = "/", disk.lstat("/")
    _judge(found, here, status, owners, disk)
    links = 0
    while todo:
        part = todo.pop()
        if part in ("", "."):
            continue
        if part == "..":  # judged on the way down
            here = os.path.dirname(here)
            status = disk.lstat(here)
            continue
        step = os.path.join(here, part)
        shared = _shared(here, status, disk)
        try:
            one = disk.lstat(step)
        except FileNotFoundError:
            if not missing_ok:
                raise
            if shared:
                found.setdefault(step, Weakness(step, None, "can be made by everybody"))
            break
        if shared and one.st_uid not in owners:
            found.setdefault(step, _owned(step, one))
        if stat.S_ISLNK(one.st_mode):
            links += 1
            if links > _MAX_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            target = disk.readlink(step)
            todo.extend(reversed(target.split("/")))
            if target.startswith("/"):
                here, status = "/", disk.lstat("/")
            continue
        here, status = step, one
        _judge(found, here, status, owners, disk)
    else:
        if not sticky_ok and stat.S_ISDIR(status.st_mode) and _shared(here, status, disk):
            who = _writers(here, status, disk)
            found.setdefault(f"{here}/", Weakness(here, None, f"is a folder where {who} may put files"))
    return list(found.values())


def _judge(found: dict[str, Weakness], path: str, status: Status, owners: Collection[int], disk: Disk) -> None:
    if path in found:
        return
    if status.st_uid not in owners:
        found[path] = _owned(path, status)
    sticky = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX
    if not sticky and (who := _writers(path, status, disk)):
        found[f"{path}/"] = Weakness(path, None, f"can be changed by {who}")


def _owned(path: str, status: Status) -> Weakness:
    if not isinstance(status, _Claimed):
        return Weakness(path, status.st_uid, f"belongs to user {status.st_uid}")
    if status.st_uid == SOMEBODY:
        return Weakness(path, None, "is on a disk that a user may have mounted")
    return Weakness(path, status.st_uid, f"is on a file system that user {status.st_uid} mounted")


def _shared(path: str, status: Status, disk: Disk) -> bool:
    """Whether a folder is one where others may write and nobody renames what belongs to others."""
    return bool(status.st_mode & stat.S_ISVTX) and bool(_writers(path, status, disk))


def _writers(path: str, status: Status, disk: Disk) -> str:
    """Who may write besides the owner, in words; "" for nobody."""
    if status.st_mode & stat.S_IWOTH:
        return "everybody"
    if not status.st_mode & stat.S_IWGRP:
        return ""
    if disk.listed(path):
        return "those in its access control list"
    gid = status.st_gid
    if gid == 0 or (gid in _STATIC_GROUPS and not disk.members(gid)):
        return ""
    return f"group {gid}"


def weak(path: str, missing_ok: bool = False) -> str:
    """Why root runs nothing there, as a short sentence; "" where root alone can change it, or where we are not root.

    ``missing_ok``: as of ``weaknesses``.
    """
    if not privileged():
        return ""
    try:
        found = weaknesses(path, missing_ok=missing_ok)
    except OSError as error:
        return f"{path}: {error.strerror}"
    return str(found[0]) if found else ""


# -- code that is read and run by ourselves


def untrusted(folder: Path, files: Collection[Path] = ()) -> str:
    """Why code in a folder is not run, in one sentence with the way out; "" where it may be.

    For root nobody else may be able to change the folder, a folder above, or a file. Otherwise the folder and each file
    must belong to the user or root, and not everybody may write there or in a folder above; a group that may write was
    let in by somebody. Windows has other rights; nothing is said there.
    """
    owners = _owners()
    if owners is None:
        return ""
    for path, above in _places(folder, files):
        try:
            status = os.stat(path)
        except OSError as error:
            return f"{path}: {error.strerror}"
        problem = _problem(path, status, owners, above)
        if problem:
            return problem
    for path in (folder, *files) if privileged() else ():
        if found := weak(os.fspath(path) if os.path.isabs(path) else os.path.join(os.getcwd(), path)):
            return f"{found}, and root runs no code of others; copy it to a folder of root to run it"
    return ""


def read_code(path: Path) -> bytes:
    """The content of a file whose code is run next: what is returned is what was judged.

    Raises:
        OSError: it cannot be read, or may not be run; the message says why.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with open(descriptor, "rb") as stream:
        opened = os.fstat(descriptor)
        if not stat.S_ISREG(opened.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        refused = untrusted(path.parent, [path])
        if not refused and not os.path.samestat(opened, os.stat(path)):
            refused = "it was replaced in the meantime"
        if refused:
            raise OSError(errno.EPERM, refused, str(path))
        code = stream.read(_MOST_CODE + 1)
        if len(code) > _MOST_CODE:
            raise OSError(errno.EFBIG, f"it is longer than {_MOST_CODE} bytes", str(path))
        return code


def read_settings(path: Path, most_bytes: int = 65536) -> bytes:
    """A file of settings, which run nothing: it belongs to the user or to root, and not everybody may write there.

    Raises:
        OSError: it cannot be read, or is not taken; the message says why.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with open(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        owners = _owners()
        refused = ""
        if not stat.S_ISREG(status.st_mode):
            refused = "not a regular file"
        elif owners is not None and (owner := owner_of(status, descriptor)) not in owners:
            refused = f"it belongs to {name_of(owner)}, and not to you or root"
        elif owners is not None and status.st_mode & stat.S_IWOTH:
            refused = "everybody can change it"
        elif status.st_size > most_bytes:
            refused = f"it is longer than {most_bytes} bytes"
        if refused:
            raise OSError(errno.EPERM, refused, str(path))
        return stream.read(most_bytes)


def _owners() -> frozenset[int] | None:
    if not hasattr(os, "geteuid"):
        return None
    return frozenset((0, os.geteuid()))


def _places(folder: Path, files: Iterable[Path]) -> Iterable[tuple[Path, bool]]:
    """The folder and what decides about it: (path, whether it only lies above)."""
    real = Path(os.path.realpath(folder))
    yield real, False
    yield from ((above, True) for above in real.parents)
    for file in files:
        target = Path(os.path.realpath(file))
        yield target, False
        if target.parent != real:  # a link to code elsewhere
            yield from ((above, True) for above in target.parents)


def _problem(path: Path, status: os.stat_result, owners: frozenset[int], above: bool) -> str:
    if not stat.S_ISDIR(status.st_mode) and not stat.S_ISREG(status.st_mode):
        return f"{path} is neither a file nor a folder"
    # What lies above may belong to anybody: in a container the host's root has another number.
    if not above and (owner := owner_of(status, path)) not in owners:
        return f"{path} belongs to {name_of(owner)}, and code of somebody else is not run; copy it to run it"
    # In a sticky folder such as /tmp nobody renames what belongs to others.
    sticky = above and bool(status.st_mode & stat.S_ISVTX)
    if status.st_mode & stat.S_IWOTH and not sticky:
        return f"{path} can be changed by everybody, so its code is not run; first: chmod o-w '{path}'"
    return ""


# -- folders of our own


def private_folder(prefix: str) -> str:
    """A new folder that only we may enter; as root never below one of somebody else, who could exchange it."""
    import tempfile  # takes as long as a tenth of all else that a command imports

    try:
        usual = tempfile.gettempdir()
    except FileNotFoundError:  # it tries to write a file into each; the error names the working folder
        raise OSError(errno.EROFS, "no folder for temporary files can be written to (TMPDIR, df, ulimit -f)") from None
    return tempfile.mkdtemp(prefix=prefix, dir=_temporary(usual) if privileged() else None)


def _temporary(usual: str) -> str:
    for folder in (usual, "/tmp", "/var/tmp", "/run"):
        try:
            if not weaknesses(os.path.abspath(folder), sticky_ok=True):
                return folder
        except OSError:
            continue
    raise OSError(errno.EPERM, "no folder for temporary files is safe from other users", usual)


# -- names


def name_of(uid: int) -> str:
    """A user as the reader knows that one."""
    try:
        return f"user '{_plain(account(uid).pw_name)}'"
    except (ImportError, KeyError, OverflowError):
        return "somebody who mounted a disk" if uid == SOMEBODY else f"user {uid}"


def _plain(name: str) -> str:
    return re.sub(r"[^\w.@+-]", "?", name)
