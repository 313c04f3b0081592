"""Device nodes: what they are, and whether they open, for us and for another user."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import subprocess
import sys
from collections.abc import Sequence

from rocdoctor.host.base import Answer
from rocdoctor.host.live.run_program import run_bounded

_LIMIT_S = 3.0
_PROGRAM = (
    "import os,sys\n"
    "try: os.close(os.open(sys.argv[1], os.O_RDWR|os.O_NONBLOCK)); print('read-write')\n"
    "except PermissionError: print('denied')\n"
    "except OSError as error: print('error', os.strerror(error.errno))"
)


def stat_text(status: os.stat_result) -> str:
    """The answer to ``stat PATH``."""
    mode = status.st_mode
    kinds = ((stat.S_ISCHR, "char"), (stat.S_ISBLK, "block"), (stat.S_ISDIR, "dir"), (stat.S_ISREG, "file"))
    kind = next((name for test, name in kinds if test(mode)), "other")
    text = f"{kind} {stat.S_IMODE(mode):04o} {status.st_uid} {status.st_gid}"
    if kind in ("char", "block"):
        text += f" {os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
    return text


def open_as_we_are(question: str, path: str) -> Answer:
    """Try to open a device node for reading and writing."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC))
    except PermissionError as error:
        what = "not permitted (a device rule of the container)" if error.errno == errno.EPERM else "denied"
        return Answer(question, "ok", what.encode())
    except OSError as error:
        return Answer(question, "ok", f"error {os.strerror(error.errno or 0)}".encode())
    return Answer(question, "ok", b"read-write")


def open_as(question: str, path: str, uid: int, gid: int, groups: Sequence[int]) -> Answer:
    """Try to open a device node as another user; only root can ask that.

    That user can look into the process that tries, so it has no variables, no terminal and no files of root's.
    """
    from rocdoctor.host.live import process_root
    from rocdoctor.host.live.interpreter import Identity

    who = Identity(uid, gid, tuple(groups), str(uid), "/")
    handed: list[int] = []
    try:
        with contextlib.ExitStack() as stack:
            if process_root.PATH.match(path):
                descriptor, _ = stack.enter_context(process_root.found(path))
                path, handed = f"/proc/self/fd/{descriptor}", [descriptor]
            if not stat.S_ISCHR(os.stat(path).st_mode):
                return Answer(question, "failed", note="not a character device")
            argv = [sys.executable, "-I", "-S", "-c", _PROGRAM, path]
            told = run_bounded(question, argv, _LIMIT_S, {}, who, handed)
    except FileNotFoundError:
        return Answer(question, "absent")
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return Answer(question, "failed", note=f"cannot try as user {uid}: {error}")
    said = told.data.strip()
    if told.ok and told.exit_code == 0 and said:
        return Answer(question, "ok", said)
    return Answer(question, "failed", note=f"cannot try as user {uid}: {told.note or told.status}")
