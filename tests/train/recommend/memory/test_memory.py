from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.train.recommend.estimate import estimate, solve
from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from rocdoctor.train.recommend.memory.activations import layer_bytes, loss_bytes
from rocdoctor.train.recommend.memory.fit import fits
from rocdoctor.train.recommend.memory.step_memory import step_copy
from rocdoctor.train.recommend.model.shapes import layer_parameters, parameters
from tests.train.recommend.spec_kit import changed

P = 6_738_415_616


def states(**fields: Any) -> float:
    """Bytes a parameter that a specification's states take on one GPU."""
    return solve(changed(**fields)).memory.states / P


def test_accelerate_sums_gradients_in_the_type_of_the_products() -> None:
    own, theirs = (solve(changed(parallel={"fsdp": 8}, method=one)) for one in ("pretrain", "full"))
    layer = layer_parameters(own.work.model, "dense")
    # The input of one layer's reduction: 4 B an element in torchtitan, 2 B through accelerate.
    assert own.memory.buffers - theirs.memory.buffers == pytest.approx(2 * layer)


def test_zero_3_gathers_into_buffers_of_its_own_also_on_one_gpu() -> None:
    alone = {"gpus": 1, "framework": "deepspeed"}
    second = solve(changed(parallel={"dp": 1, "zero": 2}, **alone)).memory
    third = solve(changed(parallel={"dp": 1, "zero": 3}, **alone)).memory
    # DeepSpeed's stage3_max_live_parameters, 1e9 of 2 bytes, and the largest module.
    assert third.gathered >= 2e9
    assert second.gathered == 0.0


@pytest.mark.parametrize(
    ("parallel", "wanted"),
    [
        # FSDP with fp32 weights: 16 over the ranks.
        ({"fsdp": 8}, 16 / 8),
        # Megatron: 18 whole, 6 + 12/dp with the distributed optimizer.
        ({"tp": 1, "dist_opt": False}, 18),
        ({"tp": 1, "dist_opt": True}, 6 + 12 / 8),
        # DeepSpeed: 16-bit weights and gradients, 12 for the optimizer (fp32 gradients exist in its step alone).
        ({"zero": 1}, 4 + 12 / 8),
        ({"zero": 2}, 2 + 14 / 8),
        ({"zero": 3}, 16 / 8),
        ({"fsdp": 8, "offload": True}, 0),
        # The optimizer in host memory has its gradients there: weights stay.
        ({"zero": 1, "offload_optimizer": "cpu"}, 4),
        ({"zero": 2, "offload_optimizer": "cpu"}, 2),
        ({"zero": 3, "offload_optimizer": "cpu"}, 2 / 8),
        ({"zero": 3, "offload_optimizer": "cpu", "offload_params": "cpu"}, 0),
    ],
)
def test_states_a_parameter(parallel: dict[str, Any], wanted: float) -> None:
    assert states(parallel=parallel) == pytest.approx(wanted, rel=1e-3)


def test_states_of_one_gpu_and_of_other_optimizers() -> None:
    alone = {"gpus": 1, "parallel": {}}
    # Weights, gradients and two moments in fp32: autocast's 16-bit copies live within a step only.
    assert states(**alone) == pytest.approx(16)
    assert states(**alone, optimizer="sgd") == pytest.approx(8)
    assert states(**alone, optimizer="adamw_8bit") == pytest.approx(10.1)
    assert states(**alone, precision="fp32") == pytest.approx(16)


def test_tensor_and_pipeline_parallelism_divide_states() -> None:
    assert states(parallel={"tp": 8, "dist_opt": False}) == pytest.approx(18 / 8, rel=1e-3)
    piped = states(parallel={"pp": 8, "dist_opt": False})
    assert 18 / 8 < piped < 18 / 8 * 1.15  # the first and the last stage have an embedding more


