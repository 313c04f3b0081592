"""Reading and replacing files that belong to the person: what is unusual about one is a reason to leave it alone."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

from rocdoctor.host.live.accounts import account
from rocdoctor.host.live.exchange import exchange, written_to
from rocdoctor.host.live.new_file import write_new
from rocdoctor.host.live.regular_files import READING, read_opened, read_regular
from rocdoctor.host.live.trust import owner_of

MOST_BYTES = 1 << 20
_CHANGED = "somebody has changed it in the meantime"
# Set again by the kernel for the new file, by the rules of its folder.
_HARMLESS = frozenset(("security.selinux",))


class Refused(Exception):
    """A file or a state that is left alone; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A file as it was read: its content, and what tells whether somebody has changed it since."""

    path: Path
    data: bytes
    mode: int
    uid: int
    gid: int
    mtime_ns: int
    inode: int

    @property
    def digest(self) -> str:
        """SHA-256 of the content."""
        return digest_of(self.data)


def digest_of(data: bytes) -> str:
    """SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def look(path: Path, uid: int, top: Path = Path("/"), *, closed: bool = False) -> SeenFile:
    """A file that may be replaced by the user ``uid``; ``top``: above it nothing is judged.

    ``closed``: it may be closed to its owner too, as those of the system that programs alone write (/etc/gshadow).

    Raises:
        Refused: a link (also a hard one), not a regular file, somebody else's, closed to writing, with access lists,
            too large, or in a folder that others can change.
    """
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            raise Refused("it is a symbolic link: change the file that it leads to yourself")
        if not stat.S_ISREG(status.st_mode):
            raise Refused("it is not a regular file")
        if (owner := owner_of(status, path)) != uid:
            raise Refused(f"it belongs to {_name(owner)}")
        if status.st_nlink > 1:
            raise Refused("it has several names (hard links), and a new file would part them")
        if not closed and not status.st_mode & stat.S_IWUSR:
            raise Refused("it is closed to writing (read-only)")
        data = _read_seen(path, status)
        special = _attributes(path)
    except OSError as error:
        raise Refused(error.strerror or str(error)) from None
    if special:
        raise Refused(f"it has access lists or attributes that a new file would lose ({', '.join(special)})")
    _judge_folders(path, uid, top)
    return SeenFile(
        path, data, stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid, status.st_mtime_ns, status.st_ino
    )


def replace(seen: SeenFile, data: bytes, mtime_ns: int | None = None, mode: int | None = None) -> None:
    """Put new content in the place of a file that is as it was seen, with its mode and group.

    Raises:
        Refused: somebody has changed it meanwhile, or it cannot be written.
    """
    try:
        status = os.lstat(seen.path)
        if not _is_seen(status, seen.path, seen) or _read_seen(seen.path, status) != seen.data:
            raise Refused(_CHANGED)
        beside = seen.path.with_name(f".{seen.path.name[:100]}.{secrets.token_hex(6)}")
        _make(beside, seen, data, seen.mode if mode is None else mode, mtime_ns)
        _exchange(beside, seen)
    except OSError as error:
        raise Refused(f"it cannot be written ({error.strerror or error})") from None


def _is_seen(status: os.stat_result, path: Path, seen: SeenFile) -> bool:
    """Whether a file has the number, the time and the rights that were seen: its owner may have shut others out."""
    now = (stat.S_ISREG(status.st_mode), status.st_ino, status.st_mtime_ns, status.st_uid, status.st_gid)
    same = now == (True, seen.inode, seen.mtime_ns, seen.uid, seen.gid)
    return same and stat.S_IMODE(status.st_mode) == seen.mode and status.st_nlink == 1 and not _attributes(path)


def _make(beside: Path, seen: SeenFile, data: bytes, mode: int, mtime_ns: int | None) -> None:
    """The new file, all that it shall be, under another name."""
    write_new(beside, data, mode)
    try:
        if os.lstat(beside).st_gid != seen.gid:
            os.chown(beside, -1, seen.gid, follow_symlinks=False)
            os.chmod(beside, mode)  # chown takes set-id bits away
        if mtime_ns is not None:
            os.utime(beside, ns=(mtime_ns, mtime_ns), follow_symlinks=False)
        if special := _attributes(beside):
            raise Refused(f"its folder gives new files rights of their own, an access list ({', '.join(special)})")
    except BaseException:
        _forget(beside)
        raise


