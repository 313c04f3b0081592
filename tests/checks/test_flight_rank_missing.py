"""The check flight-rank-missing. Dumps are constructed in the shape that torch 2.13 wrote."""

from __future__ import annotations

import json
from typing import Any

from tests.kit import judge, machine, states
from tests.run_kit import dump, entry, found_in, run_of, run_of_dumps

CHECK = "flight-rank-missing"
DONE = [entry(1), entry(2)]


def waits(number: int, **more: Any) -> dict[str, Any]:
    return entry(number, state="started", **more)


def test_the_missing_rank_is_named() -> None:
    ranks = [0, 1, 2]
    stuck = dump([*DONE, waits(3, frames=True), entry(4, state="scheduled")], ranks)
    found = found_in(CHECK, run_of_dumps({0: stuck, 1: dump(DONE, ranks), 2: stuck}))
    assert found is not None and found.severity == "error" and found.cause == ""
    assert found.message.startswith("Rank 1 did not reach all_reduce number 3 of the group default_pg, in which ")
    assert "ranks 0 and 2 wait" in found.message and "1: 2" in found.message
    assert found.fix is not None and "RANK=1" in found.fix.command and "py-spy" in found.fix.command
    assert any("train.py:31" in one.value for one in found.evidence)


def test_a_rank_without_a_dump_is_not_known() -> None:
    stuck = dump([*DONE, waits(3)], [0, 1, 2])
    found = found_in(CHECK, run_of_dumps({0: stuck, 2: stuck}))
    assert found is not None and found.severity == "warning"
    assert "There is no dump of rank 1" in found.message and "not known" in found.message


def test_a_missing_rank_and_one_without_a_dump() -> None:
    ranks = [0, 1, 2, 3]
    found = found_in(
        CHECK, run_of_dumps({0: dump([*DONE, waits(3)], ranks), 1: dump(DONE, ranks), 2: dump(DONE, ranks)})
    )
    assert found is not None and found.message.startswith("Ranks 1 and 2 did not reach")
    assert "There is no dump of rank 3" in found.message


def test_the_last_of_a_chain_is_the_one_to_look_at() -> None:
    # Rank 0 waits for 1 in the group of all; 1 waits for 2 in a group of its own; 2 waits nowhere.
    ranks = [0, 1, 2]
    zero = dump([*DONE, waits(3)], ranks)
    one = dump([*DONE, waits(1, group=["1", "tp"])], ranks, **{"1": [1, 2]})
    two = dump([*DONE, entry(9, group=["2", "dp"])], ranks, **{"1": [1, 2]})
    found = found_in(CHECK, run_of_dumps({0: zero, 1: one, 2: two}))
    assert found is not None and found.message.startswith("Rank 2 did not reach")
    assert "Rank 1 waits elsewhere" in found.message


def test_gloo_which_says_scheduled_only() -> None:
    def of(count: int, retired: bool) -> dict[str, Any]:
        return dump([entry(n, "gloo:all_reduce", "scheduled", retired=retired) for n in range(1, count + 1)])

    found = found_in(CHECK, run_of_dumps({0: of(4, True), 1: of(3, True)}))
    assert found is not None and found.message.startswith("Rank 1 did not reach all_reduce number 4")
    assert found_in(CHECK, run_of_dumps({0: of(4, False), 1: of(4, True)})) is None
    cast = [entry(n, "gloo:broadcast", "scheduled", retired=True) for n in (1, 2)]  # its root ends without the others
    assert found_in(CHECK, run_of_dumps({0: dump(cast), 1: dump(cast[:1])})) is None


def test_a_receive_without_a_send() -> None:
    receive = entry(5, "nccl:recv 1<-0", "started", is_p2p=True, p2p_seq_id=2)
    found = found_in(CHECK, run_of_dumps({0: dump(DONE), 1: dump([*DONE, receive])}))
    assert found is not None and "Rank 1 waits in a recv, but rank 0 sends nothing" in found.message
    send = entry(5, "nccl:send 0->1", "started", is_p2p=True, p2p_seq_id=2)
    assert found_in(CHECK, run_of_dumps({0: dump([*DONE, send]), 1: dump([*DONE, receive])})) is None


def test_dumps_of_a_sound_job_pass() -> None:
    assert states(judge(CHECK, machine(run=run_of_dumps({0: dump(DONE), 1: dump(DONE)})))) == ["pass"]
    ahead = run_of_dumps({0: dump([*DONE, entry(3)]), 1: dump(DONE)})  # one was written a moment later
    assert states(judge(CHECK, machine(run=ahead))) == ["pass"]


def test_the_ring_that_forgot_its_beginning_is_no_gap() -> None:
    old = run_of_dumps({0: dump([entry(n) for n in (7, 8)]), 1: dump([entry(n) for n in (5, 6, 7, 8)])})
    assert states(judge(CHECK, machine(run=old))) == ["pass"]


def test_dumps_of_two_runs_are_not_joined() -> None:
    runs = run_of_dumps({0: dump([waits(1)], [0]), 1: dump(DONE, [1, 2])})
    assert found_in(CHECK, runs) is None or "no dump" in str(found_in(CHECK, runs))


def test_what_cannot_be_judged() -> None:
    assert states(judge(CHECK, machine())) == ["not-applicable"]
    alone = run_of_dumps({0: dump(DONE, [0, 1])})
    assert states(judge(CHECK, machine(run=alone))) == ["unknown"]
    nameless = run_of("".join(json.dumps(dump([waits(1)])) for _ in range(2)))
    assert len(nameless.records) == 2
    assert states(judge(CHECK, machine(run=nameless))) == ["unknown"]
