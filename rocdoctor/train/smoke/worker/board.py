"""A board of notes in shared memory: what each rank is doing, readable after it died or froze.

A file of ``world`` slots of SLOT bytes; a slot is a little-endian 16-bit length and a JSON object with ``mode``,
``mark`` (the step that the mode announced), ``call`` and ``seq`` (the last collective that was entered, its number),
``peer`` (the rank that it is with, where that is one alone), ``patient`` while others may wait for this rank as long as
the mode may take, and ``fault`` (stage, words, layer) once something was wrong that this rank computes by itself.
Writing is one store without a lock; a torn note reads as empty.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
from typing import Any

SLOT = 1024
# What a rank announces before it has met the others.
MEETING = "forming the process group"
_LENGTH = struct.Struct("<H")


def create(path: str, world: int) -> None:
    """An empty board."""
    with open(path, "wb") as stream:
        stream.write(b"\0" * SLOT * world)


# A rank has as many of these as its place asks for.
POINT_TO_POINT = ("isend ", "irecv ", "send ", "recv ")


class Board:
    """One rank's slot. ``seq`` counts calls; ``pairs``: of that mode some were between two ranks alone."""

    def __init__(self, path: str, rank: int) -> None:
        handle = os.open(path, os.O_RDWR)
        try:
            self._memory = mmap.mmap(handle, 0)
        finally:
            os.close(handle)
        self._at = rank * SLOT
        self._note: dict[str, Any] = {"mode": "", "mark": "", "call": "", "seq": 0}

    def begin(self, mode: str) -> None:
        """A new mode: numbers start again."""
        self._note = {"mode": mode, "mark": "start", "call": "", "seq": 0}
        self._write()

    def mark(self, text: str) -> None:
        """The step that the rank is at."""
        self._note["mark"] = text[:200]
        self._write()

    def patient(self, patient: bool) -> None:
        """Whether something begins, or ends, that may take as long as the mode."""
        self._note["patient"] = patient
        self._write()

    def call(self, text: str, peer: int | None = None) -> None:
        """A collective is about to be entered; ``peer``: the one rank that it is with, where that is told."""
        self._note["seq"] += 1
        self._note.pop("peer", None)
        if peer is not None:
            self._note["peer"] = peer
        if text.startswith(POINT_TO_POINT):
            self._note["pairs"] = True
        self._note["call"] = text[:200]
        self._write()

    def fault(self, stage: str, words: str, layer: str) -> None:
        """This rank's own part is wrong: what is sent of it may keep others from ending."""
        self._note.setdefault("fault", [stage, words[:200], layer])
        self._write()

    def _write(self) -> None:
        data = json.dumps(self._note).encode()[: SLOT - 2]
        self._memory[self._at : self._at + 2 + len(data)] = _LENGTH.pack(len(data)) + data


def read(path: str, rank: int) -> dict[str, Any]:
    """The note of a rank; empty when there is none or it is torn."""
    try:
        with open(path, "rb") as stream:
            stream.seek(rank * SLOT)
            slot = stream.read(SLOT)
        length = _LENGTH.unpack(slot[:2])[0]
        note = json.loads(slot[2 : 2 + length])
    except (OSError, ValueError, struct.error):
        return {}
    return note if isinstance(note, dict) else {}
