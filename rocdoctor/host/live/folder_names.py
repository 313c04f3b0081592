"""The names in folders: whoever fills one decides how many there are, so no more are held than any folder has.

``glob`` and ``os.listdir`` hold all of a folder before they give the first name, and a file system that a user serves
may have names without end.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice

# Of one folder, and of all that one pattern leads through: more than the largest environments hold.
MOST_NAMES = 200_000
_WHY = "holds too many files to be looked through"
_MAGIC = "*?["


class TooManyNamesError(OSError):
    """A folder with more names than are looked through; its sentence says so."""

    def __init__(self, folder: str) -> None:
        super().__init__(errno.E2BIG, _WHY, folder)


def entries_of(folder: str | int, most: int | None = None) -> list[os.DirEntry[str]]:
    """What lies in a folder; raises OSError where it cannot be read, TooManyNamesError beyond ``most``."""
    most = MOST_NAMES if most is None else max(0, most)
    with os.scandir(folder) as found:
        entries: list[os.DirEntry[str]] = list(islice(found, most + 1))
    if len(entries) > most:
        raise TooManyNamesError(str(folder))
    return entries


def names_in(folder: str | int, most: int | None = None) -> list[str]:
    """The names in a folder, in no order; raises as ``entries_of`` does."""
    return [one.name for one in entries_of(folder, most)]


def matching(pattern: str, below: str = "", most: int | None = None) -> list[str]:
    """The paths that a pattern means (``*``, ``?`` and ``[`` in its parts), in no order; hidden ones as a shell has it.

    ``below``: a folder, whose name is taken as it is. A folder that cannot be read has no matches. Raises
    TooManyNamesError where more names than ``most`` are on the way.
    """
    most = MOST_NAMES if most is None else most
    places = [f"{below.rstrip('/')}/" if below else "/" if pattern.startswith("/") else ""]
    parts = [part for part in pattern.split("/") if part]
    for at, part in enumerate(parts):
        last = at == len(parts) - 1
        if not is_pattern(part):
            places = [f"{place}{part}" for place in places]
            if last:
                return [one for one in places if os.path.lexists(one)]
        else:
            fits, hidden = _fits(part), part.startswith(".")
            found: list[str] = []
            for place in places:
                try:
                    entries = entries_of(place or ".", most)
                except TooManyNamesError:
                    raise
                except OSError:
                    continue
                most -= len(entries)
                found += [
                    f"{place}{one.name}"
                    for one in entries
                    if (hidden or one.name[0] != ".") and fits(one.name) and (last or is_folder(one))
                ]
            places = found
        if not last:
            places = [f"{place}/" for place in places]
    return places


def is_pattern(path: str) -> bool:
    """Whether a path stands for others."""
    return any(sign in path for sign in _MAGIC)


def files_below(folder: str, most: int | None = None) -> Iterator[str]:
    """What is no folder in a folder and below, also behind links, but for what is hidden; raises as ``matching``."""
    most = MOST_NAMES if most is None else most
    todo, seen = [folder], set[str]()
    while todo:
        here = todo.pop()
        real = os.path.realpath(here)
        if real in seen:
            continue
        seen.add(real)
        try:
            entries = entries_of(here, most)
        except TooManyNamesError:
            raise
        except OSError:
            continue
        most -= len(entries)
        shown = [one for one in entries if one.name[0] != "."]
        folders = {one.path for one in shown if is_folder(one)}
        todo += sorted(folders, reverse=True)
        yield from (one.path for one in shown if one.path not in folders)


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether it is one, or leads to one."""
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to what we may not see
        return False


@lru_cache(256)
def _fits(part: str) -> Callable[[str], object]:
    if part == "*":
        return bool
    if part[-1] == "*" and not is_pattern(part[:-1]):
        return lambda name: name.startswith(part[:-1])
    if part[0] == "*" and not is_pattern(part[1:]):
        return lambda name: name.endswith(part[1:])
    from fnmatch import translate

    return re.compile(translate(part)).match
