"""Memory of communicators beside what was measured of them, and of DeepSpeed's and Megatron-LM's buffers."""

from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.train.recommend.estimate import Result, efficiency, solve
from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from rocdoctor.train.recommend.memory.allocator import left_by_head, merged_at_start
from rocdoctor.train.recommend.memory.communicators import collective_bytes
from tests.train.recommend.spec_kit import changed

H100 = {"name": "H100 SXM", "mem_gib": 80}
A100 = {"name": "A100 SXM 80GB"}
MIXTURE = {"name": "moe", "layers": 32, "hidden": 4096, "ffn": 14336, "heads": 32, "kv_heads": 8, "vocab": 32000}
MIXTURE |= {"experts": 8, "top_k": 2, "expert_ffn": 14336}


def held(gpu: Any = H100, first: float = 0.0, **fields: Any) -> float:
    """GiB of all communicators of one rank."""
    return collective_bytes(solve(changed(gpu=gpu, **fields)).work, first) / GIB


def test_all_to_all_of_a_node_takes_nearly_what_was_measured() -> None:
    """8 H100: 3.28 GB more after the first all_to_all_single (NVIDIA/nccl issue 1685)."""
    plan = {"fsdp": 8, "ep": 8}
    apart = held(model=MIXTURE, framework="torchtitan", parallel=plan) - held(
        model=MIXTURE, framework="torchtitan", parallel={"fsdp": 8}
    )
    assert apart == pytest.approx(7 * 32 * 12 / 1024)
    assert 0.75 < apart * GIB / 3.28e9 < 1


def test_a_group_of_two_and_of_four_takes_nearly_what_was_measured() -> None:
    """One group on A100: 544 MB with two ranks, 688 MB with four, where pages are smaller (NVIDIA/nccl issue 964)."""
    for gpus, measured in ((2, 544), (4, 688)):
        found = held(A100, framework="torchtitan", gpus=gpus, parallel={"fsdp": gpus}) * GIB / 2**20
        assert found * 9.2 / 12 == pytest.approx(measured, rel=0.2), gpus


def test_groups_of_megatron_stay_below_what_was_measured() -> None:
    """8 H100, tp 2, pp 2, dp 2: 7 GB, with experts 9.5 GB (verl-project/verl pull request 6408), NVLS included."""
    plan = {"tp": 2, "pp": 2, "dp": 2, "sp": True, "dist_opt": True}
    dense = held(framework="megatron", parallel=plan)
    experts = held(model=MIXTURE, framework="megatron", parallel={**plan, "ep": 2})
    assert 2.5 < dense < 7e9 / GIB
    assert dense < experts < 9.5e9 / GIB
    # Tokens go to each of seven peers.
    far = {"ep": 8, "dp": 8}
    spread = held(model=MIXTURE, framework="megatron", parallel=far)
    assert spread - held(framework="megatron", parallel={"dp": 8}) > 7 * 32 * 12 / 1024
    # Each dimension has a group of its own.
    assert held(framework="megatron", parallel={"dp": 8}) < dense


def test_groups_over_the_network_have_fewer_channels_to_each_peer() -> None:
    near = held(model=MIXTURE, framework="megatron", gpus=8, parallel={"ep": 8, "dp": 8})
    far = held(model=MIXTURE, framework="megatron", gpus=64, parallel={"tp": 8, "dp": 8, "ep": 8, "etp": 8, "sp": True})
    assert far < near + 1


@pytest.mark.parametrize("gpu", [{"name": "MI300X", "mem_gib": 192}, {"name": "RX 7900 XTX"}])
def test_what_was_not_read_stays_what_it_was(gpu: dict[str, Any]) -> None:
    assert held(gpu, 0.6) == pytest.approx(0.6)
    assert held(gpu, 0.6, gpus=1, parallel={}) == 0
    many = {**MIXTURE, "experts": 64}
    assert held(gpu, 0.6, model=many, framework="megatron", gpus=64, parallel={"ep": 64, "dp": 64}) == pytest.approx(
        0.6
    )


def test_cards_without_links_have_two_channels() -> None:
    assert 0 < held({"name": "L40S"}, framework="torchtitan") < 0.1
    least = efficiency()["memory"]["collective_gib"]["v"]
    assert held({"name": "L40S"}, least, framework="torchtitan") == pytest.approx(least)


def test_what_communicators_take_must_be_on_the_device() -> None:
    def high(framework: str, parallel: dict[str, Any]) -> tuple[float, float]:
        found = solve(changed(gpu=H100, framework=framework, parallel=parallel)).memory
        return found.context, found.high - found.context

    dense, divided = high("torchtitan", {"fsdp": 8}), high("torchtitan", {"fsdp": 4, "tp": 2})
    assert divided[0] > dense[0] > 1.2 * GIB


def deepspeed(**fields: Any) -> Result:
    return solve(changed(model="qwen2.5-7b", gpu=A100, framework="deepspeed", recompute="full", **fields))


def test_buckets_are_those_that_are_named() -> None:
    plan = {"zero": 3, "dp": 8}
    usual, auto, named = (
        deepspeed(parallel=plan, **one) for one in ({}, {"reduce_bucket": "auto"}, {"reduce_bucket": 250_000_000})
    )
    assert usual.memory.buffers == 4 * 5e8
    assert auto.memory.buffers == 4 * 3584**2
    assert named.memory.buffers == 4 * 250e6
    assert deepspeed(parallel={"zero": 2, "dp": 8}, reduce_bucket="auto").memory.buffers == 4 * 3584**2


