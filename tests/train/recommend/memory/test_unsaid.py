"""Settings that a specification does not name: the range covers them, and a sentence says what decides."""

from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.train.recommend.estimate import Result, solve
from rocdoctor.train.recommend.fleet.gpu_figures import GIB
from rocdoctor.train.recommend.model.shapes import parameters
from tests.train.recommend.spec_kit import changed

A100 = {"name": "A100 SXM 80GB", "mem_gib": 80}
MISTRAL = {"layers": 32, "hidden": 4096, "ffn": 14336, "heads": 32, "kv_heads": 8, "vocab": 32000}


def tuned(method: str, **fields: Any) -> Result:
    base = {"model": MISTRAL, "gpu": A100, "gpus": 1, "parallel": {}, "seq": 4096, "recompute": "full"}
    return solve(changed(**{**base, "method": method, "micro_batch": 4, **fields}))


def said(one: Result, words: str) -> bool:
    return any(words in line for line in one.derived)


def test_the_trainers_older_optimizer_copies_gradients() -> None:
    """Mistral 7B in bf16 on one A100 with torch 2.4: 67.46 GiB were live (fms-acceleration, a100_80gb.csv)."""
    named = tuned("full", precision="pure bf16", optimizer="adamw_torch")
    assert named.memory.live_peak / GIB == pytest.approx(67.46, rel=0.01)
    # Two halves: 8 B a parameter of states and gradients, and 2 B of copies.
    assert named.memory.live_peak == pytest.approx(10 * parameters(named.work.model), rel=0.01)
    fused = tuned("full", precision="pure bf16", optimizer="adamw_torch_fused")
    assert fused.memory.live_peak < named.memory.live_peak
    unsaid = tuned("full", precision="pure bf16")
    assert unsaid.memory.live_peak == fused.memory.live_peak
    assert unsaid.memory.high == pytest.approx(named.memory.high)
    assert said(unsaid, "foreach form") and not said(fused, "foreach form")


def test_qlora_of_an_unknown_program_may_keep_the_stream_in_fp32() -> None:
    unknown, named = tuned("qlora"), tuned("qlora", framework="axolotl")
    # 2 B an element more of 32 layers' inputs.
    stream = 2 * 4 * 4096 * 4096 * 32
    assert unknown.memory.live_peak == named.memory.live_peak
    assert unknown.memory.high - named.memory.high > stream
    assert said(unknown, "norms in fp32") and not said(named, "norms in fp32")
    assert not said(tuned("lora"), "norms in fp32")
    ruled_out = tuned("qlora", kbit_prepared=False)
    assert ruled_out.memory == named.memory and not said(ruled_out, "norms in fp32")


@pytest.mark.parametrize(("card", "tokens"), [(12, 932), (16, 2551), (24, 5789), (40, 12264), (48, 15502), (80, 28454)])
def test_embedding_and_head_in_fp32_explain_the_longest_context_of_a_card(card: int, tokens: int) -> None:
    """Llama 3.1 8B, QLoRA of rank 32 with Transformers and FlashAttention 2 (unsloth.ai, Unsloth benchmarks)."""
    fields = {
        "model": "llama-3.1-8b",
        "gpu": {**A100, "mem_gib": card},
        "seq": tokens,
        "micro_batch": 1,
        "lora_rank": 32,
    }
    prepared, unsaid = (tuned("qlora", **fields, **one) for one in ({"kbit_prepared": True}, {}))
    device = (prepared.memory.reserved + prepared.memory.context) / GIB
    assert device == pytest.approx(card, rel=0.06)
    assert unsaid.memory.low / GIB < card < unsaid.memory.high / GIB
    # 128,256 words of 4,096 elements: two matrices with 2 B more an element.
    assert prepared.memory.states - unsaid.memory.states == pytest.approx(2 * 2 * 128256 * 4096)


def test_experts_in_four_bits_are_not_ruled_out() -> None:
    """Mixtral 8x7B in 4 bits ran on one A100 with transformers 4: 34.2 GiB were live."""
    unknown = tuned("qlora", model="mixtral-8x7b")
    assert unknown.memory.low / GIB < 34.2
    assert unknown.fits == "tight"
    assert said(unknown, "transformers 4 keeps experts in 4 bits")
    assert tuned("qlora", model="mixtral-8x7b", framework="axolotl").memory.low / GIB > 80


