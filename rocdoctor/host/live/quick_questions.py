"""Questions that need no program, answered in the thread that asks: files, folders, nodes, our own environment."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable

from rocdoctor.host.base import MAX_ANSWER_BYTES, Answer, Status, normalise
from rocdoctor.host.live import processes
from rocdoctor.host.live.accounts import expanded, groups_of
from rocdoctor.host.live.device_nodes import open_as, open_as_we_are, stat_text
from rocdoctor.host.live.folder_names import TooManyNamesError, matching
from rocdoctor.host.live.programs import invoking_user
from rocdoctor.model.lazy_re import regex

_PIECE_BYTES = 256 * 1024
# Of files as another process sees them, whose links must not lead out of its root.
_OTHER_ROOT = regex(r" /proc/[0-9]{1,10}/root(?:/|\Z)")


def look(question: str) -> Answer:
    """Answer a question that needs no program, in this thread and without a deadline."""
    try:
        if _OTHER_ROOT.search(question):
            from rocdoctor.host.live.process_root_questions import look_inside

            return look_inside(question)
        return _QUICK.get(question.split(" ", 1)[0], no_such_verb)(question)
    except Exception as error:  # a question never breaks the tool
        return Answer(question, "failed", note=f"{type(error).__name__}: {error}")


def _failure(question: str, error: OSError) -> Answer:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return Answer(question, "absent")
    if isinstance(error, PermissionError):
        return Answer(question, "denied")
    return Answer(question, "failed", note=os.strerror(error.errno) if error.errno else str(error))


def _path(question: str) -> str:
    return expanded(question.split(" ", 1)[1])


def _read(question: str) -> Answer:
    try:
        if not stat.S_ISREG(os.stat(_path(question)).st_mode):
            return Answer(question, "failed", note="not a regular file")
        with open(
            os.open(_path(question), os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), "rb", 0
        ) as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                return Answer(question, "failed", note="not a regular file")
            # In pieces: files of /proc/sys allocate as much as they are asked for, and refuse 16 MiB.
            pieces = bytearray()
            while len(pieces) <= MAX_ANSWER_BYTES and (piece := stream.read(_PIECE_BYTES)):
                pieces += piece
            data = bytes(pieces)
    except OSError as error:
        return _failure(question, error)
    cut = len(data) > MAX_ANSWER_BYTES
    return Answer(question, "ok", normalise(data[:MAX_ANSWER_BYTES]), truncated=cut)


def _list(question: str) -> Answer:
    pattern = _path(question)
    try:
        found = sorted(matching(pattern))
    except TooManyNamesError as error:
        return Answer(question, "failed", note=str(error.strerror))
    if not found:  # also where the folder may not be looked into, or fails: then nothing is known of what it holds
        folder = os.path.dirname(re.split(r"[*?\[]", pattern, maxsplit=1)[0]) or "/"
        try:
            with os.scandir(folder) as entries:
                next(entries, None)
        except OSError as error:
            failure = _failure(question, error)
            return failure if failure.status != "absent" else Answer(question, "ok")
    return Answer(question, "ok", "\n".join(found).encode())


def _link(question: str) -> Answer:
    try:
        return Answer(question, "ok", os.path.realpath(_path(question), strict=True).encode())
    except OSError as error:
        return _failure(question, error)


def _stat(question: str) -> Answer:
    try:
        status = os.stat(_path(question))
    except OSError as error:
        return _failure(question, error)
    return Answer(question, "ok", stat_text(status).encode())


def _open(question: str) -> Answer:
    path = _path(question)
    try:
        if not stat.S_ISCHR(os.stat(path).st_mode):
            return Answer(question, "failed", note="not a character device")
    except OSError as error:
        return _failure(question, error)
    user = invoking_user()
    if user is not None:  # root's own access proves nothing about the person who called sudo
        name, uid, gid = user
        try:
            groups = groups_of(name, gid)
        except (OSError, KeyError) as error:
            return Answer(question, "failed", note=f"the groups of the user who called sudo are not known: {error}")
        return open_as(question, path, uid, gid, groups)
    return open_as_we_are(question, path)


def _space(question: str) -> Answer:
    try:
        status = os.statvfs(_path(question))
    except OSError as error:
        return _failure(question, error)
    return Answer(question, "ok", f"{status.f_frsize * status.f_blocks} {status.f_frsize * status.f_bavail}".encode())


def _env(question: str) -> Answer:
    if invoking_user() is not None:
        note = "run through sudo: root's environment is not the user's"
        return Answer(question, "failed", note=note, complete=False)
    pairs = ((name, value.replace("\\", "\\\\").replace("\n", "\\n")) for name, value in os.environ.items())
    text = "\n".join(f"{name}={value}" for name, value in sorted(pairs))
    return Answer(question, "ok", text.encode("utf-8", errors="replace"))


def _udev(question: str) -> Answer:
    from rocdoctor.host.live.udev import describe

    return describe(question)


def _holders(question: str) -> Answer:
    from rocdoctor.host.live.gpu_holders import answer_holders

    return answer_holders(question)


def no_such_verb(question: str) -> Answer:
    """The answer to a question that no host knows: it was not asked."""
    status: Status = "not-asked"
    return Answer(question, status)


_QUICK: dict[str, Callable[[str], Answer]] = {
    "read": _read,
    "list": _list,
    "link": _link,
    "stat": _stat,
    "open": _open,
    "space": _space,
    "env": _env,
    "udev": _udev,
    "holders": _holders,
    **processes.QUICK,
}
