"""Locks of extensions whose build was ended with its run: left in the cache, the user's next job waits for ever.

torch locks the folder of an extension by a file that must not be there yet, keeps it open, and removes it when the
build has ended (torch/utils/file_baton.py and cpp_extension.py of torch 2.13.0, read 2026-11-28). A home folder may be
shared by nodes and containers, where nobody sees who has a lock open: only what a process of this run was seen to have
open is removed.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

from rocdoctor.host.live.folder_names import matching
from rocdoctor.host.live.patience import within

_PATIENCE_S = 1.0  # the cache may lie on a server that is gone; the run's deadline holds all the same
_VARIABLE, _BELOW_CACHES = "TORCH_EXTENSIONS_DIR", "torch_extensions"
_NAME = "lock"
_MOST_NAMES = 20_000  # folders of extensions
_DEPTHS = (f"*/{_NAME}", f"*/*/{_NAME}")  # with and without a folder for each Python and kind of GPU
_File = tuple[int, int, int]  # device, inode, and when it was made: numbers of inodes come again


class BuildLocks:
    """The locks of one run; ``variables`` is its environment, ``ours`` finds its processes."""

    def __init__(self, variables: Mapping[str, str], ours: Callable[[], Collection[int]]) -> None:
        home = variables.get("HOME", "")
        caches = variables.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
        self._root = Path(variables.get(_VARIABLE) or os.path.join(caches, _BELOW_CACHES))
        self._ours = ours
        self._seen: dict[_File, Path] = {}
        self._silent = False
        self.released: list[Path] = []

    def look(self) -> None:
        """Note which locks the processes of the run have open now; without any lock that costs next to nothing."""
        self._within(self._look)

    def release(self) -> None:
        """Remove those that were noted and are still there, once no process has them open."""
        self._within(self._release)

    def _within(self, work: Callable[[], None]) -> None:
        """Nothing more is asked of a cache that did not answer once."""
        if not self._silent:
            self._silent = not within(_PATIENCE_S, work)

    def _look(self) -> None:
        there = dict(self._files())
        if not there.keys() - self._seen.keys():
            return
        for pid in self._ours():
            self._seen.update({one: there[one] for one in _open_files(pid) & there.keys()})

    def _release(self) -> None:
        with contextlib.suppress(OSError):
            left = {one: path for one, path in self._files() if one in self._seen}
            for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if left else ():
                for held in _open_files(pid) & left.keys():
                    del left[held]
            for one, path in left.items():
                if _remove(path, one):
                    self.released.append(path)

    def _files(self) -> Iterator[tuple[_File, Path]]:
        if not self._root.is_absolute():
            return
        with contextlib.suppress(OSError):
            for path in (Path(one) for depth in _DEPTHS for one in matching(depth, str(self._root), _MOST_NAMES)):
                with contextlib.suppress(OSError):
                    told = path.lstat()
                    if stat.S_ISREG(told.st_mode) and told.st_uid == os.getuid():
                        yield _file(told), path


def still_building(released: Collection[Path], late: bool) -> str:
    """What such a lock tells of a launch that ran into its deadline; nothing without one."""
    if not released or not late:
        return ""
    folder = next(iter(released)).parent
    return (
        f"an extension was still being compiled in {folder} when the deadline passed. Run it again on a less busy "
        "machine, or give more time with --deadline"
    )


def _file(told: os.stat_result) -> _File:
    return told.st_dev, told.st_ino, told.st_ctime_ns  # nobody writes to a lock


def _remove(path: Path, file: _File) -> bool:
    """Remove the file, unless there is another one in its place by now."""
    with contextlib.suppress(OSError):
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            told = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
            if _file(told) == file:
                os.unlink(path.name, dir_fd=folder)
                return True
        finally:
            os.close(folder)
    return False


def _open_files(pid: int) -> set[_File]:
    """The locks that a process of this user has open; no file of others is touched: it may hang."""
    found: set[_File] = set()
    with contextlib.suppress(OSError):
        if os.stat(f"/proc/{pid}").st_uid != os.getuid():
            return found
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                if os.path.basename(os.readlink(entry.path)) == _NAME:
                    found.add(_file(entry.stat()))
    return found
