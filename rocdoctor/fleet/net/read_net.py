"""A run of pairs as ``fleet net --json`` wrote it, read for the judge of the fleet: hostile input.

Node 0 of that run wrote it, a node like others. So what it says of a node is at most a reason to test it, and it names
none that the fleet does not know.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from rocdoctor.fleet.read_record import NODE, RecordError
from rocdoctor.model.printable import one_line

SCHEMA = "rocdoctor.net/1"
MOST_BYTES = 32 << 20
_MOST_NODES, _LATEST, _MOST_SIGNS = 20_000, 1 << 40, 300
_SLOW, _WELL = ("slow", "unreachable"), ("well", "path")


@dataclass(frozen=True, slots=True)
class NetLook:
    """What one run says of a node: ``slow`` with all its partners, or not; where it knows nothing, there is no look."""

    node: str
    taken_at: int
    slow: bool
    message: str = ""


def read_net(text: str | bytes) -> list[NetLook]:
    """What a run says of its nodes. Raises RecordError for what is no such document."""
    if len(text) > MOST_BYTES:
        raise RecordError(f"larger than {MOST_BYTES} bytes")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise RecordError("not a JSON text") from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise RecordError(f"not a {SCHEMA}")
    at, nodes = data.get("taken_at"), data.get("nodes")
    if not isinstance(at, int) or isinstance(at, bool) or not 0 <= at <= _LATEST:
        raise RecordError("no time at which it was taken")
    if not isinstance(nodes, list) or len(nodes) > _MOST_NODES:
        raise RecordError("no list of nodes")
    found: dict[str, NetLook] = {}
    for one in nodes:
        look = _look(one, at)
        if look is not None:
            found.setdefault(look.node, look)
    return list(found.values())


def _look(one: Any, at: int) -> NetLook | None:
    if not isinstance(one, dict):
        return None
    node, state, message = one.get("node"), one.get("state"), one.get("message")
    if not isinstance(node, str) or not NODE.fullmatch(node) or state not in (*_SLOW, *_WELL):
        return None
    slow = state in _SLOW
    return NetLook(node, at, slow, one_line(message[:_MOST_SIGNS]) if slow and isinstance(message, str) else "")


def as_row(look: NetLook) -> list[Any]:
    """A look as it is kept."""
    return [look.node, look.taken_at, look.slow, look.message]


def from_rows(rows: Any) -> list[NetLook]:
    """Looks as they are kept. Raises ValueError or TypeError for what is none."""
    return [_kept(*row) for row in rows]


def _kept(node: Any, at: Any, slow: Any, message: Any) -> NetLook:
    if not isinstance(node, str) or not NODE.fullmatch(node) or type(at) is not int or not 0 <= at <= _LATEST:
        raise ValueError("no look at a node")
    return NetLook(node, at, bool(slow), one_line(str(message)[:_MOST_SIGNS]))
