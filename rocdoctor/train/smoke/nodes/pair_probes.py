"""One pair of nodes: times of messages there and back, and streams in both directions, several at once."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rocdoctor.model.printable import one_line
from rocdoctor.train.smoke.nodes.echoes import SIZES, round_trip_us
from rocdoctor.train.smoke.nodes.messages import ProbeTarget
from rocdoctor.train.smoke.nodes.node_facts import within
from rocdoctor.train.smoke.nodes.pair_results import PairResult
from rocdoctor.train.smoke.nodes.path_probes import STALL_S, Stream, ask, receive, send, stream_told, words_of

STREAMS = 4  # one alone is held back by one processor core
_MOST_MBIT_S, _MOST_US = 1e8, 1e9
_LEAST = 1e-6  # below this is nothing: shares of it would be no numbers


def measure_pair(a: int, target: ProbeTarget, number: int, limit_s: float) -> PairResult:
    """What node ``a`` finds of the way to its partner in a round, within a time."""
    found = within(limit_s, lambda: _measured(a, target, number))
    if found is None:
        return PairResult(a, target.node, number, "failed", why=f"no end within {limit_s:g} s")
    return found


def _measured(a: int, target: ProbeTarget, number: int) -> PairResult:
    at = (target.address, target.port, target.token)
    rtt: dict[int, float] = {}
    try:
        for size in SIZES:
            with ask(*at, "back", bytes=size) as connection:
                if (us := round_trip_us(connection, size)) is not None:
                    rtt[size] = us

        def give() -> Stream | None:
            with ask(*at, "take", round=number) as connection:
                send(connection)
                return stream_told(connection)

        def take() -> Stream | None:
            with ask(*at, "give") as connection:
                return receive(connection)

        out, back = rate_of(_at_once(give)), rate_of(_at_once(take))
    except OSError as error:
        return PairResult(a, target.node, number, "failed", why=words_of(error))
    return PairResult(a, target.node, number, "measured", out, back, rtt)


def _at_once(one: Callable[[], Stream | None]) -> list[Stream]:
    found: list[Stream] = []

    def run() -> None:
        with contextlib.suppress(OSError):
            stream = one()
            if stream is not None:
                found.append(stream)

    threads = [threading.Thread(target=run, daemon=True) for _ in range(STREAMS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def rate_of(streams: Sequence[Stream]) -> float:
    """What streams that ran at once carried together, in Mbit/s; 0 where nothing came.

    A stream that stopped on the way counts with the time for which nothing came, or a path that fails at once is fast.
    """
    seconds = max((one.seconds + one.stalled * STALL_S for one in streams), default=0.0)
    return sum(one.received_bytes for one in streams) * 8e-6 / seconds if seconds > 0 else 0.0


def as_word(found: PairResult) -> dict[str, Any]:
    """What node ``a`` tells node 0 of it."""
    return {
        "state": found.state,
        "back_mbit_s": found.back_mbit_s,
        "rtt_us": {str(size): us for size, us in found.rtt_us.items()},
        "why": found.why,
    }


def from_word(
    word: Mapping[str, Any], pair: tuple[int, int], number: int, came: Sequence[Stream] | None, speed: int | None
) -> PairResult:
    """What is known of a pair from both ends: what came back by the word of ``a``, what went out by that of ``b``.

    So neither can make the way seem better than it is. ``came``: the streams that b saw, None where it did not say, as
    more than any network carries says nothing. What has not the form of a report is none.
    """
    a, b = pair
    back, told, state = word.get("back_mbit_s"), word.get("rtt_us"), word.get("state")
    if state == "failed":
        why = word.get("why")
        words = one_line(why[:80]) if isinstance(why, str) else ""
        return PairResult(a, b, number, "failed", why=words, speed_mbit_s=speed)
    back_mbit_s = _number(back, _MOST_MBIT_S)
    if state != "measured" or back_mbit_s is None or not isinstance(told, dict):
        return PairResult(a, b, number, "silent", why="a report that is none", speed_mbit_s=speed)
    out_mbit_s = None if came is None else _number(rate_of(came), _MOST_MBIT_S)
    if out_mbit_s is None:
        return PairResult(a, b, number, "failed", why=f"node {b} does not say what came", speed_mbit_s=speed)
    rtt = {size: us for size in SIZES if (us := _number(told.get(str(size)), _MOST_US)) is not None}
    return PairResult(a, b, number, "measured", out_mbit_s, back_mbit_s, rtt, speed_mbit_s=speed)


def _number(value: Any, most: float) -> float | None:
    fits = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not fits or not 0 <= value <= most:
        return None
    return float(value) if value >= _LEAST else 0.0
