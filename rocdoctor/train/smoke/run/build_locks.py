"""Locks of extensions whose build was ended with its run: left in the cache, the user's next job waits for ever.

torch locks the folder of an extension by a file that must not be there yet, keeps it open, and removes it when the
build has ended (torch/utils/file_baton.py and cpp_extension.py of torch 2.13.0, read 2026-11-28).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

_VARIABLE, _BELOW_CACHES = "TORCH_EXTENSIONS_DIR", "torch_extensions"
_DEPTHS = ("*/lock", "*/*/lock")  # with and without a folder for each Python and kind of GPU


def release_abandoned(variables: Mapping[str, str], since_s: float) -> list[Path]:
    """Remove locks that came at ``since_s`` (seconds of the epoch) or later and that no process has open."""
    caches = variables.get("XDG_CACHE_HOME") or os.path.join(variables.get("HOME", ""), ".cache")
    root = Path(variables.get(_VARIABLE) or os.path.join(caches, _BELOW_CACHES))
    fresh = {}
    with contextlib.suppress(OSError):
        for path in (one for depth in _DEPTHS for one in root.glob(depth)):
            told = path.lstat()
            if told.st_mtime >= since_s and told.st_uid == os.getuid():
                fresh[told.st_dev, told.st_ino] = path
    if not fresh:
        return []
    for held in _open_files():
        fresh.pop(held, None)
    for path in fresh.values():
        path.unlink(missing_ok=True)
    return [*fresh.values()]


def still_building(released: Sequence[Path], late: bool) -> str:
    """What such a lock tells of a launch that ran into its deadline; nothing without one."""
    if not released or not late:
        return ""
    return (
        f"an extension was still being compiled in {released[0].parent} when the deadline passed. Run it again on a "
        "less busy machine, or give more time with --deadline"
    )


def _open_files() -> set[tuple[int, int]]:
    """(device, inode) of what this user's processes have open."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*/fd"):
        with contextlib.suppress(OSError):
            for entry in os.scandir(folder):
                with contextlib.suppress(OSError):
                    told = entry.stat()
                    found.add((told.st_dev, told.st_ino))
    return found
