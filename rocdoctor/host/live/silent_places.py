"""Files and folders that somebody names, on a file system that gives no answer any more: found before they are read.

A hard mount whose server is gone makes each look wait for ever. So each name is looked at once, with a deadline, by a
thread that is left behind where it hangs.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from rocdoctor.host.live.named_path import open_named
from rocdoctor.host.live.patience import within
from rocdoctor.host.live.user_mounts import served_below
from rocdoctor.model.printable import spelled

_NAME_BYTES = 65536


def silent_place(names: Iterable[str], limit_s: float) -> str:
    """The first of these files and folders that gives no answer in time; "" where all do, or are not there.

    Of a folder what is mounted below it is asked too: whoever names it has that read as well.
    """
    for name in names:
        seen = within(limit_s, partial(_look, name))
        if not seen:
            return name
        for mount in seen[0]:
            if not within(limit_s, partial(_look, mount)):
                return mount
    return ""


def silent_place_apart(names: Sequence[str], limit_s: float) -> str:
    """The same, looked for by a child: where a look hangs that one is left behind, and this process can still end."""
    if sys.platform != "linux":
        return silent_place(names, limit_s)
    answer, told = os.pipe()
    try:
        child = os.fork()
    except OSError:  # no more processes for this user
        os.close(told)
        os.close(answer)
        return silent_place(names, limit_s)
    if child == 0:
        with contextlib.suppress(BaseException):
            os.write(told, b"=" + os.fsencode(silent_place(names, limit_s)))
        os._exit(0)
    os.close(told)
    try:  # its end would not do: a thread that hangs keeps the pipe open
        found = os.fsdecode(os.read(answer, _NAME_BYTES)[1:])
    finally:
        os.close(answer)
    if not found:
        os.waitpid(child, 0)
    return found


def no_answer(name: str, limit_s: float) -> str:
    """What is said of such a place."""
    return f"{spelled(name)}: no answer within {limit_s:g} s (is what is mounted there gone?)"


def _look(name: str) -> list[str]:
    """Read a little of a file or folder; what is mounted below it, where that is served by others."""
    try:
        opened = open_named(Path(name))
        try:
            with os.scandir(opened) as entries:
                next(entries, None)
        except NotADirectoryError:
            os.read(opened, 1)
            return []
        finally:
            os.close(opened)
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
        return served_below(os.path.realpath(name), mounts)
    except (OSError, ValueError):  # the one who reads it says why
        return []
