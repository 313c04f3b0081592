"""Writing files that a user asked for: whole or not at all, never over another one unless that was asked for too."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from rocdoctor.host.live import new_file
from rocdoctor.model.printable import spelled
from rocdoctor.service.errors import UsageError
from rocdoctor.train.emit.files import File


def write_files(folder: Path, files: Sequence[File], force: bool = False) -> list[Path]:
    """Write files into a folder (made where it is missing) and return their paths.

    All names are looked at before the first file is written, so one that exists stops the whole. Raises UsageError
    naming the file.
    """
    paths = [folder / _name(one) for one in files]
    doubled = next((path for path in paths if paths.count(path) > 1), None)
    if doubled is not None:
        raise UsageError(f"{doubled}: two files of this name")
    with _folder(folder, make=True) as descriptor:
        for path in paths:
            _refuse(path, force, descriptor)
        for path, one in zip(paths, files, strict=True):
            _write(path, one.text, one.executable, force, descriptor)
    return paths


def write_new(path: Path, text: str, executable: bool = False, force: bool = False) -> None:
    """Write one file with mode 0600 (0700 for a program), since it may hold words of the evidence as they are.

    Symbolic links are neither followed nor replaced; as root none of another user is followed on the way either. Raises
    UsageError naming the file.
    """
    with _folder(path.parent, named=path) as folder:
        _refuse(path, force, folder)
        _write(path, text, executable, force, folder)


@contextlib.contextmanager
def _folder(path: Path, make: bool = False, named: Path | None = None) -> Iterator[int | None]:
    with contextlib.ExitStack() as stack:
        try:
            folder = stack.enter_context(new_file.folder_for(path, make))
        except OSError as error:
            raise UsageError(f"{named or path}: {error.strerror or error}") from None
        yield folder


def _write(path: Path, text: str, executable: bool, force: bool, folder: int | None) -> None:
    try:
        new_file.write_new(path, text.encode(), 0o700 if executable else 0o600, force, folder)
    except FileExistsError:
        raise UsageError(_EXISTS.format(path)) from None
    except OSError as error:
        raise UsageError(f"{spelled(str(path))}: {error.strerror or error}") from None


_EXISTS = "{}: exists already (--force overwrites it)"


def _name(one: File) -> str:
    if one.name in ("", ".", "..") or "/" in one.name or "\0" in one.name or os.sep in one.name:
        raise UsageError(f"{one.name!r}: no name of a file")
    return one.name


def _refuse(path: Path, force: bool, folder: int | None) -> None:
    """UsageError where something stands that may not be replaced."""
    try:
        name = path if folder is None else path.name
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"{spelled(str(path))}: {error.strerror}") from None
    if stat.S_ISLNK(mode):
        raise UsageError(f"{spelled(str(path))}: a symbolic link; links are not followed")
    if not stat.S_ISREG(mode):
        raise UsageError(f"{spelled(str(path))}: exists and is not a regular file")
    if not force:
        raise UsageError(_EXISTS.format(path))
