"""Ranks that wait for each other, that lost their connections, or that a file system keeps: from records alone."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from rocdoctor.train.smoke.judge.verdicts import judge
from rocdoctor.train.smoke.run.pool import ModeRecord, RankRecord

_FILE = '  File "/torch/distributed/distributed_c10d.py", line 9 in'
_RING = '  File "/x/smoke/worker/modes/collectives.py", line 319 in _ring'


def _at(rank: int, function: str, peer: int | None, **more: Any) -> RankRecord:
    stack = _RING if function == "ring" else f"{_FILE} {function}"
    note: dict[str, Any] = {"mark": "pair", "call": "irecv float32[8]", "seq": 5 + rank, "pairs": True}
    note |= {} if peer is None else {"peer": peer}
    return RankRecord(rank, silent=True, process_state="S", stack=stack, note=note, **more)


def _hung(*ranks: RankRecord) -> Any:
    return judge(ModeRecord("point-to-point", 12.0, ranks))


@pytest.mark.parametrize("functions", [("recv", "recv"), ("recv", "send"), ("send", "send")])
def test_two_that_wait_for_each_other_are_named_though_others_wait_too(functions: tuple[str, str]) -> None:
    found = _hung(_at(0, "ring", 3), _at(1, functions[0], 3), _at(2, "send", 3), _at(3, functions[1], 1))
    assert (found.named, found.layer) == ((1, 3), "collectives"), found.message
    assert "ranks 1, 3 wait for each other's message at 'pair'" in found.message
    assert "it is not clear at which end" in found.message


@pytest.mark.parametrize(
    "ranks",
    [
        (_at(0, "recv", 1), _at(1, "recv", 2), _at(2, "recv", 0)),  # in a circle
        (_at(0, "recv", 1), _at(1, "recv", 0), _at(2, "recv", 3), _at(3, "recv", 2)),  # two pairs
        (_at(0, "ring", 2), _at(1, "ring", 0), _at(2, "ring", 0)),  # the last of several messages at once
        (_at(0, "recv", None), _at(1, "recv", None), _at(2, "recv", 0)),  # it is not told for whom
        (_at(0, "recv", 1), _at(1, "recv", 0)),  # both may be it, and there is nobody else
    ],
)
def test_where_no_single_pair_waits_for_itself_nobody_is_named(ranks: tuple[RankRecord, ...]) -> None:
    found = _hung(*ranks)
    assert (found.state, found.named) == ("crashed", ()), found.message
    assert "it is not clear" in found.message


def test_a_rank_outside_all_exchanges_comes_before_a_pair_that_waits() -> None:
    sleeps = RankRecord(2, silent=True, process_state="S", stack='  File "/x/train.py", line 4 in spin')
    assert _hung(_at(0, "recv", 1), _at(1, "recv", 0), sleeps).named == (2,)


def test_ranks_that_say_what_is_not_supported_are_not_blamed_for_one_that_dies() -> None:
    lacking = {"state": "crashed", "kind": "unsupported", "message": "NotImplementedError: not in this release"}
    ranks = [RankRecord(rank, result={**lacking}, at=2.0) for rank in (0, 1, 3)]
    died = RankRecord(2, exit_signal=signal.SIGSEGV, ended_at=3.0)
    assert _hung(*ranks[:2], died, ranks[2]).named == (2,)


_CLOSED = "RuntimeError: Connection closed by peer [127.0.0.1]:25265"


def _cut(rank: int, connected: set[int] | None, message: str = _CLOSED) -> RankRecord:
    result = {"state": "crashed", "kind": "victim", "message": message}
    held = None if connected is None else frozenset(connected)
    return RankRecord(rank, result=result, note={"seq": 1, "mark": "step 1"}, connected=held)


def _waits(rank: int, connected: set[int] | None) -> RankRecord:
    one = RankRecord(rank, silent=True, process_state="S", stack=f"{_FILE} all_reduce", note={"seq": 1})
    one.connected = None if connected is None else frozenset(connected)
    return one


def test_the_one_without_connections_among_others_that_have_theirs_is_named() -> None:
    found = _hung(_cut(0, {2, 3}), _cut(1, set()), _cut(2, {0, 3}), _waits(3, {0, 2}))
    assert (found.named, found.layer) == ((1,), "collectives"), found.message
    assert "rank 1 has lost its connections to all others, which are still connected to each other" in found.message


@pytest.mark.parametrize(
    "ranks",
    [
        (_cut(0, {2}), _cut(1, set()), _cut(2, {0}), _waits(3, set())),  # two without
        (_cut(0, {2, 3}), _cut(1, set()), _cut(2, {0}), _waits(3, {0})),  # others lost some as well
        (_cut(0, {1, 2, 3}), _cut(1, {0, 3}), _cut(2, {0, 3}), _waits(3, {0, 1, 2})),  # one way between two
        (_cut(0, None), _cut(1, None), _cut(2, None), _waits(3, None)),  # nobody has looked
        (_cut(0, {2, 3}), _cut(1, set(), "OtherRankFailed: it gave up"), _cut(2, {0, 3}), _waits(3, {0, 2})),
        (_cut(0, set()), _waits(1, set())),
    ],
)
def test_where_more_than_one_may_have_lost_them_nobody_is_named(ranks: tuple[RankRecord, ...]) -> None:
    found = _hung(*ranks)
    assert (found.state, found.named) == ("crashed", ()), found.message


@pytest.mark.parametrize(
    ("call", "layer"), [("openat", "configuration"), ("fsync", "configuration"), ("", "framework")]
)
def test_who_waits_for_a_file_system_has_a_trouble_of_its_machine(call: str, layer: str) -> None:
    stack = '  File "/usr/lib/python3.11/pathlib.py", line 1044 in open'
    stuck = RankRecord(2, silent=True, process_state="S", stack=stack, file_call=call, note={"seq": 1})
    found = judge(ModeRecord("checkpoint", 12.0, (_waits(0, None), _waits(1, None), stuck)))
    assert (found.named, found.layer) == ((2,), layer), found.message
    assert (f"the kernel has not come back from {call} for it" in found.message) == bool(call)


def _says(rank: int, kind: str, words: str) -> RankRecord:
    return RankRecord(rank, result={"state": "crashed", "kind": kind, "message": words}, at=2.0)


def test_who_says_that_something_is_not_there_while_others_wait_is_named_not_they() -> None:
    lacks = _says(2, "unsupported", "NotImplementedError: no such kernel in this build")
    waits = [_at(rank, "all_gather_single", None) for rank in (0, 1)]
    for others in (waits, [_says(rank, "victim", "Connection closed by peer") for rank in (0, 1)]):
        found = _hung(*others, lacks)
        assert (found.state, found.named, found.layer) == ("crashed", (2,), "framework"), found.message
        assert "no such kernel in this build" in found.message
    alike = [_says(rank, "unsupported", "NotImplementedError: no such kernel") for rank in (0, 1, 2)]
    assert _hung(*alike).state == "not-applicable"
