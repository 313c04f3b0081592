"""Questions about files below the root folder of another process, answered as those about ours."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable

from rocdoctor.host.base import Answer, normalise
from rocdoctor.host.live import process_root
from rocdoctor.host.live.device_nodes import open_as_we_are, stat_text

# Whoever lives there says how long a file is, and each sign of it costs us something. Of one file, and of all of a
# process: what is asked for are versions, lists of groups, settings of modules.
_MOST_BYTES, _MOST_ALL_BYTES = 256 << 10, 2 << 20
_read_bytes: Counter[str] = Counter()


def look_inside(question: str) -> Answer:
    """Answer a question about a file below ``/proc/PID/root``."""
    verb, _, path = question.partition(" ")
    look = _LOOKS.get(verb)
    if look is None:
        return Answer(question, "not-asked")
    try:
        return look(question, path)
    except (FileNotFoundError, NotADirectoryError):
        return Answer(question, "ok" if verb == "list" else "absent")
    except PermissionError:
        return Answer(question, "denied")
    except OSError as error:
        return Answer(question, "failed", note=error.strerror or str(error))


def _read(question: str, path: str) -> Answer:
    with process_root.opened(path) as descriptor, open(descriptor, "rb", closefd=False) as stream:
        most = min(_MOST_BYTES, max(0, _MOST_ALL_BYTES - _read_bytes[process_root.head(path)]))
        data = stream.read(most + 1)
    _read_bytes[process_root.head(path)] += len(data)
    return Answer(question, "ok", normalise(data[:most]), truncated=len(data) > most)


def _list(question: str, path: str) -> Answer:
    return Answer(question, "ok", "\n".join(process_root.listed(path)).encode("utf-8", errors="replace"))


def _link(question: str, path: str) -> Answer:
    with process_root.found(path) as (_, place):
        return Answer(question, "ok", f"{process_root.head(path)}{place}".encode("utf-8", errors="replace"))


def _stat(question: str, path: str) -> Answer:
    with process_root.found(path) as (descriptor, _):
        return Answer(question, "ok", stat_text(os.fstat(descriptor)).encode())


def _space(question: str, path: str) -> Answer:
    with process_root.found(path) as (descriptor, _):
        status = os.statvfs(descriptor)
    return Answer(question, "ok", f"{status.f_frsize * status.f_blocks} {status.f_frsize * status.f_bavail}".encode())


def _open(question: str, path: str) -> Answer:
    """With our own rights, which are those of the job."""
    with process_root.found(path) as (descriptor, _):
        if not stat.S_ISCHR(os.fstat(descriptor).st_mode):
            return Answer(question, "failed", note="not a character device")
        return open_as_we_are(question, f"/proc/self/fd/{descriptor}")


_LOOKS: dict[str, Callable[[str, str], Answer]] = {
    "read": _read,
    "list": _list,
    "link": _link,
    "stat": _stat,
    "space": _space,
    "open": _open,
}