def test_expert_parallelism_divides_experts_only() -> None:
    moe = {"model": "mixtral-8x7b", "parallel": {"ep": 8, "dist_opt": False}}
    spread, whole = solve(changed(**moe)), solve(changed(model="mixtral-8x7b", parallel={"dist_opt": False, "tp": 1}))
    experts = 32 * 8 * 3 * 4096 * 14336
    assert whole.memory.states - spread.memory.states == pytest.approx(18 * experts * 7 / 8, rel=1e-6)


def test_adapters_leave_weights_frozen() -> None:
    alone = {"gpus": 1, "parallel": {}}
    lora, qlora = states(**alone, method="lora"), states(**alone, method="qlora")
    assert 2.0 < lora < 2.2
    # 4.127 bits, with the embedding and the head in 16 bits.
    assert 0.516 < qlora < 0.8
    assert states(**alone, method="lora", lora_rank=64) > lora


def layer(**fields: Any) -> float:
    """Bytes a token, in units of the hidden size."""
    work = solve(changed(**fields)).work
    return layer_bytes(work, "dense").saved / work.model.hidden


def test_residuals_of_frozen_16_bit_weights_stay_in_16_bits() -> None:
    # Autocast leaves sums in the type of the embedding: fp32 where all weights are trained.
    alone = {"gpus": 1, "parallel": {}, "recompute": "full"}
    assert layer(**alone, method="full") == 4.0
    assert layer(**alone, method="lora") == layer(**alone, method="qlora") == 2.0


def test_a_layer_saves_what_its_operations_need() -> None:
    # 8 for norms, 8 for q k v o, 8 f/h for a gate written out (f = 2.6875 h), 4 B a head of statistics.
    written_out = 8 + 8 + 8 * 2.6875 + 4 * 32 / 4096
    assert layer() == pytest.approx(written_out)
    # Fake tensors of torch 2.13 save 37.53 h for this layer.
    assert layer() == pytest.approx(37.53, rel=0.002)
    assert layer(recompute="full") == 2.0
    assert layer(compile=True) < layer()
    # Transformers writes RMSNorm out in fp32: 45.53 h in the same trace.
    assert layer(parallel={"zero": 3}) == pytest.approx(45.53, rel=0.002)


def test_a_gpt_layer_saves_32_h() -> None:
    plain = layer(model={"layers": 32, "hidden": 4096, "heads": 32, "ffn": 16384, "vocab": 50304, "norm": "layer"})
    assert plain == pytest.approx(32 + 4 * 32 / 4096)


def test_grouped_heads_save_less_where_keys_are_not_spread() -> None:
    model = "llama-3.1-8b"
    spread, grouped = layer(model=model), layer(model=model, parallel={"tp": 1})
    assert spread == pytest.approx(44.03, rel=0.002)  # traced with torch 2.13
    assert grouped < spread - 2


def test_scores_grow_with_the_square_unless_the_kernel_avoids_them() -> None:
    eager, flash = layer(attention="eager"), layer(attention="flash")
    assert eager - flash == pytest.approx(6 * 32 * 2048 / 4096)
    assert layer(attention="eager", recompute="selective") == pytest.approx(flash)


def test_tensor_parallelism_with_and_without_sequence_parallelism() -> None:
    one = layer(parallel={"tp": 1})
    both = layer(parallel={"tp": 8})
    alone = layer(parallel={"tp": 8, "sp": False})
    assert both == pytest.approx(one / 8)
    assert alone == pytest.approx(8 + (one - 8) / 8)


def test_selective_op_keeps_every_second_product() -> None:
    # input, attention output, q, v, gate, down: 2 + 2 + 2 + 2 + 5.375 + 2, and the statistics.
    assert layer(recompute="selective-op") == pytest.approx(2 + 2 + 2 + 2 + 2 * 2.6875 + 2 + 4 * 32 / 4096)


