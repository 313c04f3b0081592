"""The check flight-transport-suspected. Dumps are constructed."""

from __future__ import annotations

from tests.kit import judge, machine, states
from tests.run_kit import dump, entry, found_in, run_of_dumps

CHECK = "flight-transport-suspected"
DONE = [entry(1), entry(2)]
INSIDE = dump([*DONE, entry(3, state="started")])


def test_all_ranks_inside_point_at_the_way_between_them() -> None:
    found = found_in(CHECK, run_of_dumps({0: INSIDE, 1: INSIDE}))
    assert found is not None and found.severity == "warning" and found.cause == "" and found.confidence == "possible"
    assert "All ranks entered all_reduce number 3" in found.message and "no rank is missing" in found.message


def test_a_gpu_that_has_not_begun_is_named() -> None:
    queued = dump([*DONE, entry(3, state="scheduled")])
    found = found_in(CHECK, run_of_dumps({0: INSIDE, 1: queued}))
    assert found is not None and "the GPU of rank 1 has not begun it" in found.message


def test_a_missing_rank_or_an_unknown_one_is_another_matter() -> None:
    assert found_in(CHECK, run_of_dumps({0: INSIDE, 1: dump(DONE)})) is None
    three = dump([*DONE, entry(3, state="started")], [0, 1, 2])
    assert found_in(CHECK, run_of_dumps({0: three, 1: three})) is None


def test_unlike_calls_are_another_matter() -> None:
    other = dump([*DONE, entry(3, "nccl:broadcast", "started")])
    assert found_in(CHECK, run_of_dumps({0: INSIDE, 1: other})) is None


def test_sound_and_single_dumps() -> None:
    assert states(judge(CHECK, machine(run=run_of_dumps({0: dump(DONE), 1: dump(DONE)})))) == ["pass"]
    assert states(judge(CHECK, machine(run=run_of_dumps({0: INSIDE})))) == ["unknown"]
    assert states(judge(CHECK, machine())) == ["not-applicable"]
