"""The secret of a run over nodes: made by node 0, given by hand, or left in a file that only this user can read."""

from __future__ import annotations

import base64
import contextlib
import os
import re
import secrets
import shlex
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from rocdoctor.host.live.accounts import expanded
from rocdoctor.host.live.named_path import READING, open_named
from rocdoctor.host.live.trust import owner_of
from rocdoctor.model.lazy_re import regex

VARIABLE = "ROCDOCTOR_SMOKE_KEY"
# 22 signs of 64 are 128 bits; `openssl rand -hex 16` gives 32, and what node 0 makes has 26.
_FORM = regex(r"[A-Za-z0-9_+/=.-]{22,128}")
_MOST_BYTES = 4096


class SecretError(Exception):
    """No secret can be had; the message says why and what to do."""


def make() -> str:
    """A new one: 128 random bits in 26 lower-case letters and digits, without those that look alike."""
    return base64.b32encode(secrets.token_bytes(16)).decode().rstrip("=").lower()


def given(key: str | None, file: str | None, variables: Mapping[str, str]) -> str:
    """What the user gave by option, file or variable, in this order; empty for none.

    Raises:
        SecretError: it has not the form of a secret, or others can read the file.
    """
    if key is not None and file is not None:
        raise SecretError("--key and --key-file name the same thing: give one of them")
    if file is not None:
        return _checked(_read(Path(expanded(file)), links=True), f"the file {file}")
    if key is not None:
        return _checked(key, "--key")
    return _checked(variables[VARIABLE], VARIABLE) if variables.get(VARIABLE) else ""


def _checked(text: str, where: str) -> str:
    found = text.strip()
    if not _FORM.fullmatch(found):
        raise SecretError(f"{where} holds no key: it takes 22 to 128 letters and digits, as openssl rand -hex 16 gives")
    return found


def _read(path: Path, links: bool) -> str:
    """The content of a file of this user alone (or of root); ``links``: it may be a link, since the user named it."""
    try:
        with open(open_named(path) if links else os.open(path, READING | os.O_NOFOLLOW), "rb") as stream:
            seen = os.fstat(stream.fileno())
            if not stat.S_ISREG(seen.st_mode):
                raise SecretError(f"{path} is not a regular file")
            if owner_of(seen, stream.fileno()) not in (os.geteuid(), 0):
                raise SecretError(f"{path} belongs to another user")
            text = stream.read(_MOST_BYTES).decode("ascii", errors="replace")
            if seen.st_mode & 0o077:
                # Advice to change a file is for a key of this user's alone: it may be any file of the system.
                if _FORM.fullmatch(text.strip()) and seen.st_uid == os.geteuid():
                    raise SecretError(f"others can read or write it: chmod 600 {shlex.quote(str(path))}")
                raise SecretError(f"{path} cannot be the key's file: others can read or write it")
            return text
    except OSError as error:
        raise SecretError(f"{path}: {error.strerror}") from None


def _paths(run: str) -> list[Path]:
    """Where the nodes of a Slurm step look: the working directory and the home directory, one of which is shared."""
    name = ".rocdoctor-smoke-" + re.sub(r"[^0-9A-Za-z.-]", "_", run)[:80]
    found = []
    for folder in (os.getcwd, lambda: expanded("~")):
        with contextlib.suppress(OSError):
            found.append(Path(os.path.realpath(folder())) / name)
    return list(dict.fromkeys(found))


@contextlib.contextmanager
def left_for_others(run: str, key: str) -> Iterator[None]:
    """Lay the secret where the other nodes of a Slurm step find it, and take it away at the end.

    Raises:
        SecretError: it can be written nowhere.
    """
    made = []
    try:
        for path in _paths(run):
            with contextlib.suppress(OSError):
                with contextlib.suppress(FileNotFoundError):
                    path.unlink()  # of an earlier start of this job that was killed
                handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
                made.append(path)
                with open(handle, "w", encoding="ascii") as stream:
                    stream.write(key + "\n")
                    stream.flush()
                    os.fsync(handle)
        if not made:
            raise SecretError("neither the working nor the home directory can be written")
        yield
    finally:
        for path in made:
            with contextlib.suppress(OSError):
                path.unlink()


BEFOREHAND = f"Give one to all nodes beforehand: export {VARIABLE}=$(openssl rand -hex 16)"


def left(run: str) -> str:
    """What node 0 left for this step; empty where nothing is found that only this user can have written."""
    for path in _paths(run) if run else ():
        with contextlib.suppress(SecretError):
            return _checked(_read(path, links=False), str(path))
    return ""
