"""Reading the tables that ship: lazily, once a process, safely.

A table is parsed when somebody asks for it, by PyYAML's C loader where it exists (about ten times as fast as the
Python one). What was parsed is kept in ``__pycache__`` as Python keeps its byte code: for this very file (time and
size), not where ``PYTHONDONTWRITEBYTECODE`` is set, and never in a folder of somebody else. Tables are data: nothing in
them is evaluated, and whoever gets one must not change it.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import stat
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any, Literal

Kind = Literal["primary", "measured", "secondary", "derived", "community", "not-verified"]
KINDS: tuple[Kind, ...] = ("primary", "measured", "secondary", "derived", "community", "not-verified")

Table = Mapping[str, Any]
# What is kept is a file of ours: neither a link nor a FIFO, which would wait for its writer.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FLAGS |= getattr(os, "O_BINARY", 0)


class TableError(Exception):
    """A table that should ship is missing or damaged; the message names it."""


@dataclass(frozen=True, slots=True)
class TableSource:
    """Where facts of a table come from: ``what`` is readable, ``kind`` says how far it carries.

    ``read`` is the day or month on which it was read: its own, else that of the table.
    """

    id: str
    what: str
    kind: Kind
    read: str


def _folder(name: str) -> Path:
    """A data folder of the package: inside it, or beside it in a checkout of this project and nowhere else."""
    package = Path(__file__).parents[1]
    inside = package / name
    if inside.is_dir():
        return inside
    beside = package.parent
    try:
        ours = 'name = "rocdoctor"' in (beside / "pyproject.toml").read_text(encoding="utf-8")
    except OSError:
        ours = False
    if ours and (beside / name).is_dir():
        return beside / name
    raise TableError(f"rocdoctor is not installed completely: its {name} are missing")


@cache
def knowledge_folder() -> Path:
    """The folder of the knowledge tables."""
    return _folder("knowledge") / "tables"


@cache
def profiles_folder() -> Path:
    """The folder of the GPU profiles."""
    return _folder("profiles")


def parse(text: str, loader: Any = None) -> Table:
    """A table from its text; raises ``TableError`` when it is no mapping."""
    import yaml  # not needed where the parsed form is at hand

    safe = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        table = yaml.load(text, Loader=loader or safe)  # noqa: S506  (only safe loaders come here)
    except yaml.YAMLError as error:
        raise TableError(str(error)) from error
    if not isinstance(table, dict):
        raise TableError("not a table")
    return table


def read_table(path: Path) -> Table:
    """The table in a file, from its kept form where that is of this file; raises as ``parse`` and reading do."""
    status = path.stat()
    stamp = (status.st_mtime_ns, status.st_size)
    table = kept(path, "table", stamp, lambda: dict(parse(path.read_text(encoding="utf-8"))))
    return table if isinstance(table, dict) else parse(path.read_text(encoding="utf-8"))


def kept(beside: Path, kind: str, stamp: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    """What was made of a file or folder and kept for it, or is made now to be kept; None where it cannot be kept.

    ``stamp`` tells what it was made of. Raises what ``make`` raises.
    """
    found = recalled(beside, kind, stamp)
    if found is not None or not _may_keep(beside):
        return found
    made = make()
    keep(beside, kind, stamp, made)
    return made


def recalled(beside: Path, kind: str, stamp: tuple[Any, ...]) -> Any:
    """What was kept for a file or folder; None where there is nothing of that stamp, or no memory for it just now."""
    # Where memory is short, threads may hold it for a moment: the usual way needs it in smaller pieces.
    with contextlib.suppress(OSError, ValueError, EOFError, TypeError, IndexError, NotImplementedError, MemoryError):
        found = marshal.loads(_kept(_beside(beside, kind), beside.stat().st_uid))
        if found[0] == stamp and len(found) == 2:
            return found[1]
    return None


def keep(beside: Path, kind: str, stamp: tuple[Any, ...], made: Any) -> None:
    """Keep something that was made, where that may be."""
    if _may_keep(beside):
        with contextlib.suppress(OSError, ValueError, MemoryError):
            _keep(_beside(beside, kind), marshal.dumps((stamp, made)))


def _beside(beside: Path, kind: str) -> Path:
    return Path(cache_from_source(f"{beside}.py")).with_suffix(f".{kind}")


def _may_keep(beside: Path) -> bool:
    try:
        _beside(beside, "any")
        owner = beside.stat().st_uid
    except (NotImplementedError, OSError):  # an interpreter without a place for byte code
        return False
    return not sys.dont_write_bytecode and owner == getattr(os, "geteuid", lambda: owner)()


def _kept(path: Path, owner: int) -> bytes:
    """The kept form of the table's owner, root or us: what others wrote can break the interpreter that loads it."""
    with open(os.open(path, _FLAGS), "rb") as stream:
        status = os.fstat(stream.fileno())
        ours = status.st_uid in (0, owner, getattr(os, "geteuid", lambda: owner)())
        if not ours or not stat.S_ISREG(status.st_mode) or status.st_mode & 0o022:
            raise PermissionError
        return stream.read()


