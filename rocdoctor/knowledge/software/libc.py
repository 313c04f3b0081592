"""Which versions of the C and C++ library a distribution release has (``libc_releases.yaml``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from rocdoctor.knowledge.load import load_table, numbers, words

_KINDS: Mapping[str, str] = {"GLIBC": "glibc", "GLIBCXX": "glibcxx", "CXXABI": "cxxabi"}
# Releases that are named as those that have a symbol version: what people use for a long time.
_NAMED = (("Ubuntu", "20.04", "22.04", "24.04", "26.04"), ("Debian", "10", "11", "12", "13"), ("RHEL", "8", "9", "10"))


@dataclass(frozen=True, slots=True)
class LibcRelease:
    """A distribution release, and the newest symbol version of each library that it has."""

    name: str
    ids: tuple[str, ...]
    version: str
    newest: Mapping[str, str]


@cache
def _releases() -> tuple[LibcRelease, ...]:
    return tuple(
        LibcRelease(
            str(row["name"]),
            words(row["ids"]),
            str(row["version"]),
            {prefix: str(row[key]) for prefix, key in _KINDS.items()},
        )
        for row in load_table("libc_releases")["releases"]
    )


def libc_release(distribution: str, version: str, pretty: str = "") -> LibcRelease | None:
    """What the tables know of a distribution release, by its id or else its name; None for one they do not have."""
    have = numbers(version)
    for one in _releases():
        named = distribution in one.ids if distribution else pretty.startswith(one.name + " ")
        of_it = numbers(one.version)
        if named and have[: len(of_it)] == of_it:
            return one
    return None


def newest_symbol(release: LibcRelease, symbol: str) -> str | None:
    """The newest version of a symbol's kind (``GLIBC_2.38``) in a release, written alike."""
    prefix = symbol.partition("_")[0]
    version = release.newest.get(prefix)
    return f"{prefix}_{version}" if version else None


def has_symbol(release: LibcRelease, symbol: str) -> bool | None:
    """Whether a release has a symbol version; None where the tables do not know its kind."""
    newest = newest_symbol(release, symbol)
    wanted = numbers(symbol.partition("_")[2])
    return None if newest is None or not wanted else wanted <= numbers(newest.partition("_")[2])


def first_with(symbol: str) -> tuple[str, ...]:
    """The first long-lived release of each distribution that has a symbol version ("Ubuntu 24.04")."""
    found = []
    for name, *versions in _NAMED:
        for version in versions:
            if any(one.name == name and one.version == version and has_symbol(one, symbol) for one in _releases()):
                found.append(f"{name} {version}")
                break
    return tuple(found)
