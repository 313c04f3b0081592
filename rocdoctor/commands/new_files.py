"""Writing files that a user asked for: whole or not at all, never over another one unless that was asked for too."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from rocdoctor.cli import UsageError
from rocdoctor.emit.files import File
from rocdoctor.host import new_file


def write_files(folder: Path, files: Sequence[File], force: bool = False) -> list[Path]:
    """Write files into a folder (made where it is missing) and return their paths.

    All names are looked at before the first file is written, so one that exists stops the whole. Raises UsageError
    naming the file.
    """
    paths = [folder / _name(one) for one in files]
    doubled = next((path for path in paths if paths.count(path) > 1), None)
    if doubled is not None:
        raise UsageError(f"{doubled}: two files of this name")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}") from None
    for path in paths:
        _refuse(path, force)
    for path, one in zip(paths, files, strict=True):
        write_new(path, one.text, one.executable, force)
    return paths


def write_new(
    path: Path, text: str, executable: bool = False, force: bool = False, mode: int | None = None
) -> None:  # fmt: skip
    """Write one file with mode 0644 (0755 for a program) or ``mode``; raises UsageError naming it.

    Symbolic links are neither followed nor replaced.
    """
    _refuse(path, force)
    try:
        new_file.write_new(path, text.encode(), mode or (0o755 if executable else 0o644), force)
    except FileExistsError:
        raise UsageError(_EXISTS.format(path)) from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None


_EXISTS = "{}: exists already (--force writes it anew)"


def _name(one: File) -> str:
    if one.name in ("", ".", "..") or "/" in one.name or "\0" in one.name or os.sep in one.name:
        raise UsageError(f"{one.name!r}: no name of a file")
    return one.name


def _refuse(path: Path, force: bool) -> None:
    """UsageError where something stands that may not be replaced."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    if stat.S_ISLNK(mode):
        raise UsageError(f"{path}: a symbolic link; links are not followed")
    if not stat.S_ISREG(mode):
        raise UsageError(f"{path}: exists and is no regular file")
    if not force:
        raise UsageError(_EXISTS.format(path))
