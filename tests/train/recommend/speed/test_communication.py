from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.train.recommend.estimate import solve
from rocdoctor.train.recommend.memory.tensors import holders, layers_held, total, units
from rocdoctor.train.recommend.model.models import presets
from rocdoctor.train.recommend.model.shapes import counted_parameters
from rocdoctor.train.recommend.speed.communication import Volumes, latency, volumes
from rocdoctor.train.recommend.speed.traffic import ring, sent, share
from rocdoctor.train.recommend.speed.transfers import transfers
from tests.examples import rows
from tests.train.recommend.spec_kit import changed

P = 6_738_415_616
TOKENS, HIDDEN, LAYERS, VOCAB = 2048, 4096, 32, 32000
EDGE = VOCAB * HIDDEN
S = 2 * TOKENS * HIDDEN  # hidden states of a micro-batch in 16 bits


def of(**fields: Any) -> Volumes:
    return volumes(solve(changed(**fields)).work)


def test_nvlink_of_a_rack_joins_its_nodes() -> None:
    fields: dict[str, Any] = {
        "model": "qwen3-30b-a3b",
        "gpus": 72,
        "framework": "megatron",
        "parallel": {"dp": 72, "ep": 8, "dist_opt": True},
    }
    rack, trays = (
        solve(changed(**fields, gpu={"name": "GB200", "per_node": 4, **more})).speed
        for more in ({}, {"nvlink_domain": 4})
    )
    assert rack is not None and trays is not None
    # Three quarters of 900 GB/s in place of nine tenths of the four network cards of a tray, 50 GB/s each.
    assert trays.communication / rack.communication == pytest.approx(0.75 * 900 / (0.9 * 4 * 50))
    assert solve(changed(gpu={"name": "B200"})).work.gpu.domain == 8


def test_a_ring_moves_all_but_its_own_part() -> None:
    assert [ring(n) for n in (1, 2, 8)] == [0.0, 0.5, 0.875]
    assert [share("all_reduce", n) for n in (1, 2, 8)] == [0.0, 1.0, 1.75]
    assert [share("send", n) for n in (1, 2, 8)] == [0.0, 1.0, 1.0]


def test_data_parallel_sends_twice_the_gradients() -> None:
    assert of(parallel={"dp": 8}, framework="ddp").data == pytest.approx(2 * 7 / 8 * 4 * P)
    assert of(parallel={"dp": 8}, framework="ddp", precision="pure bf16").data == pytest.approx(2 * 7 / 8 * 2 * P)


def test_full_sharding_gathers_all_but_the_head_twice_and_scatters_once() -> None:
    # 16-bit weights twice, 32-bit gradients once; head and last norm stay from forward to backward.
    assert of().sharded == pytest.approx(7 / 8 * ((2 * 2 + 4) * P - 2 * (EDGE + HIDDEN)))
    assert of(grad_accum=4).sharded == pytest.approx(4 * of().sharded)
    # accelerate, and so the Trainer, sums in the type of the products.
    assert of(method="full").sharded == pytest.approx(7 / 8 * ((2 * 2 + 2) * P - 2 * (EDGE + HIDDEN)))
    composer = of(framework="fsdp1", parallel={"fsdp": 8})
    assert composer.sharded == pytest.approx(7 / 8 * (3 * 2 * P - 2 * (2 * EDGE + HIDDEN)))


def test_deepspeed_gathers_small_tensors_once_and_reduces_whole_buckets() -> None:
    norms = (2 * LAYERS + 1) * HIDDEN
    # The last 5e8 elements stay gathered from their forward to their backward pass.
    assert of(parallel={"zero": 3}).sharded == pytest.approx(7 / 8 * (3 * 2 * P - 2 * norms - 2 * 5e8))
    # Stage 2 all-reduces for every micro-batch, stage 1 once; both gather the new weights once.
    assert of(parallel={"zero": 2}, grad_accum=4).data == pytest.approx(7 / 8 * (4 * 2 * 2 + 2) * P)
    assert of(parallel={"zero": 1}, grad_accum=4).data == pytest.approx(7 / 8 * (2 * 2 + 2) * P)


def test_the_distributed_optimizer_scatters_fp32_and_gathers_16_bits_once() -> None:
    told = of(framework="megatron", parallel={"dp": 8, "zero": 1}, grad_accum=4)
    assert told.data == pytest.approx(7 / 8 * (4 + 2) * P)
    assert of(framework="megatron", parallel={"dp": 8, "zero": 0}).data == pytest.approx(7 / 8 * 2 * 4 * P)


def test_sharding_inside_replicas_reduces_across_them() -> None:
    hybrid = of(parallel={"fsdp": 2, "replicate": 4})
    assert hybrid.sharded == pytest.approx(1 / 2 * (8 * P - 2 * (EDGE + HIDDEN)))
    assert hybrid.data == pytest.approx(2 * 3 / 4 * 4 * P / 2)


def test_tensor_parallel_sends_four_all_reduces_a_layer() -> None:
    fields: dict[str, Any] = {"framework": "megatron", "parallel": {"tp": 8, "sp": False}}
    loss = 2 * 7 / 8 * 3 * 4 * TOKENS
    # Embedding forward and head backward add one each.
    assert of(**fields).tensor == pytest.approx(2 * 7 / 8 * S * (4 * LAYERS + 2) + loss)
    assert of(**fields, recompute="full").tensor == pytest.approx(2 * 7 / 8 * S * (6 * LAYERS + 2) + loss)


