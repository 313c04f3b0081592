"""A rank that never comes back: what it was doing has words of its own, and nothing is left of it."""

from __future__ import annotations

import pytest

from tests.train.smoke import kit

pytest.importorskip("torch")
from tests.train.smoke.planted.faults import Active, at_backward


def keeps_the_lock(active: Active) -> None:
    def act() -> None:
        import ctypes

        ctypes.PyDLL(None).sleep(600)

    at_backward(act, active)


def never_ends(active: Active) -> None:
    def spin() -> None:
        while True:
            pass

    at_backward(spin, active)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (keeps_the_lock, "does not let go of Python's interpreter lock"),
        (never_ends, "it was computing in test_silent_ranks.py"),
    ],
)
def test_a_rank_that_never_comes_back_is_named_with_what_it_did(fault: kit.Fault, words: str) -> None:
    result = kit.planted(fault, 1, "ddp", limit_s=6.0)
    assert (result.state, result.named, result.layer) == ("crashed", (1,), "framework"), result.message
    assert words in result.message
    assert kit.processes() == []
