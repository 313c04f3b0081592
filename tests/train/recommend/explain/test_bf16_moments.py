"""Second moments in bf16, as torch keeps them, and what a plan says of it."""

from __future__ import annotations

import pytest

from rocdoctor.train.recommend.estimate import solve
from rocdoctor.train.recommend.explain.cautions import cautions
from tests.train.recommend.spec_kit import changed


def test_a_plan_with_16_bit_moments_names_the_beta() -> None:
    def said(**fields: object) -> bool:
        one = solve(changed(method="full", framework="ddp", gpus=1, parallel={}, **fields))
        return any("beta2" in line for line in cautions(one.work, one.memory))

    assert said(precision="pure bf16")
    assert not said(precision="bf16")
    assert not said(precision="pure bf16", optimizer="adamw_8bit")


@pytest.mark.parametrize(("beta2", "right"), [(0.999, False), (0.95, True)])
def test_torch_keeps_a_moment_that_falls_too_slowly(beta2: float, right: bool) -> None:
    """Gradients fall to a tenth: after 300 steps the moment should be there, or well on its way."""
    torch = pytest.importorskip("torch")
    weight = torch.nn.Parameter(torch.zeros(8, dtype=torch.bfloat16))
    optimizer = torch.optim.AdamW([weight], lr=1e-6, betas=(0.9, beta2))
    for size, steps in ((1.0, 100), (0.1, 300)):
        for _ in range(steps):
            weight.grad = torch.full((8,), size, dtype=torch.bfloat16)
            optimizer.step()
    held = float(optimizer.state[weight]["exp_avg_sq"].float().mean())
    expected = (1 - beta2**100) * beta2**300 + 0.01 * (1 - beta2**300)
    assert (held < 1.2 * expected) is right