def test_what_ran_out_of_memory_is_not_said_to_fit() -> None:
    """Runs of fms-acceleration on A100 that ended out of memory and were said to fit before."""
    both = {"gpus": 2, "parallel": {"fsdp": 2, "strategy": "FULL_SHARD"}, "framework": "transformers"}
    assert tuned("qlora", **both, model="llama-2-70b").fits != "yes"
    for method, liger in (("qlora", 32), ("lora", 32)):
        assert tuned(method, **both, micro_batch=liger, fused_ce="liger").fits != "yes"


def test_a_run_that_fills_the_card_is_not_refused() -> None:
    """Llama 3 8B in bf16 with 10 B a parameter ran on one A100: 74.8 of 80 GiB were live."""
    one = tuned("full", model="llama-3-8b", precision="pure bf16", optimizer="adamw_torch", fused_ce="liger")
    assert one.memory.live_peak / GIB == pytest.approx(74.8, rel=0.01)
    assert one.fits == "tight"


def test_a_loss_that_is_not_named_is_said_with_what_another_needs() -> None:
    unsaid, named, cut = (tuned("lora", **one) for one in ({}, {"fused_ce": "none"}, {"fused_ce": "cce"}))
    line = next(one for one in unsaid.derived if one.startswith("fused_ce not given"))
    assert f"{(named.memory.high - cut.memory.high) / GIB:.1f} GiB lower" in line
    assert not any("fused_ce not given" in one for one in (*named.derived, *cut.derived))
    # Where logits are few nothing is said.
    assert not said(tuned("full", precision="pure bf16", seq=512, micro_batch=1), "fused_ce not given")


def test_programs_that_do_without_the_preparation_have_no_range_for_it() -> None:
    for named in ("trl", "llamafactory transformers", "axolotl transformers"):
        assert not said(tuned("qlora", framework=named), "prepare_model_for_kbit_training"), named


def test_what_the_longest_batch_takes_is_said_where_texts_may_be_padded() -> None:
    fields: dict[str, Any] = {"fused_ce": "none", "optimizer": "adamw_torch_fused"}
    one, longer = tuned("lora", **fields, seq=4000), tuned("lora", **fields, seq=4400)
    line = next(each for each in one.derived if each.startswith("packing not given"))
    assert f"{(longer.memory.high - one.memory.high) / GIB:.1f} GiB more" in line
    assert not said(tuned("lora", **fields, seq=4000, packing=True), "packing not given")
    # Nothing is said where weights are nearly all, nor of pretraining.
    assert not said(tuned("lora", **fields, seq=128, micro_batch=1), "packing not given")
    assert not said(tuned("pretrain", **fields, seq=4000, framework="transformers"), "packing not given")


@pytest.mark.parametrize(
    ("fields", "gib"),
    [
        ({"method": "full"}, 36.2),
        ({"method": "lora", "lora_rank": 32, "lora_targets": ["q_proj", "v_proj"]}, 20.8),
        ({"method": "lora", "lora_rank": 64, "lora_targets": ["q_proj", "v_proj"]}, 21.0),
        ({"method": "lora", "lora_rank": 10, "lora_targets": ["gate_proj", "up_proj", "down_proj"]}, 23.0),
    ],
)
def test_one_length_explains_four_runs_of_a_benchmark(fields: dict[str, Any], gib: float) -> None:
    """huggingface/peft method_comparison/MetaMathQA/results (5d602fdbf): max reserved, texts of up to 1,300 characters.
    Its length is not published; 576 tokens were found from the four together."""
    card = {"name": "NVIDIA L40S", "mem_gib": 48}
    usual = {"model": "llama-3.2-3b", "gpu": card, "gpus": 1, "seq": 576, "micro_batch": 4, "recompute": "none"}
    more = {"framework": "transformers", "precision": "pure bf16", "parallel": {}, "optimizer": "adamw_torch"}
    assert solve(changed(**{**usual, **more, **fields})).memory.reserved / GIB == pytest.approx(gib, rel=0.02)
