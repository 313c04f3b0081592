"""The check collective-mismatch. Dumps and watchdog lines are constructed, fingerprints recorded from torch 2.13."""

from __future__ import annotations

from tests.kit import judge, machine, states
from tests.run_kit import dump, entry, found_in, run_of_dumps

CHECK = "collective-mismatch"
DONE = [entry(1), entry(2)]


def test_unlike_operations_under_one_number() -> None:
    reduce = dump([*DONE, entry(3, state="started", frames=True)], [0, 1, 2])
    gather = dump([*DONE, entry(3, "nccl:all_gather", "started")], [0, 1, 2])
    found = found_in(CHECK, run_of_dumps({0: reduce, 1: gather, 2: reduce}))
    assert found is not None and (found.cause, found.confidence) == ("not-environment", "likely")
    assert "number 3 of the group default_pg" in found.message
    assert "rank 1: all_gather; ranks 0 and 2: all_reduce" in found.message
    assert found.fix is not None and "train.py:31" in found.fix.text


def test_unlike_sizes_and_types() -> None:
    small = dump([*DONE, entry(3, state="started")])
    large = dump([*DONE, entry(3, state="started", input_sizes=[[4, 9]])])
    found = found_in(CHECK, run_of_dumps({0: small, 1: large}))
    assert found is not None and "sizes differ" in found.message and "[4, 9]" in found.message
    half = dump([*DONE, entry(3, state="started", input_dtypes=["Half"])])
    found = found_in(CHECK, run_of_dumps({0: small, 1: half}))
    assert found is not None and "data types differ" in found.message


def test_sizes_that_differ_by_design() -> None:
    for name in ("nccl:all_to_all", "nccl:scatter", "nccl:gather", "nccl:all_gather_into_tensor_coalesced"):
        a = dump([*DONE, entry(3, name, "started")])
        b = dump([*DONE, entry(3, name, "started", input_sizes=[[9]])])
        assert found_in(CHECK, run_of_dumps({0: a, 1: b})) is None


def test_coalesced_and_finished_calls_are_not_compared() -> None:
    a = dump([entry(1), entry(3, "nccl:broadcast", "started"), entry(3, state="started")])
    b = dump([entry(1), entry(3, state="started"), entry(3, "nccl:broadcast", "started")])
    assert found_in(CHECK, run_of_dumps({0: a, 1: b})) is None
    ended = run_of_dumps({0: dump([entry(1)]), 1: dump([entry(1, "nccl:broadcast")])})
    assert found_in(CHECK, ended) is None


def test_groups_that_are_called_in_unlike_order() -> None:
    groups = {"1": [0, 1], "2": [0, 1]}
    zero = dump([*DONE, entry(1, state="started", group=["1", "tp"])], **groups)
    one = dump([*DONE, entry(1, state="started", group=["2", "dp"])], **groups)
    found = found_in(CHECK, run_of_dumps({0: zero, 1: one}))
    assert found is not None and "Ranks 0 and 1 wait for each other in different groups" in found.message


def test_fingerprints() -> None:
    prints = "CollectiveFingerPrint(SequenceNumber=3, OpType=ALLREDUCE, TensorShape=[{}], TensorDtypes=Float)"
    text = (
        "[rank0]: RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running collective: "
        f"{prints.format(4)}, but Rank 1 is running collective: {prints.format(8)}."
    )
    found = found_in(CHECK, text)
    assert found is not None and "Rank 0 and rank 1" in found.message and "shapes differ ([4] and [8])" in found.message


def test_gloo_that_received_too_much() -> None:
    text = (
        "  what():  [enforce fail at /gloo/pair.cc:456] op.preamble.length <= op.nbytes. 8 vs 4. Received "
        "data size doesn't match expected size. Is there a distributed collective mismatch in your code?"
    )
    found = found_in(CHECK, text)
    assert found is not None and "received 8 bytes where its own call expected 4" in found.message


def watchdog(rank: int, operation: str, group: str) -> str:
    return (
        f"[rank{rank}]:[E ProcessGroupNCCL.cpp:629] [PG ID {group} Rank {rank}] Watchdog caught collective operation "
        f"timeout: WorkNCCL(SeqNum=41, OpType={operation}, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600029 "
        "milliseconds before timing out.\n"
    )


def test_watchdogs_are_compared_in_the_group_of_all_alone() -> None:
    whole = "0 PG GUID 0(default_pg)"
    found = found_in(CHECK, watchdog(0, "ALLREDUCE", whole) + watchdog(1, "BROADCAST", whole))
    assert found is not None and "number 41" in found.message and "rank 1: BROADCAST" in found.message
    part = "3 PG GUID 17(tp)"  # other pairs of ranks have a group of this name too
    assert found_in(CHECK, watchdog(0, "ALLREDUCE", part) + watchdog(1, "BROADCAST", part)) is None
    assert found_in(CHECK, watchdog(0, "ALLREDUCE", whole) + watchdog(1, "ALLREDUCE", whole)) is None


def test_silence() -> None:
    assert states(judge(CHECK, machine())) == ["not-applicable"]
    assert states(judge(CHECK, machine(run=run_of_dumps({0: dump(DONE), 1: dump(DONE)})))) == ["pass"]
