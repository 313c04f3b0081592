"""What nodes tell each other, read with its types and ranges: orders, events of ranks, what ranks were doing. Pure.

Whoever says it has proved that it knows the run's secret; this is for the node that was broken into, or is broken.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from rocdoctor.model.printable import clean
from rocdoctor.train.smoke.nodes.interfaces import is_host, is_loopback
from rocdoctor.train.smoke.nodes.node_facts import is_token
from rocdoctor.train.smoke.nodes.rank_reports import note, record
from rocdoctor.train.smoke.run.rank_sets import MAX_WORLD
from rocdoctor.train.smoke.worker import again, locate
from rocdoctor.train.smoke.worker.mode import all_modes

_MOST_NODES, _MOST_RANKS = 1024, 1024 * MAX_WORLD
_MOST_S = 24 * 3600.0
_LONGEST = 8192
_EVENTS = ("ready", "not-ready", "result", "exit")


class OrderError(ValueError):
    """Not an order that a node follows."""


@dataclass(frozen=True, slots=True)
class ProbeTarget:
    """A probe of another node. ``frame``: the size of a frame to try, None for none."""

    node: int
    address: str
    port: int
    token: str
    frame: int | None = None


@dataclass(frozen=True, slots=True)
class Start:
    """How to start this node's ranks."""

    per_node: int
    backend: str
    device: str
    timeout_s: float


def whole(value: Any, least: int, most: int) -> int:
    """A whole number in a range.

    Raises:
        OrderError: it is none.
    """
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise OrderError
    return value


def seconds(value: Any) -> float:
    """A time in seconds, 0 to a day.

    Raises:
        OrderError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise OrderError
    if not 0 <= value <= _MOST_S:
        raise OrderError
    return float(value)


def targets(order: Mapping[str, Any], alone: bool) -> list[ProbeTarget]:
    """Whom to probe. ``alone``: node 0 is on this machine, so that loopback may be meant.

    Raises:
        OrderError: one of them is no address, port or token.
    """
    many = order.get("targets")
    if not isinstance(many, list) or len(many) > _MOST_NODES:
        raise OrderError
    found = []
    for one in many:
        if not isinstance(one, dict):
            raise OrderError
        address, token = str(one.get("address")), str(one.get("token"))
        if not is_host(address) or not is_token(token) or (is_loopback(address) and not alone):
            raise OrderError
        frame = None if one.get("frame") is None else whole(one["frame"], 1, 65535)
        port = whole(one.get("port"), 1, 65535)
        found.append(ProbeTarget(whole(one.get("node"), 0, _MOST_NODES), address, port, token, frame))
    return found


def start(order: Mapping[str, Any]) -> Start:
    """How to start the ranks.

    Raises:
        OrderError: something is not as node 0 says it.
    """
    backend, device = order.get("backend"), order.get("device")
    if backend not in ("gloo", "nccl") or device not in ("cpu", "cuda"):
        raise OrderError
    return Start(whole(order.get("per_node"), 1, MAX_WORLD), backend, device, seconds(order.get("timeout_s")))


@cache
def _modes() -> frozenset[str]:
    return frozenset((locate.NAME, again.NAME, *(one.name for one in all_modes() if one.launch is None)))


def mode(order: Mapping[str, Any]) -> str:
    """The mode to run.

    Raises:
        OrderError: there is none of that name.
    """
    name = order.get("mode")
    if not isinstance(name, str) or name not in _modes():
        raise OrderError
    return name


def silent(order: Mapping[str, Any]) -> list[int]:
    """Ranks to look at.

    Raises:
        OrderError: they are no ranks.
    """
    many = order.get("silent")
    if not isinstance(many, list) or len(many) > _MOST_RANKS:
        raise OrderError
    return [whole(one, 0, _MOST_RANKS) for one in many]


def event(word: Mapping[str, Any], first: int, count: int) -> dict[str, Any] | None:
    """An event of one of a node's own ranks ``first`` to ``first + count - 1``; None for anything else."""
    try:
        rank = whole(word.get("rank"), first, first + count - 1)
        status, number = word.get("status"), word.get("signal")
        status = None if status is None else whole(status, 0, 255)
        number = None if number is None else whole(number, 1, 64)
    except OrderError:
        return None
    if word.get("event") not in _EVENTS:
        return None
    at = word.get("at")
    at = at if isinstance(at, float) and math.isfinite(at) else None
    event, gpu = str(word["event"]), word.get("gpu")
    told = record(word) if event in ("result", "not-ready") else {}
    gpu = clean(gpu)[:80] if isinstance(gpu, str) else None
    return {"event": event, **told, "rank": rank, "status": status, "signal": number, "at": at, "gpu": gpu}


def looked(value: Any, first: int, count: int) -> tuple[int, dict[int, dict[str, Any]]]:
    """Bytes of memory, and by rank what a node saw of it: note, process_state, stack, log."""
    found: dict[int, dict[str, Any]] = {}
    if not isinstance(value, dict):
        return 0, found
    ranks, memory = value.get("ranks"), value.get("memory_bytes")
    for rank in range(first, first + count):
        seen = ranks.get(str(rank)) if isinstance(ranks, dict) else None
        if isinstance(seen, dict):
            words = {
                name: clean(one)[:_LONGEST] if isinstance(one := seen.get(name), str) else ""
                for name in ("process_state", "stack", "log")
            }
            found[rank] = {"note": note(seen.get("note")), **words}
    return (memory if isinstance(memory, int) and 0 <= memory < 1 << 60 else 0), found
