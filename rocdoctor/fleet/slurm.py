"""Slurm: what it says of its nodes, and the calls that drain and resume them. Pure: texts in, argument lists out.

Suspects stand in a reservation for each reason, whose name says it: running jobs go on, and only root starts new ones
there. Forms: scontrol(1) of Debian 12, SchedMD/slurm src/api/reservation_info.c (read 2026-11-29).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from rocdoctor.fleet.acting import EngineCall, EngineNode, label_of, reason_in
from rocdoctor.fleet.node_names import folded, unfolded
from rocdoctor.fleet.read_record import NODE
from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.listings.slurm_nodes import STATES

# %E is the reason, which may hold any sign, so it stands last (sinfo(1), --format).
ASK_NODES = ("sinfo", "--all", "--Node", "--noheader", "--format=%N|%T|%G|%E")
ASK_ASIDE = ("scontrol", "--oneliner", "show", "reservation")
_RESERVED = regex(r"ReservationName=rocdoctor-([A-Za-z0-9._-]{1,63}) .{0,200}? Nodes=(\S{1,100000}) NodeCnt=")
_MOST_IN_CALL = 1000
_NAMED = regex(r"NodeName=([A-Za-z0-9._-]{1,255})\s")
_BOOT = regex(r"\sBootTime=(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\s")
# ALL stands for every node: scontrol(1) of Debian 12 (read 2026-11-24). DEFAULT is none.
_WORDS = frozenset(("all", "default"))
_OUT = frozenset(
    (
        *("drained", "drain", "draining", "drng", "down", "fail", "failing", "failg", "error", "inval", "invalid"),
        *("unknown", "unk", "future", "futr", "not_responding", "no_respond", "invalid_reg"),
    )
)


def nodes_of(text: str) -> list[EngineNode]:
    """The nodes of ``ASK_NODES``, each once; what is no line of it is passed over."""
    found: dict[str, EngineNode] = {}
    for line in text.split("\n"):  # a reason may hold any other sign that ends a line
        cells = line.split("|", 3)
        if len(cells) != 4 or not NODE.fullmatch(cells[0]) or cells[0].lower() in _WORDS:
            continue
        state = cells[1].rstrip("*~#!%$@^-+").lower()
        if state not in STATES:
            continue
        reason = "" if cells[3].strip() == "none" else cells[3].strip()
        out = state in _OUT or "*" in cells[1]
        found.setdefault(cells[0], EngineNode(cells[0], out, reason, "gpu" in cells[2]))
    return list(found.values())


def ask_boot(nodes: tuple[str, ...]) -> list[str]:
    """How to ask when nodes booted."""
    return ["scontrol", "--oneliner", "show", "node", folded(nodes)]


def boots_of(text: str) -> dict[str, int]:
    """When nodes booted, in seconds since 1970; Slurm prints the time of this host's zone."""
    found: dict[str, int] = {}
    for line in text.split("\n"):
        name, stamp = _NAMED.match(line), _BOOT.search(line)
        if name is not None and stamp is not None:
            with contextlib.suppress(ValueError, OverflowError):
                found[name[1]] = int(time.mktime(time.strptime(stamp[1], "%Y-%m-%dT%H:%M:%S")))
    return found


def asides(text: str) -> dict[str, tuple[str, ...]]:
    """For which reasons of ours nodes stand in reservations, by ``ASK_ASIDE``; those of others are passed over."""
    found: dict[str, tuple[str, ...]] = {}
    for line in text.split("\n"):
        parts = _RESERVED.match(line)
        reason = reason_in(parts[1]) if parts is not None else ""
        if parts is None or not reason:
            continue
        with contextlib.suppress(ValueError):
            for name in unfolded(parts[2]):
                found[name] = (*found.get(name, ()), reason)
    return found


def commands(call: EngineCall) -> Iterator[list[str]]:
    """The calls of scontrol, few nodes to a call as it takes; the reason is one word of the argument list."""
    if call.action in ("aside", "return"):
        yield _reservation(call)
        return
    for first in range(0, len(call.nodes), _MOST_IN_CALL):
        names = folded(call.nodes[first : first + _MOST_IN_CALL])
        if call.action == "drain":
            yield ["scontrol", "update", f"NodeName={names}", "State=DRAIN", f"Reason={call.reason}"]
        else:
            yield ["scontrol", "update", f"NodeName={names}", "State=RESUME"]


def _reservation(call: EngineCall) -> list[str]:
    label = label_of(call.reason)
    if not label:
        raise ValueError(f"not a reason of ours: {call.reason!r}")
    name = f"ReservationName=rocdoctor-{label}"
    if call.action == "return":
        # One without nodes cannot be, and where the last one goes it goes too.
        return ["scontrol", "update", name, f"Nodes={folded(call.left)}"] if call.left else ["scontrol", "delete", name]
    how = ("StartTime=now", "Duration=UNLIMITED", "Flags=MAINT,IGNORE_JOBS", "Users=root")
    return ["scontrol", "create", name, *how, f"Nodes={folded(call.nodes)}"]
