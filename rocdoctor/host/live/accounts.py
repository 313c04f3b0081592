"""Who users and groups are, as the system tells: a directory server (LDAP, SSSD) that is gone holds whoever asks.

Each look-up has a deadline, and after one that gave no answer nobody asks again: the C library may hold a lock then.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from rocdoctor.host.live.patience import within

if TYPE_CHECKING:
    import grp
    import pwd

_T = TypeVar("_T")
_LIMIT_S = 2.0
_MOST_GROUPS = 65_536  # NGROUPS_MAX of linux/limits.h
_gone: list[bool] = []


class NoAnswerError(KeyError):
    """Nobody answered; for who asks that is as good as no such account."""


def _asked(question: Callable[[], _T]) -> _T:
    found = [] if _gone else within(_LIMIT_S, question)
    if not found:
        _gone.append(True)
        raise NoAnswerError("the directory of accounts gives no answer")
    return found[0]


def account(uid: int) -> pwd.struct_passwd:
    """The account with a number; raises KeyError where there is none, or nobody answers, ImportError on Windows."""
    import pwd

    return _asked(lambda: pwd.getpwuid(uid))


def account_called(name: str) -> pwd.struct_passwd:
    """The account with a name; raises as ``account``."""
    import pwd

    return _asked(lambda: pwd.getpwnam(name))


def group(gid: int) -> grp.struct_group:
    """The group with a number; raises as ``account``."""
    import grp

    return _asked(lambda: grp.getgrgid(gid))


def expanded(path: str) -> str:
    """As ``os.path.expanduser``: a path whose home nobody tells (``~name``, or HOME is not set) stays as it is."""
    if not path.startswith("~") or (path[1:2] in ("", "/") and "HOME" in os.environ):
        return os.path.expanduser(path)  # asks nobody
    try:
        return _asked(lambda: os.path.expanduser(path))
    except NoAnswerError:
        return path


def groups_of(name: str, gid: int) -> list[int]:
    """The groups of a user, the first of which is ``gid``; raises KeyError where nobody answers."""
    return _asked(lambda: _groups_of(name, gid))


def _groups_of(name: str, gid: int) -> list[int]:
    """As ``os.getgrouplist``, which lets no other thread of Python go on while it waits."""
    import ctypes

    call = ctypes.CDLL(None).getgrouplist
    room = ctypes.c_int(256)
    for _ in range(2):
        found = (ctypes.c_uint32 * room.value)()
        if call(name.encode("utf-8", "surrogateescape"), ctypes.c_uint32(gid), found, ctypes.byref(room)) >= 0:
            return list(found[: room.value])
        room.value = max(256, min(room.value, _MOST_GROUPS))
    raise KeyError(f"the groups of {name}")