def test_recompute_layers_count_per_stage() -> None:
    def saved(count: int | None) -> float:
        return solve(changed(recompute="full", recompute_layers=count, micro_batch=4)).memory.activations

    assert saved(32) == pytest.approx(saved(None))
    assert saved(0) == pytest.approx(solve(changed(micro_batch=4)).memory.activations)
    assert saved(32) < saved(16) < saved(0)


def test_pipeline_stages_store_several_micro_batches() -> None:
    piped = solve(changed(parallel={"pp": 8}, global_batch=64)).memory.activations
    whole = solve(changed(parallel={"tp": 1})).memory.activations
    assert piped == pytest.approx(whole)  # an eighth of the layers of eight micro-batches
    gpipe = solve(changed(parallel={"pp": 8, "schedule": "gpipe"}, global_batch=64)).memory.activations
    assert gpipe == pytest.approx(8 * whole)


def test_torch_pipelining_allocates_what_a_step_will_receive() -> None:
    def live(framework: str, micro: int) -> float:
        found = solve(changed(parallel={"pp": 8, "fsdp": 1}, framework=framework, grad_accum=micro)).memory
        return found.live_peak

    boundary = 2 * 2048 * 4096
    assert live("torchtitan", 64) - live("torchtitan", 32) == pytest.approx(2 * 32 * boundary)
    assert live("megatron", 64) == pytest.approx(live("megatron", 32))


def test_static_memory_does_not_fragment() -> None:
    small, large = solve(changed(micro_batch=1)).memory, solve(changed(micro_batch=4)).memory
    apart = large.reserved - small.reserved
    assert apart / (large.live_peak - small.live_peak) == pytest.approx(1.13)
    assert small.reserved - small.live_peak < 0.13 * small.live_peak + small.states / 4


def test_gradients_are_counted_once() -> None:
    """70B on eight GPUs with one sequence a step: accumulating over two passes keeps gradients and takes no less."""

    def high(count: int) -> float:
        spec = changed(model="llama-3.1-70b", gpus=8, parallel={"fsdp": 8}, seq=4096, recompute="full", micro_batch=1)
        return solve({**spec, "grad_accum": count}).memory.high / GIB

    gradients = 4 * 70.6e9 / 8 / GIB
    assert high(1) <= high(2) < high(1) + gradients
    # 16 B a parameter over eight, two gathered layers, the rest and the loss: nowhere near a second copy of gradients.
    assert high(1) < 16 * 70.6e9 / 8 / GIB + gradients


def test_only_the_default_form_of_adamw_copies_in_its_step() -> None:
    def step(**fields: Any) -> float:
        return step_copy(solve(changed(**fields)).work, 10.0)

    assert step(framework="ddp", gpus=1, parallel={}) == 10.0
    assert step(framework="ddp", gpus=1, parallel={}, method="full") == 0.0  # the Trainer's AdamW is fused
    assert step(framework="torchtitan") == step(framework="megatron", parallel={"tp": 1}) == 0.0


def test_segments_of_whole_tensors_stay_where_tensor_parallelism_is_not_overlapped() -> None:
    def more(**parallel: Any) -> float:
        fields = {"parallel": {"fsdp": 1, "tp": 8, **parallel}, "framework": "fsdp2", "recompute": "full"}
        found = solve(changed(**fields, model="llama-3.1-8b", micro_batch=4)).memory
        return found.reserved - found.live_peak

    # A gathered input and an output before it is divided, 2 B each.
    assert more() - more(async_tp=True) == pytest.approx(2 * 2 * 4 * 2048 * 4096)
    assert more(sp=False) == pytest.approx(more(sp=False, async_tp=True))