def test_growing_segments_are_used_again() -> None:
    """The gradient of the head is reduced before those of the layers exist; only its segments may stay."""
    plan, head = {"zero": 3, "dp": 8}, 152064 * 3584
    fixed, grown = (
        deepspeed(parallel=plan, seq=16384, fused_ce="liger", allocator=one) for one in (None, "expandable")
    )
    assert left_by_head(fixed.work) == pytest.approx(8 * head, rel=0.002)
    assert left_by_head(grown.work) == 0
    assert fixed.memory.live_peak == grown.memory.live_peak
    assert fixed.memory.reserved > grown.memory.reserved
    trainer = {"framework": "fsdp", "method": "full", "parallel": {"fsdp": 8}}
    fixed, grown = (solve(changed(**trainer, allocator=one)) for one in (None, "expandable_segments:True"))
    assert fixed.memory.reserved > grown.memory.reserved
    assert fixed.memory.needed == grown.memory.needed


def test_a_checkpoint_is_joined_beside_the_weights() -> None:
    """72B over 8 GPUs, moments in main memory: ms-swift prints 65 GiB of the device."""
    plan = {"tp": 8, "dp": 1, "sp": True, "dist_opt": True, "offload_optimizer": "cpu"}
    spec = changed(model="qwen2.5-72b", gpu=A100, framework="megatron", seq=8192, recompute="full", fused_ce="native")
    found = solve({**spec, "parallel": plan})
    assert merged_at_start(found.work) == pytest.approx(2 * 80 * 2 * 8192 * 29568 / 8)
    assert (found.memory.reserved + found.memory.context) / GIB == pytest.approx(65, rel=0.05)
    # The GPU need not hold it: what has no room is joined in main memory.
    assert found.memory.needed < found.memory.reserved
    on_gpu = solve({**spec, "parallel": {**plan, "offload_optimizer": None}})
    assert merged_at_start(on_gpu.work) == 0


@pytest.mark.parametrize(
    ("named", "stage", "elements"),
    [
        ("llamafactory", 3, 3584**2),
        ("axolotl", 3, 3584**2),
        ("swift", 3, 3584**2),
        ("swift", 2, 2e8),
        ("llamafactory", 2, 5e8),
        ("", 3, 5e8),
    ],
)
def test_buckets_are_those_of_the_programs_configurations(named: str, stage: int, elements: float) -> None:
    plan = {"zero": stage, "dp": 8}
    fields = {"model": "qwen2.5-7b", "gpu": A100, "recompute": "full", "framework": f"{named} deepspeed".strip()}
    one = solve(changed(parallel=plan, **fields))
    assert one.memory.buffers == 4 * elements
    assert any("reduce_bucket not given" in line for line in one.derived) == (elements != 5e8)


def test_a_bucket_of_zero_3_lives_beside_the_logits() -> None:
    # The loss of 32,768 tokens decides, long before the first gradient meets a bucket.
    def live(stage: int, bucket: int) -> float:
        return deepspeed(parallel={"zero": stage, "dp": 8}, seq=32768, reduce_bucket=bucket).memory.live_peak

    assert live(3, 500_000_000) - live(3, 100_000_000) == pytest.approx(2 * 4e8)
    assert live(2, 500_000_000) == live(2, 100_000_000)


def test_gradients_in_main_memory_are_not_alive_but_held() -> None:
    plan = {"zero": 3, "dp": 8, "offload_optimizer": "cpu"}
    one = deepspeed(parallel=plan, seq=8192, fused_ce="liger")
    assert one.memory.states == pytest.approx(2 * 7.62e9 / 8, rel=1e-2)
    # What max_reserved has beyond them is as much as they would take.
    assert one.memory.needed - one.memory.live_peak >= 2 * 7.6e9 / 8
    adapted = deepspeed(parallel=plan, seq=8192, method="lora").memory
    assert adapted.states < one.memory.states * 1.05


def test_megatron_deepspeed_divides_as_megatron_does() -> None:
    """BLOOM's 181B on 384 A100 (bigscience, chronicles of tr11): 56 GB of the device, 121 s a step."""
    model = {"name": "bloom-like", "layers": 72, "hidden": 14336, "ffn": 57344, "heads": 64, "kv_heads": 64}
    model |= {"vocab": 250880, "gated": False, "norm": "layer", "bias": True, "norm_bias": True, "tied": True}
    plan = {"tp": 8, "pp": 6, "dp": 8, "sp": False, "zero": 1}
    spec = changed(model=model, gpu=A100, gpus=384, micro_batch=4, global_batch=2048, recompute="full")
    found = solve(
        {**spec, "framework": "Megatron-DeepSpeed", "attention": "eager", "fused_ce": "none", "parallel": plan}
    )
    assert found.work.framework == "megatron"
    assert (found.memory.reserved + found.memory.context) / GIB == pytest.approx(56e9 / GIB, rel=0.05)


def test_a_loss_that_writes_over_the_logits_keeps_four_bytes() -> None:
    found, plain = (solve(changed(framework="ddp", parallel={"dp": 8}, fused_ce=one)) for one in ("in-place", "none"))
    assert found.work.loss == "inplace"
    words = found.work.tokens * found.work.model.vocab
    assert plain.memory.logits - found.memory.logits == pytest.approx(10 * words)


def test_no_rests_on_what_is_surely_taken() -> None:
    """A rank with many groups may connect fewer of them than are counted."""
    plan = {"tp": 2, "pp": 2, "dp": 2, "sp": True, "dist_opt": True}
    found = solve(changed(gpu=H100, framework="megatron", parallel=plan))
    assert found.memory.context > 1.5 * GIB

    def verdict(room: float) -> str:
        return solve(changed(gpu={**H100, "usable_gib": room}, framework="megatron", parallel=plan)).fits

    assert verdict(found.memory.low / GIB + 1.3) == "tight"
    assert verdict(found.memory.low / GIB + 1.1) == "no"