def test_sequence_parallel_gathers_once_more_with_megatron() -> None:
    loss, norms = 2 * 7 / 8 * 3 * 4 * TOKENS, 2 * 7 / 8 * (2 * LAYERS + 1) * HIDDEN
    titan = of(framework="torchtitan", parallel={"tp": 8})
    assert titan.tensor == pytest.approx(7 / 8 * S * (8 * LAYERS + 4) + loss + 2 * norms)
    megatron = of(framework="megatron", parallel={"tp": 8})
    assert megatron.tensor == pytest.approx(7 / 8 * S * (10 * LAYERS + 5) + loss + 4 * norms)


def test_expert_parallel_sends_four_all_to_alls_of_top_k_a_layer() -> None:
    told = of(model="mixtral-8x7b", parallel={"ep": 8})
    assert told.expert == pytest.approx(4 * 7 / 8 * 2 * 2 * TOKENS * HIDDEN * LAYERS)
    assert of().expert == 0


def test_pipeline_sends_both_ways_but_not_at_its_ends() -> None:
    work = solve(changed(parallel={"pp": 8}, global_batch=16)).work
    per_rank = [sent(work, rank)["pp"] for rank in range(8)]
    assert per_rank == [16 * S, *[2 * 16 * S] * 6, 16 * S]
    assert volumes(work).pipeline == 2 * 16 * S


def test_a_v_turns_round_on_the_last_rank_without_a_send() -> None:
    work = solve(changed(parallel={"pp": 4, "schedule": "zbv"}, gpus=4, global_batch=8)).work
    assert holders(work) == (0, 1, 2, 3, 3, 2, 1, 0)
    assert [sent(work, rank)["pp"] for rank in range(4)] == [2 * 8 * S, 4 * 8 * S, 4 * 8 * S, 2 * 8 * S]


def test_a_part_of_the_sequence_makes_the_sends_of_a_pipeline_smaller() -> None:
    fields: dict[str, Any] = {"framework": "megatron", "gpus": 4, "global_batch": 8}
    assert of(**fields, parallel={"pp": 2, "tp": 2}).pipeline == 8 * S / 2
    assert of(**fields, parallel={"pp": 2, "tp": 2, "sp": False}).pipeline == 8 * S


def test_context_parallel_by_sends_and_by_gathers() -> None:
    keys = 2 * 2 * (TOKENS // 8) * HIDDEN
    # Keys and values of the own part, seven hops, forward once and backward twice.
    assert of(parallel={"cp": 8}).context == pytest.approx(7 * 3 * keys * LAYERS)
    # Gathered in both passes; fp32 gradients go all the way round.
    assert of(framework="torchtitan", parallel={"cp": 8}).context == pytest.approx((2 * 7 + 8 * 2) * keys * LAYERS)


def test_frozen_weights_are_gathered_but_not_reduced() -> None:
    work = solve(changed(method="lora", lora_rank=8)).work
    adapters = 8 * LAYERS * (4 * 2 * HIDDEN + 3 * (HIDDEN + 11008))
    assert total(units(work, 0), trained=True) == adapters
    reduced = [one for one in transfers(work) if one.kind == "reduce_scatter"]
    # accelerate reduces in the type of the products, also where what is trained has 32 bits.
    assert [one.total for one in reduced] == [2 * adapters]


def test_rings_over_many_ranks_wait_for_their_hops() -> None:
    def wait(gpus: int, **fields: Any) -> float:
        return latency(solve(changed(gpus=gpus, parallel={"fsdp": gpus}, **fields)).work, {"hop_seconds": {"v": 1e-6}})

    assert wait(512) == pytest.approx(3 * (LAYERS + 1) * 511e-6)
    assert wait(512, grad_accum=2) == pytest.approx(2 * wait(512))
    assert latency(solve(changed(parallel={"tp": 8})).work, {}) == 0.0


def test_one_gpu_sends_nothing() -> None:
    assert transfers(solve(changed(gpus=1, parallel={})).work) == ()
    assert of(gpus=1, parallel={}) == Volumes(0, 0, 0, 0, 0, 0)


@rows("name", sorted(presets()))
def test_the_tensors_of_a_model_are_its_parameters(name: str) -> None:
    work = solve(changed(model=name, gpus=1, parallel={})).work
    model = work.model
    beyond = int(model.given_parameters or 0) - counted_parameters(model)
    assert total(units(work, 0)) == counted_parameters(model) + max(0, beyond)


def test_every_layer_lies_on_one_rank() -> None:
    for parallel in ({"pp": 8}, {"pp": 8, "schedule": "zbv"}, {"pp": 4, "vpp": 3}):
        work = solve(changed(parallel=parallel)).work
        held = [sum(count for _, count in layers_held(work, rank)) for rank in range(work.parallel.pp)]
        assert sum(held) == LAYERS


def test_experts_in_every_second_layer_lie_on_every_rank() -> None:
    work = solve(changed(model="llama-4-maverick", gpus=256, parallel={"pp": 8, "fsdp": 32})).work
    assert {layers_held(work, rank) for rank in range(8)} == {(("dense", 3), ("moe", 3))}
