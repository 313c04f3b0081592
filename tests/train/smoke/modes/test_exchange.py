"""Context and expert parallel: right on a healthy machine, planted faults caught at the rank that has them."""

from __future__ import annotations

import pytest

from tests.train.smoke import kit

pytest.importorskip("torch")
MODES = ("ring-attention", "ulysses", "expert-parallel")


@pytest.mark.parametrize("world", (2, 3, 4))
@pytest.mark.parametrize("mode", MODES)
def test_agrees_with_one_process(mode: str, world: int) -> None:
    result = kit.run(mode, world)
    assert result.state == "pass", result.message
    assert result.max_error["grad"] < 1e-12


@pytest.mark.parametrize(
    ("fault", "rank", "mode", "named", "words"),
    [
        ("ring-stale", 1, "ring-attention", (1,), "keys and values of rank 0"),
        ("ring-reversed", "all", "ring-attention", (0, 1, 2, 3), "keys and values of rank"),
        ("all-to-all-dropped", 2, "ulysses", (2,), "query of this rank's heads"),
        ("backward-bit", 2, "ulysses", (2,), "gradient of this rank's"),
        ("all-to-all-dropped", 2, "expert-parallel", (2,), "number of tokens from each rank"),
        ("lost-count", 3, "expert-parallel", (3,), "number of tokens from each rank"),
        ("bad-expert", 1, "expert-parallel", (1,), "results of this rank's experts"),
        ("router-bit", 1, "expert-parallel", (1,), "gradient of the router"),
    ],
)
def test_a_planted_fault_is_caught_and_its_rank_named(
    fault: str, rank: int | str, mode: str, named: tuple[int, ...], words: str
) -> None:
    result = kit.planted(fault, rank, mode, world=4)
    assert (result.state, result.named) == ("fail", named), result.message
    assert words in result.message
