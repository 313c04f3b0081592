"""How long a step is where nobody asks for a batch."""

from __future__ import annotations

import pytest

from rocdoctor.train.recommend.advise import recommend
from rocdoctor.train.recommend.search.forms import is_short
from tests.train.recommend.fleet_kit import fleet, work


@pytest.mark.parametrize(
    ("nodes", "usual"),
    [
        (1, 128),  # a million tokens
        (32, 128),  # 256 GPUs: still a million
        (128, 512),  # 1,024 GPUs: 4,096 tokens each, as NVIDIA's recipe for 405B has it
        (2048, 2048),  # no more than 16 million tokens
    ],
)
def test_a_step_grows_with_the_gpus(nodes: int, usual: int) -> None:
    where, what = fleet("8xH100", nodes), work("llama-3.1-405b", seq=8192)
    assert is_short(where, what, usual // 2 - 1)
    assert not is_short(where, what, usual // 2)


@pytest.mark.heavy
def test_a_deep_pipeline_has_micro_batches_enough() -> None:
    """Llama 405B on 1,024 H100: tensor parallelism in the node, and stages that are not idle half of the time."""
    answer = recommend(fleet("8xH100", 128), work("llama-3.1-405b", seq=8192, framework="megatron"))
    assert answer.plan is not None
    sizes = answer.plan.work.parallel
    assert sizes.tp == 8
    assert answer.plan.result.schedule.idle < 0.35
