from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.recommend.communication import Volumes, latency, ring, volumes
from rocdoctor.recommend.estimate import solve
from rocdoctor.recommend.memory import shares
from tests.recommend.spec_kit import changed

P = 6_738_415_616
TOKENS, HIDDEN, LAYERS = 2048, 4096, 32


def sent(**fields: Any) -> Volumes:
    work = solve(changed(**fields)).work
    return volumes(work, shares(work))


def test_a_ring_moves_all_but_its_own_part() -> None:
    assert [ring(n) for n in (1, 2, 8)] == [0.0, 0.5, 0.875]


def test_data_parallel_sends_twice_the_gradients() -> None:
    assert sent(parallel={"dp": 8}, framework="ddp").data == pytest.approx(2 * 7 / 8 * 4 * P)


def test_full_sharding_gathers_twice_and_scatters_once() -> None:
    # 16-bit weights twice, 32-bit gradients once.
    assert sent().sharded == pytest.approx(7 / 8 * (2 * 2 + 4) * P)
    assert sent(grad_accum=4).sharded == pytest.approx(4 * sent().sharded)
    assert sent(parallel={"zero": 3}).sharded == pytest.approx(7 / 8 * 3 * 2 * P)


def test_sharding_inside_replicas_reduces_across_them() -> None:
    hybrid = sent(parallel={"fsdp": 2, "replicate": 4})
    assert hybrid.sharded == pytest.approx(1 / 2 * 8 * P)
    assert hybrid.data == pytest.approx(2 * 3 / 4 * 4 * P / 2)


def test_tensor_parallel_sends_four_all_reduces_a_layer() -> None:
    one = 2 * 7 / 8 * 2 * TOKENS * HIDDEN  # an all-reduce of 16-bit activations
    assert sent(parallel={"tp": 8}).tensor == pytest.approx(4 * one * LAYERS)
    assert sent(parallel={"tp": 8}, recompute="full").tensor == pytest.approx(6 * one * LAYERS)


def test_expert_parallel_sends_four_all_to_alls_of_top_k_a_layer() -> None:
    told = sent(model="mixtral-8x7b", parallel={"ep": 8})
    assert told.expert == pytest.approx(4 * 7 / 8 * 2 * 2 * TOKENS * HIDDEN * LAYERS)
    assert sent().expert == 0


def test_pipeline_and_context_parallel() -> None:
    piped = sent(parallel={"pp": 8}, global_batch=16)
    assert piped.pipeline == pytest.approx(2 * 2 * TOKENS * HIDDEN * 16)
    ring_attention = sent(parallel={"cp": 8})
    # Keys and values of the own part, seven hops, forward once and backward twice.
    assert ring_attention.context == pytest.approx(7 * 3 * 2 * 2 * (TOKENS / 8) * HIDDEN * LAYERS)


def test_rings_over_many_ranks_wait_for_their_hops() -> None:
    def wait(gpus: int, **fields: Any) -> float:
        return latency(solve(changed(gpus=gpus, parallel={"fsdp": gpus}, **fields)).work, {"hop_seconds": {"v": 1e-6}})

    assert wait(512) == pytest.approx(3 * (LAYERS + 1) * 511e-6)
    assert wait(512, grad_accum=2) == pytest.approx(2 * wait(512))
    assert latency(solve(changed(parallel={"tp": 8})).work, {}) == 0.0


def test_one_gpu_sends_nothing() -> None:
    told = sent(gpus=1, parallel={})
    assert (told.data, told.sharded, told.tensor, told.expert, told.context, told.pipeline) == (0,) * 6
