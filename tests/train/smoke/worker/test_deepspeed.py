"""What DeepSpeed's modes ask of its releases."""

from __future__ import annotations

from typing import Any

from rocdoctor.train.smoke.worker.modes.deepspeed import configuration
from rocdoctor.train.smoke.worker.modes.deepspeed_ulysses import takes_batch_first


class _Earlier:
    """As up to DeepSpeed 0.14.4: a fourth value goes on to the local attention."""

    def forward(self, query: Any, key: Any, value: Any, *args: Any, **kwargs: Any) -> Any: ...


class _Later:
    def forward(self, query: Any, key: Any, value: Any, batch_dim_idx: int, *args: Any) -> Any: ...


def test_attention_that_knows_the_sequence_first_alone_is_not_tried_with_the_batch_first() -> None:
    assert [takes_batch_first(one) for one in (_Earlier, _Later)] == [False, True]


def test_a_setting_that_older_releases_refuse_is_told_only_where_it_is_meant() -> None:
    plain, near = (configuration(2, 3, ranks)["zero_optimization"] for ranks in (1, 4))
    assert set(near) - set(plain) >= {"zero_hpz_partition_size"}
    assert near["zero_hpz_partition_size"] == 4