def _exchange(beside: Path, seen: SeenFile) -> None:
    """Give the new file its name, and keep it there only if what comes out is what was read.

    What somebody wrote since goes back to its place, and so does a file that somebody has open for writing. Where names
    cannot be exchanged, what is written in that very moment is lost.
    """
    ours = os.lstat(beside).st_ino
    try:
        if not exchange(beside, seen.path):
            os.replace(beside, seen.path)
            return
    except BaseException:
        _forget(beside)
        raise
    changed = True
    try:
        changed = not _is_as_read(beside, seen)
    finally:
        if changed:
            _put_back(beside, seen.path, ours)
        _forget(beside)
    if changed:
        raise Refused(_CHANGED)


def _put_back(beside: Path, path: Path, ours: int) -> None:
    """What came out gets its name again; if somebody has put a third file there meanwhile, that one is the newest."""
    exchange(beside, path)
    if os.lstat(beside).st_ino != ours:
        exchange(beside, path)


def _is_as_read(beside: Path, seen: SeenFile) -> bool:
    if not _is_seen(os.lstat(beside), beside, seen):
        return False
    descriptor = os.open(beside, READING | os.O_NOFOLLOW)
    if written_to(descriptor):
        os.close(descriptor)
        return False
    return read_opened(descriptor, beside, MOST_BYTES) == seen.data


def _forget(beside: Path) -> None:
    with contextlib.suppress(OSError):
        os.unlink(beside)


def _read_seen(path: Path, status: os.stat_result) -> bytes:
    """The content of the very file that was looked at: its owner may have put a link in its place since."""
    try:
        descriptor = os.open(path, READING | os.O_NOFOLLOW)
        same = os.path.samestat(os.fstat(descriptor), status)
    except FileNotFoundError:
        same, descriptor = False, -1
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        same, descriptor = False, -1
    if not same:
        if descriptor >= 0:
            os.close(descriptor)
        raise Refused(_CHANGED)
    return read_opened(descriptor, path, MOST_BYTES)


def former_mode(recorded: int, present: int) -> int:
    """The mode that a file gets back: what a list of changes says gives nobody rights that the file does not give now.

    A fix keeps the mode of what it changes, so nothing is lost; set-id bits come from no list either.
    """
    return recorded & (0o700 | present)


def write_kernel(path: Path, word: str) -> None:
    """Write a word into a file of the kernel, in place; raises Refused."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise Refused("it is not a regular file")
            os.write(descriptor, f"{word}\n".encode())
        finally:
            os.close(descriptor)
    except OSError as error:
        raise Refused(f"it cannot be written ({error.strerror or error})") from None


def read_kernel(path: Path) -> str:
    """The word that a file of the kernel holds: the one in brackets where it lists several; raises Refused."""
    try:
        text = read_regular(path, 65536).decode("ascii", "replace").strip()
    except OSError as error:
        raise Refused(f"it cannot be read ({error.strerror or error})") from None
    chosen = [word[1:-1] for word in text.split() if word.startswith("[") and word.endswith("]")]
    return chosen[0] if len(chosen) == 1 else text


def _attributes(path: Path) -> list[str]:
    with contextlib.suppress(OSError, AttributeError):
        return sorted(set(os.listxattr(path, follow_symlinks=False)) - _HARMLESS)
    return []


def _judge_folders(path: Path, uid: int, top: Path) -> None:
    """Somebody who may write in a folder could put another file there between our look and our step."""
    real = Path(os.path.realpath(path.parent))
    for folder in (real, *real.parents):
        status = os.stat(folder)
        sticky = bool(status.st_mode & stat.S_ISVTX)
        # What lies above may belong to anybody: in a container the host's root has another number.
        foreign = folder == real and owner_of(status, folder) not in (0, uid)
        if foreign or (status.st_mode & stat.S_IWOTH and not sticky):
            raise Refused(f"others can change the folder {folder}")
        if folder == Path(os.path.realpath(top)):
            return


def _name(uid: int) -> str:
    try:
        return account(uid).pw_name
    except (ImportError, KeyError):
        return f"user {uid}"
