"""Four steps of AdamW, optimizers by themselves, dropout: right on healthy ranks, on an odd number of them too."""

from __future__ import annotations

import pytest

from tests.train.smoke import kit

pytest.importorskip("torch")


@pytest.mark.parametrize("world", (2, 3))
@pytest.mark.parametrize("mode", ("ddp-longer", "fsdp2-longer", "dropout"))
def test_agrees_with_one_process(mode: str, world: int) -> None:
    result = kit.run(mode, world)
    assert result.state == "pass", result.message
    # Far from what is allowed, so that another processor passes too.
    assert all(result.max_error[name] <= result.tolerance[name] / 2 for name in result.max_error)
    if mode == "ddp-longer":
        assert result.facts["buckets"] >= 3
    if mode == "fsdp2-longer":
        assert {"loss", "grad", "param"} <= set(result.max_error)


def test_every_way_of_every_optimizer_is_tried() -> None:
    result = kit.run("optimizers", 1)
    assert result.state == "pass", result.message
    assert "not_implemented" not in result.facts
    assert result.max_error["local"] <= result.tolerance["local"] / 4
