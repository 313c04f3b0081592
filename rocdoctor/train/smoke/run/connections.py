"""Which ranks on this machine still have connections to each other, once one has been closed."""

from __future__ import annotations

from collections.abc import Mapping


def closed(message: str) -> bool:
    """Whether these words of a rank tell of a connection that the other end, or something between, has closed."""
    low = message.lower()
    return "connection closed" in low or "connection reset" in low


def connected(pids: Mapping[int, int]) -> dict[int, frozenset[int]]:
    """The ranks that each rank is connected to, both ends still open; empty where one of them cannot be looked at."""
    import psutil

    ends: dict[tuple[object, object], int] = {}
    try:
        for rank, pid in pids.items():
            for one in psutil.Process(pid).net_connections("tcp"):
                if one.status == psutil.CONN_ESTABLISHED and one.raddr:
                    ends[one.laddr, one.raddr] = rank
    except (psutil.Error, OSError):
        return {}
    found: dict[int, set[int]] = {rank: set() for rank in pids}
    for (here, there), rank in ends.items():
        other = ends.get((there, here), rank)
        if other != rank:
            found[rank].add(other)
    return {rank: frozenset(others) for rank, others in found.items()}
