"""Two and three dimensions at once: right on a healthy machine, and a fault in one of them is named."""

from __future__ import annotations

import pytest

from tests.train.smoke import kit

pytest.importorskip("torch")


MODES = ("fsdp-tp", "pp-fsdp-tp", "pp-fsdp")


def _agrees(mode: str, world: int, mesh: str) -> None:
    result = kit.run(mode, world, beside=MODES)
    assert result.state == "pass", result.message
    assert {"before", "value", "loss", "grad", "param"} <= set(result.max_error)
    assert all(result.max_error[name] <= result.tolerance[name] for name in result.max_error)
    assert result.facts["mesh"] == mesh


@pytest.mark.parametrize(
    ("mode", "world", "mesh"),
    [
        ("fsdp-tp", 4, "pipeline 1 x sharded data 2 x tensor 2"),
        ("pp-fsdp-tp", 4, "pipeline 2 x sharded data 1 x tensor 2"),
        ("pp-fsdp", 4, "pipeline 2 x sharded data 2 x tensor 1"),
    ],
)
def test_agrees_with_one_process(mode: str, world: int, mesh: str) -> None:
    _agrees(mode, world, mesh)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("mode", "world", "mesh"),
    [
        ("fsdp-tp", 6, "pipeline 1 x sharded data 3 x tensor 2"),
        ("fsdp-tp", 8, "pipeline 1 x sharded data 4 x tensor 2"),
        ("pp-fsdp-tp", 8, "pipeline 2 x sharded data 2 x tensor 2"),
        ("pp-fsdp", 6, "pipeline 2 x sharded data 3 x tensor 1"),
        ("pp-fsdp", 8, "pipeline 2 x sharded data 4 x tensor 1"),
    ],
)
def test_agrees_with_one_process_on_more_ranks(mode: str, world: int, mesh: str) -> None:
    _agrees(mode, world, mesh)


@pytest.mark.parametrize(
    ("mode", "world", "words"),
    [("fsdp-tp", 3, "needs 4 ranks or more"), ("pp-fsdp-tp", 6, "needs a multiple of 4 ranks")],
)
def test_ranks_that_do_not_divide_are_not_applicable(mode: str, world: int, words: str) -> None:
    result = kit.run(mode, world)
    assert result.state == "not-applicable"
    assert words in result.message


FAULTS = [
    ("mesh-gather-bit", 2, "fsdp-tp", 4, (0, 2), "collectives", "what rank 0 sent is wrong at rank 2"),
    ("mesh-scatter-own", 3, "fsdp-tp", 4, (3,), "collectives", "the gradients of step 0"),
    ("tp-sum-bit", 3, "pp-fsdp-tp", 4, (3,), "collectives", "output of blocks.1.output"),
    ("pp-received-gradient-bit", 1, "pp-fsdp", 4, (1, 3), "collectives", "what rank 3 sent is wrong at rank 1"),
    ("compute-bit", 3, "fsdp-tp", 4, (3,), "device", "input of blocks.0.down"),
]
MORE = [
    ("mesh-scatter-bit", 1, "fsdp-tp", 4, (1,), "collectives", "1 of"),
    ("tp-sum-bit", 1, "fsdp-tp", 4, (1,), "collectives", "output of blocks.0.down"),
    ("tp-backward-sum-bit", 2, "fsdp-tp", 4, (2,), "collectives", "gradient for the output of"),
    ("tp-sum-bit", 2, "pp-fsdp-tp", 8, (2,), "collectives", "output of blocks.0.down"),
    ("pp-received-bit", 5, "pp-fsdp-tp", 8, (1, 5), "collectives", "what rank 1 sent is wrong at rank 5"),
    ("mesh-scatter-own", 6, "pp-fsdp-tp", 8, (6,), "collectives", "the gradients of step 0"),
    ("pp-swapped-inputs", 1, "pp-fsdp-tp", 8, (1,), "framework", "it equals that of micro-batch 1"),
]


def _is_named(fault: str, rank: int, mode: str, world: int, named: tuple[int, ...], layer: str, words: str) -> None:
    result = kit.planted(fault, rank, mode, world)
    assert (result.state, result.named, result.layer) == ("fail", named, layer), result.message
    assert words in result.message


def test_a_fault_in_one_dimension_is_named() -> None:
    assert not kit.wrong_of(
        [
            (fault, rank, mode, world, "fail", named, layer, words)
            for fault, rank, mode, world, named, layer, words in FAULTS
        ]
    )


@pytest.mark.heavy
@pytest.mark.parametrize(("fault", "rank", "mode", "world", "named", "layer", "words"), MORE)
def test_any_fault_in_one_dimension_is_named(
    fault: str, rank: int, mode: str, world: int, named: tuple[int, ...], layer: str, words: str
) -> None:
    _is_named(fault, rank, mode, world, named, layer, words)


def test_a_mesh_laid_out_the_other_way_round_is_seen() -> None:
    result = kit.planted("mesh-turned", "all", "fsdp-tp", world=4)
    assert (result.state, result.layer) == ("fail", "framework")
    assert "device mesh: puts this rank at" in result.message


@pytest.mark.heavy
@pytest.mark.parametrize(("world", "rank"), [(4, 1), (8, 5)])
def test_a_rank_that_hangs_is_named_although_others_wait_in_other_groups(world: int, rank: int) -> None:
    result = kit.planted("pp-hangs", rank, "pp-fsdp-tp", world, limit_s=8.0)
    assert (result.state, result.named) == ("crashed", (rank,)), result.message
