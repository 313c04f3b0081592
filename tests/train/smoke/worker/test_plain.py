"""How far AdamW may be off: gradients that are off make parameters that are within doubt, and doubt is small."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("torch")
import torch

from rocdoctor.train.smoke.worker import model as models
from rocdoctor.train.smoke.worker import plain


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """As in a rank: threads that wait for each other on a busy machine take twice the time of the processors."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_parameters_of_rounded_gradients_are_within_doubt_and_doubt_is_small() -> None:
    sizes, share, steps = models.Sizes(2), 2e-5, 3
    wanted = plain.train(torch, sizes, 0, models.batches(torch, sizes, steps), "adamw")
    doubts = plain.doubts(torch, wanted, [share] * steps)
    optimizer, held = plain.Optimizer("adamw"), {name: one.double() for name, one in wanted.before[0].items()}
    generator = torch.Generator().manual_seed(3)
    decided = 0
    for step, grads in enumerate(wanted.grads):
        largest = max(float(one.abs().max()) for one in grads.values())
        off = {name: torch.rand(one.shape, generator=generator) * 2 - 1 for name, one in grads.items()}
        noisy = {name: one + share * largest * off[name].double() for name, one in grads.items()}
        held = optimizer.step(held, noisy)
        for name, one in held.items():
            right = wanted.after[step][name]
            assert torch.equal(plain.settled(torch, one, right, doubts[step][name]), right), (step, name)
            decided += int(((one - right).abs() > 1e-4).sum())
            # Of each tensor most values are known to a thirtieth of a step.
            assert float(doubts[step][name].median()) < 1e-3 / 30, (step, name)
    assert decided  # rounding decides the direction of some: the test is about these
    name = next(iter(held))
    right = wanted.after[-1][name]
    moved = right + 2 * steps * 1.02e-3
    assert torch.equal(plain.settled(torch, moved, right, doubts[-1][name]), moved)  # further than rounding can do