@pytest.mark.parametrize(
    ("fields", "each"),
    [
        # 16-bit weights, fp32 gradients; fp32 weights and two moments divided over the ranks.
        ({}, 2 + 4 + 12 / 8),
        # Of the fp32 weights only what the 16-bit ones lack, and moments of 2 B.
        ({"optimizer": "adamw_bf16_moments"}, 2 + 4 + 6 / 8),
        # Weights of other types lack more than that.
        ({"optimizer": "adamw_bf16_moments", "precision": "fp8"}, 2 + 4 + 8 / 8),
        ({"optimizer": "adamw_bf16_moments", "precision": "fp16"}, 2 + 4 + 8 / 8),
    ],
)
def test_megatrons_precision_aware_optimizer_keeps_half(fields: dict[str, Any], each: float) -> None:
    told = solve(changed(parallel={"tp": 1, "dist_opt": True}, **fields))
    assert told.memory.states == pytest.approx(each * parameters(told.work.model), rel=1e-6)


@pytest.mark.parametrize(
    ("fields", "each"),
    [
        ({}, 14),
        # fp32 logits, log-softmax and two gradients of 4 B each.
        ({"precision": "fp32"}, 16),
        # Transformers shifts labels, not logits.
        ({"parallel": {"zero": 3}}, 14),
        ({"parallel": {"tp": 8}}, 6 / 8),
        ({"parallel": {"fsdp": 1, "tp": 8}}, 18 / 8),
        ({"fused_ce": "compiled"}, 4),
    ],
)
def test_the_loss_holds_copies_of_the_logits(fields: dict[str, Any], each: float) -> None:
    work = solve(changed(**fields)).work
    # Sequence parallelism gathers the head's input and its gradient.
    gathered = 2 * 2 * 2048 * 4096 if work.parallel.sequence else 0
    assert loss_bytes(work) == pytest.approx(each * 2048 * 32000 + gathered)


def test_a_chunked_loss_hardly_grows_with_tokens() -> None:
    def one(seq: int) -> float:
        return loss_bytes(solve(changed(seq=seq, fused_ce="liger")).work)

    assert one(8192) - one(4096) == pytest.approx(8 * 4096 * 4096)


def test_a_frozen_head_has_no_gradient() -> None:
    def one(method: str) -> float:
        return loss_bytes(solve(changed(fused_ce="liger", method=method)).work)

    # 16-bit gradient, a product of that size and its fp32 copy.
    assert one("full") - one("lora") == pytest.approx(8 * 32000 * 4096)
    alone = solve(changed(fused_ce="liger", framework="ddp", method="full", parallel={"dp": 8})).work
    assert loss_bytes(alone) == pytest.approx(8 * alone.tokens * 4096 + 4 * 32000 * 4096)


def test_layers_in_four_bits_travel_in_four_bits() -> None:
    def gathered(method: str) -> float:
        spec = changed(model="llama-2-70b", framework="fsdp2", method=method, recompute="full")
        return solve({**spec, "parallel": {"fsdp": 8}}).memory.gathered

    # Two layers in flight, 856 M weights each, and the larger half of one unpacked.
    apart = gathered("lora") - gathered("qlora")
    assert apart == pytest.approx(2 * 856e6 * (2 - 4.127 / 8) - 2 * 705e6, rel=0.02)


def test_how_sure_memory_is_depends_on_the_framework() -> None:
    def width(framework: str, **parallel: Any) -> float:
        found = solve(changed(framework=framework, parallel=parallel, micro_batch=8)).memory
        return (found.high - found.context - found.states) / (found.reserved - found.states)

    assert width("torchtitan", fsdp=8) < width("fsdp1", fsdp=8)
    assert width("torchtitan", fsdp=8) < width("torchtitan", fsdp=4, tp=2)


def test_the_verdict_follows_the_range() -> None:
    one = solve(changed())
    assert one.memory.low < one.memory.live_peak < one.memory.reserved < one.memory.high
    assert fits(one.memory, one.work.gpu) == "yes"
    small = solve(changed(gpu={"name": "x", "mem_gib": 16}))
    assert small.fits == "no"
    limit = one.memory.reserved / 0.92 / GIB
    assert solve(changed(gpu={"name": "x", "usable_gib": limit})).fits == "tight"


