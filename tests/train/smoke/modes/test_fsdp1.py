"""FSDP1: right on a healthy machine; every planted fault is caught, and the rank it came from is named."""

from __future__ import annotations

import pytest

from tests.train.smoke import kit

pytest.importorskip("torch")
MODES = ("fsdp1", "fsdp1-grad-op", "fsdp1-hybrid")


def _right(mode: str, world: int) -> None:
    result = kit.run(mode, world, beside=MODES)
    assert result.state == "pass", result.message
    assert set(result.max_error) >= {"before", "value", "local", "loss", "grad", "param"}
    assert result.facts["replicas"] * result.facts["shards"] == world


@pytest.mark.parametrize("mode", MODES)
def test_agrees_with_one_process(mode: str) -> None:
    _right(mode, 4)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("mode", "world"), [(mode, world) for mode in MODES[:2] for world in (1, 2, 3, 5, 8)] + [("fsdp1-hybrid", 8)]
)
def test_agrees_with_one_process_for_any_number_of_ranks(mode: str, world: int) -> None:
    _right(mode, world)


def test_replicas_of_one_rank_are_not_tried() -> None:
    assert kit.run("fsdp1-hybrid", 2).state == "not-applicable"


# fault, rank, mode, ranks, state, named, layer, words
Case = tuple[str, "int | str", str, int, str, "tuple[int, ...]", str, str]
FAULTS: tuple[Case, ...] = (
    ("shard-bit", 1, "fsdp1", 4, "fail", (1,), "device", "1 of"),
    ("fsdp1-sends-wrong", 1, "fsdp1", 4, "fail", (1,), "collectives", "what rank 1 sent is wrong at every rank"),
    ("scatter-twice", 2, "fsdp1-hybrid", 4, "fail", (2,), "collectives", "rank 2's share counts 2 times"),
    ("fsdp1-keeps-whole", "all", "fsdp1-grad-op", 2, "fail", (0, 1), "framework", "still whole after the backward"),
    ("fsdp1-splits-nothing", "all", "fsdp1", 2, "fail", (0, 1), "framework", "has shape [8256] instead of [4128]"),
)
MORE: tuple[Case, ...] = (
    ("stale-shard", 1, "fsdp1", 4, "fail", (1,), "device", "the parameters after step 0"),
    ("forgotten-shard", 0, "fsdp1-grad-op", 3, "fail", (0,), "device", "all values are zero"),
    ("shard-bit", 3, "fsdp1-hybrid", 4, "fail", (3,), "device", "1 of"),
    ("fsdp1-gets-wrong", 1, "fsdp1", 4, "fail", (1,), "collectives", "1 of"),
    ("fsdp1-sends-wrong", 1, "fsdp1-grad-op", 2, "fail", (1,), "collectives", "what rank 1 sent is wrong"),
    ("fsdp1-keeps-whole", "all", "fsdp1", 4, "fail", (0, 1, 2, 3), "framework", "still holds whole parameters"),
    ("scatter-own", 1, "fsdp1", 4, "fail", (1,), "collectives", "the gradients of step 0"),
    ("scatter-bit", 1, "fsdp1", 4, "fail", (1,), "collectives", "1 of"),
    ("scatter-bit", 1, "fsdp1-hybrid", 4, "fail", (1, 3), "collectives", "1 of"),
    ("scatter-sum", "all", "fsdp1-grad-op", 4, "fail", (0, 1, 2, 3), "collectives", "4 times the expected tensor"),
    ("replicas-differ", 1, "fsdp1-hybrid", 4, "fail", (1,), "collectives", "the gradients of step 0"),
)


def test_a_fault_is_seen_and_its_rank_named() -> None:
    assert not kit.wrong_of(FAULTS)


@pytest.mark.heavy
@pytest.mark.parametrize("case", MORE, ids=lambda case: "-".join(map(str, case[:4])))
def test_more_faults(case: Case) -> None:
    kit.check_fault(*case)
