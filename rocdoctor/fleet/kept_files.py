"""The files of a store, read as what they may be: damaged, or a stranger's whose store somebody looks at."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

from rocdoctor.fleet.net.read_net import MOST_BYTES as MOST_NET
from rocdoctor.fleet.net.read_net import NetLook, from_rows
from rocdoctor.fleet.read_record import NODE
from rocdoctor.host.live.regular_files import open_regular
from rocdoctor.host.live.trust import owner_of, privileged
from rocdoctor.model.lazy_re import regex

_NAME = regex(r"([0-9]{1,12})\.json(?:l)?\.gz")
_UNFINISHED = regex(r"\.[0-9]{1,12}\.json(?:l)?\.gz\.[0-9a-f]{12}")
_MOST_HEAD = 2 * MOST_NET
_LATEST = 253_402_300_799  # the last second of the year 9999: no later one can be printed
_MOST_STATE = 1 << 28
_MOST_NAMES = 1_000_000  # a round a minute for two years
# Of 100,000 nodes with 16 GPUs: 60 values and a few tables each. A text of brackets takes 30 times its size in memory.
_MOST_VALUES, _MOST_TABLES = 1 << 24, 1 << 22
# What damaged or strange JSON raises on the way to what it should be; infinity is no whole number.
DAMAGED = (OSError, ValueError, ArithmeticError, EOFError, KeyError, TypeError, AttributeError, RecursionError)


class KeptHead:
    """What stands before the records of a round. Raises what ``DAMAGED`` names for what is none."""

    def __init__(self, line: bytes) -> None:
        data = _loaded(line)
        self.at = int(data.get("at", 0)) if isinstance(data.get("at", 0), int) else -1
        if not 0 <= self.at <= _LATEST:
            raise ValueError("no time")
        self.problems = {node: _text(why) for node, why in dict(data["problems"]).items() if NODE.fullmatch(node)}
        self.forget = tuple(map(_text, data.get("forget", ())))
        self.net: list[NetLook] = from_rows(data.get("net", ()))


def numbered(folder: Path) -> dict[int, Path]:
    """The files of a folder by the numbers in their names, in order; what has another name is none of ours."""
    found = {}
    with contextlib.suppress(OSError):
        for name in _names(folder):
            if match := _NAME.fullmatch(name):
                found[int(match[1])] = folder / name
    return dict(sorted(found.items()))


def unfinished(folder: Path) -> list[Path]:
    """Files that whoever was killed while it wrote has left, as ``host/live/new_file.py`` names them."""
    with contextlib.suppress(OSError):
        return [folder / name for name in _names(folder) if _UNFINISHED.fullmatch(name)]
    return []


def _names(folder: Path) -> Iterator[str]:
    """One after the other: a store that somebody looks at may be a stranger's."""
    with os.scandir(folder) as entries:
        yield from (one.name for one in islice(entries, _MOST_NAMES))


@contextlib.contextmanager
def opened_round(path: Path) -> Iterator[tuple[KeptHead, IO[bytes]]]:
    """The head of a round, and the stream with its records. Raises what ``DAMAGED`` names."""
    with _unpacked(path) as stream:
        yield KeptHead(stream.readline(_MOST_HEAD)), stream


def read_state(path: Path) -> dict[str, Any]:
    """What was kept of each node. Raises what ``DAMAGED`` names."""
    with _unpacked(path) as stream:
        found = _loaded(stream.read(_MOST_STATE))
    if not all(map(NODE.fullmatch, found)):
        raise ValueError("not a node")
    return dict(found.items())


def _loaded(text: bytes) -> Any:
    """What stands in a text; ValueError where it holds more than a fleet has, whatever it was packed to."""
    if text.count(b",") > _MOST_VALUES or text.count(b"[") + text.count(b"{") > _MOST_TABLES:
        raise ValueError("more values than a fleet has")
    return json.loads(text)


@contextlib.contextmanager
def _unpacked(path: Path) -> Iterator[IO[bytes]]:
    """A plain file, unpacked. As root only one that nobody else can change: it decides who is drained."""
    with open_regular(path) as packed:
        told = os.fstat(packed.fileno())
        if privileged() and (owner_of(told, packed.fileno()) or told.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
            raise PermissionError(f"{path.name} is not root's alone")
        with gzip.open(packed, "rb") as stream:
            yield io.BufferedReader(stream)  # type: ignore[arg-type, unused-ignore]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value