def test_autocast_keeps_the_residual_stream_in_fp32() -> None:
    apart = layer(gpus=1, parallel={}) - layer()
    # Two fp32 inputs of norms and a 16-bit copy for each of q, k, v, gate and up, against 4 of each norm; fake tensors
    # of torch 2.13 show the five copies.
    assert apart == pytest.approx(2 * 4 + 5 * 2 - 2 * 4)


def test_the_smallest_change_that_fits_is_named() -> None:
    def change(**fields: Any) -> str:
        told = solve(changed(gpu={"name": "x", "mem_gib": 80}, **fields))
        assert told.fits != "yes"
        return told.change or ""

    assert change(micro_batch=24, recompute="full", seq=4096).startswith("it would fit with fused_ce: liger (")
    assert change(micro_batch=7).startswith("it would fit with micro_batch: 3")
    assert change(seq=16384).startswith("it would fit with recompute: full")
    assert change(parallel={"dp": 8}).startswith("it would fit with parallel: fsdp 8")
    assert " together " in change(model="llama-3.1-8b", seq=65536)
    assert change(model="llama-3.1-405b").startswith("no change of this kind")
    assert solve(changed()).change is None


def test_the_terms_that_people_see_are_in_gib() -> None:
    told = estimate(changed())["memory_gib"]
    assert told["states"] == pytest.approx(2 * P / GIB, rel=1e-3)
    assert told["usable"] == pytest.approx(192 * 0.99)


def test_fp32_doubles_activations() -> None:
    assert layer(precision="fp32") == pytest.approx(2 * layer(), rel=0.01)


def test_data_parallel_buckets_hold_a_copy_of_all_gradients() -> None:
    several = solve(changed(framework="ddp", parallel={"dp": 8})).memory
    alone = solve(changed(framework="ddp", gpus=1, parallel={})).memory
    assert several.buffers - alone.buffers == pytest.approx(4 * P)
    assert several.live_peak - alone.live_peak == pytest.approx(4 * P)


def test_outer_weights_stay_whole_until_the_backward_pass_is_over() -> None:
    def gathered(vocab: int) -> float:
        model = {"layers": 4, "hidden": 4096, "heads": 32, "ffn": 11008, "vocab": vocab}
        return solve(changed(model=model)).memory.gathered

    # Embedding and head in 16 bits.
    assert gathered(64_000) - gathered(32_000) == pytest.approx(2 * 2 * 32_000 * 4096)


def test_experts_stay_in_16_bits_beside_4_bit_weights() -> None:
    """bitsandbytes 0.50 converts nn.Linear alone (transformers 5.23, ``integrations/bitsandbytes.py``), and
    ``MixtralExperts`` holds its weights as parameters: 32 layers of 8 experts of 3 x 4096 x 14336 weights."""
    spec = {"model": "mixtral-8x7b", "gpu": "MI300X", "gpus": 1, "seq": 512, "micro_batch": 1, "parallel": {"dp": 1}}
    states = solve({**spec, "method": "qlora"}).memory.states
    assert states > 2 * 32 * 8 * 3 * 4096 * 14336
    assert states < solve({**spec, "method": "lora"}).memory.states


def test_the_range_is_narrow_where_the_loss_is_most() -> None:
    """Logits follow from the batch, the words and the form of the loss; only what else comes and goes is estimated."""
    found = solve(changed(seq=65536, micro_batch=1, recompute="full", model="llama-3.1-8b", fused_ce="none")).memory
    assert found.logits > 0.6 * found.live_peak
    assert found.high - found.context < found.needed * 1.025
    assert found.low > found.live_peak * 0.975
    # What another form of the loss may save stays in the range.
    compiled = solve(changed(seq=65536, micro_batch=1, recompute="full", model="llama-3.1-8b", compile=True)).memory
    assert compiled.low < compiled.live_peak - 0.4 * compiled.logits