def _keep(kept: Path, data: bytes) -> None:
    """Write a file at once or not at all, since several of us may run."""
    import tempfile  # once, when a table has changed

    kept.parent.mkdir(mode=0o755, exist_ok=True)
    folder = os.stat(kept.parent)
    if folder.st_uid != getattr(os, "geteuid", lambda: folder.st_uid)() or folder.st_mode & 0o022:
        raise PermissionError  # others could put a link in the place of what is written
    handle, name = tempfile.mkstemp(dir=kept.parent)
    try:
        with open(handle, "wb") as out:
            if hasattr(os, "fchmod"):
                os.fchmod(handle, 0o644)
            out.write(data)
        os.replace(name, kept)
    except OSError:
        os.unlink(name)
        raise


@cache
def load_table(name: str) -> Table:
    """The knowledge table ``name`` (a file name without ``.yaml``); raises ``TableError`` when it cannot be read."""
    path = knowledge_folder() / f"{name}.yaml"
    if not name.replace("_", "").isalnum():
        raise TableError(f"no table is called {name!r}")
    try:
        return read_table(path)
    except (OSError, UnicodeError, TableError) as error:
        raise TableError(f"the table {name} cannot be read: {error}") from error


@cache
def profile_texts() -> tuple[tuple[str, str], ...]:
    """Family name and raw text of each profile file, sorted; reading is cheap, parsing is not."""
    files = sorted(profiles_folder().glob("*-*.yaml"))
    return tuple((path.stem, path.read_text(encoding="utf-8")) for path in files)


@cache
def load_profile(family: str) -> Table:
    """The profile file of a GPU family, such as ``amd-rdna3``."""
    for name, _ in profile_texts():
        if name == family:
            return read_table(profiles_folder() / f"{name}.yaml")
    raise TableError(f"no profile is called {family!r}")


def source(table: str, source_id: str) -> TableSource | None:
    """What a source id in a knowledge table stands for, or None when the table lacks it."""
    whole = load_table(table)
    one = whole["sources"].get(source_id)
    if one is None:
        return None
    return TableSource(source_id, one["what"], one["kind"], str(one.get("read", whole["read_through"])))


def words(value: Any) -> tuple[str, ...]:
    """A value that may be absent, one word, or a list, as a tuple of words."""
    if value is None:
        return ()
    return tuple(str(one) for one in value) if isinstance(value, list) else (str(value),)


@lru_cache(maxsize=2000)
def numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version for comparison: ``6.12.107-amd64`` is (6, 12, 107); () when there is none."""
    found: list[int] = []
    for part in version.strip().lstrip("v").split("."):
        digits = ""
        for letter in part:
            if not ("0" <= letter <= "9"):
                break
            digits += letter
        if not digits or len(digits) > 9:
            break
        found.append(int(digits))
        if digits != part:
            break
    return tuple(found)
