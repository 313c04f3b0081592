"""Which program and which interpreter a question means, and as whom we ask."""

from __future__ import annotations

import os
import stat
from functools import cache
from pathlib import Path

# Vendor tools are often installed where PATH does not lead.
_VENDOR_DIRECTORIES = (
    "/opt/rocm/bin",
    "/opt/rocm/core/bin",
    "/usr/sbin",
    "/sbin",
    "/usr/local/cuda/bin",
    "/usr/lib/wsl/lib",
)


def invoking_user() -> tuple[str, int, int] | None:
    """(name, uid, gid) of the person who called sudo; None when we do not run as root through sudo."""
    name, uid, gid = (os.environ.get(key, "") for key in ("SUDO_USER", "SUDO_UID", "SUDO_GID"))
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or not name or not uid.isdigit() or not gid.isdigit():
        return None
    return (name, int(uid), int(gid)) if int(uid) != 0 else None


def _trusted(path: str) -> bool:
    """Whether a directory can be written by root alone (what root may run must not be somebody else's)."""
    try:
        status = os.stat(path)
    except OSError:
        return False
    return status.st_uid == 0 and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@cache
def _directories() -> tuple[str, ...]:
    found = [part for part in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(part)]
    found += _VENDOR_DIRECTORIES
    found += sorted((str(path) for path in Path("/opt").glob("rocm*/bin")), reverse=True)
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        found = [part for part in found if _trusted(part)]
    return tuple(dict.fromkeys(found))


@cache
def find_program(name: str) -> str | None:
    """The full path of a program: the user's PATH, then the vendors' folders; as root only folders of root."""
    if os.path.isabs(name):
        return name if os.access(name, os.X_OK) else None
    for directory in _directories():
        path = os.path.join(directory, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def find_interpreter(which: str | None) -> str | None:
    """The interpreter to examine: the given one, else the active environment's, else ``python3`` on PATH.

    The environment that rocdoctor itself was installed into counts as the user's only when it is the active one.
    """
    if which:
        path = Path(which).expanduser()
        if path.is_dir():
            path = path / "bin" / "python"
        return str(path) if os.access(path, os.X_OK) and path.is_file() else find_program(which)
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        prefix = os.environ.get(variable)
        if prefix and os.access(Path(prefix) / "bin" / "python", os.X_OK):
            return str(Path(prefix) / "bin" / "python")
    return find_program("python3") or find_program("python")


@cache
def child_environment() -> dict[str, str]:
    """The environment for programs: the user's own, with plain English output and no colours or pagers."""
    environment = {**os.environ, "LC_ALL": "C", "LANG": "C", "NO_COLOR": "1", "PAGER": "cat", "SYSTEMD_PAGER": "cat"}
    environment.pop("LD_PRELOAD", None) if hasattr(os, "geteuid") and os.geteuid() == 0 else None
    return environment
