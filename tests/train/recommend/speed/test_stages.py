"""What the stages of a pipeline wait for: the one with the most work, head and loss included."""

from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.train.recommend.estimate import solve
from tests.train.recommend.spec_kit import changed

_LLAMA_405B = {"layers": 126, "hidden": 16384, "ffn": 53248, "heads": 128, "kv_heads": 8}


def _products(stages: int, model: dict[str, Any]) -> float:
    """Seconds of matrix products of a step of 16 micro-batches."""
    sizes = {"pp": stages, "dp": 1, "tp": 1}
    spec = changed(model=model, gpus=stages, parallel=sizes, framework="megatron", grad_accum=16)
    told = solve(spec).speed
    assert told is not None
    return told.matrix


def test_the_last_stage_computes_the_whole_head() -> None:
    def of_the_head(stages: int) -> float:
        sizes = {"layers": 32, "hidden": 4096, "ffn": 11008, "heads": 32}
        return _products(stages, {**sizes, "vocab": 64000}) - _products(stages, {**sizes, "vocab": 32000})

    assert of_the_head(8) == pytest.approx(of_the_head(1), rel=1e-9)


def test_a_last_stage_with_fewer_layers_has_room_for_the_head() -> None:
    # Seven stages of 16 layers and one of 14: a head of 128,256 words is less than two layers, one of 1,000,000 more.
    words = [_products(8, {**_LLAMA_405B, "vocab": count}) for count in (64000, 128256, 1_000_000)]
    assert words[0] == words[1] < words[2]
