"""Data parallel: right on a healthy machine, and every planted fault is caught and its rank named."""

from __future__ import annotations

import pytest

from tests.train.smoke import kit

pytest.importorskip("torch")
MODES = ("ddp", "ddp-no-sync")


@pytest.mark.parametrize("world", (2, 3, 4))
@pytest.mark.parametrize("mode", MODES)
def test_agrees_with_one_process(mode: str, world: int) -> None:
    result = kit.run(mode, world, beside=MODES)
    assert result.state == "pass", result.message
    assert {"before", "local", "loss", "grad", "param"} <= set(result.max_error)
    assert all(result.max_error[name] <= result.tolerance[name] for name in result.max_error)
    assert [rank.state for rank in result.ranks] == ["pass"] * world


# What all ranks got alike is wrong at one of them, which has the same fault where nothing is sent.
@pytest.mark.parametrize("mode", MODES)
def test_one_flipped_bit_in_one_gradient_is_seen_and_the_rank_named(mode: str) -> None:
    result = kit.planted("gradient-bit", 1, mode, world=4)
    assert (result.state, result.named, result.layer) == ("fail", (1,), "device")
    assert "1 of" in result.message
