"""Whether code in a folder may be run: only what nobody but the user and root can change.

Checks of ``--checks DIR`` and of the configuration folder are Python that runs with the user's rights. A folder that
others can write to (a shared scratch, an unpacked archive of another account) would let them run what they like.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path


def untrusted(folder: Path, files: Iterable[Path] = ()) -> str:
    """Why code in a folder is not run, in one sentence with the way out; "" where it may be.

    The folder and each file must belong to the user or root, and not everybody may write there or in a folder above.
    A group that may write was let in by somebody. Windows has other rights; nothing is said there.
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
    return ""


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
    if not above and status.st_uid not in owners:
        return f"{path} belongs to {_name(status.st_uid)}, and code of somebody else is not run; copy it to run it"
    # In a sticky folder such as /tmp nobody renames what belongs to others.
    sticky = above and bool(status.st_mode & stat.S_ISVTX)
    if status.st_mode & stat.S_IWOTH and not sticky:
        return f"{path} can be changed by everybody, so its code is not run; first: chmod o-w '{path}'"
    return ""


def _name(uid: int) -> str:
    try:
        import pwd

        return f"user '{pwd.getpwuid(uid).pw_name}'"
    except (ImportError, KeyError):
        return f"user {uid}"
