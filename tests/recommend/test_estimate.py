from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.recommend.estimate import SpecError, estimate

SMALL: dict[str, Any] = {
    "model": {"layers": 32, "hidden": 4096, "heads": 32, "vocab": 32000, "params": 6.7},
    "gpu": {"name": "MI300X", "mem_gib": 192},
    "gpus": 8,
    "seq": 2048,
    "micro_batch": 1,
    "parallel": {"zero": 3},
}


def test_states_follow_the_published_bytes_a_parameter() -> None:
    sharded = estimate(SMALL)["memory_gib"]["states"]
    whole = estimate({**SMALL, "parallel": {"zero": 0}})["memory_gib"]["states"]
    assert whole == pytest.approx(6.7e9 * 18 / 2**30, rel=1e-3)
    assert sharded == pytest.approx(whole / 8, rel=1e-2)


def test_a_model_that_cannot_fit_is_refused_and_a_small_one_fits() -> None:
    assert estimate(SMALL)["fits"] == "yes"
    assert estimate({**SMALL, "gpu": {"name": "x", "mem_gib": 16}, "parallel": {"zero": 0}})["fits"] == "no"


def test_tensor_parallel_divides_and_full_recompute_saves() -> None:
    base = estimate(SMALL)["memory_gib"]
    split = estimate({**SMALL, "parallel": {"zero": 3, "tp": 2}})["memory_gib"]
    saved = estimate({**SMALL, "recompute": "full"})["memory_gib"]
    assert split["activations"] == pytest.approx(base["activations"] / 2, rel=1e-2)
    assert saved["activations"] < base["activations"] / 4


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"parallel": {"tp": 3}}, "does not divide"),
        ({"parallel": {"tp": 8}, "model": {**SMALL["model"], "heads": 12}}, "attention heads"),
        ({"seq": 0}, "seq"),
        ({"model": None}, "model"),
    ],
)
def test_impossible_specifications_name_their_field(change: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        estimate({**SMALL, **change})
