"""Bytes of what is no product: written out by Transformers and PEFT, or fused."""

from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.train.recommend.estimate import solve
from rocdoctor.train.recommend.speed.elementwise import elementwise_bytes, unpacked_bytes
from tests.train.recommend.spec_kit import changed

A100 = {"name": "A100 SXM 80GB", "mem_gib": 80}
MISTRAL = {"layers": 32, "hidden": 4096, "ffn": 14336, "heads": 32, "kv_heads": 8, "vocab": 32000, "name": "mistral"}


def tuned(**fields: Any) -> Any:
    base = {"model": MISTRAL, "gpu": A100, "gpus": 1, "parallel": {}, "seq": 4096, "recompute": "full"}
    return solve(changed(**{**base, "framework": "transformers", "micro_batch": 8, **fields}))


def moved(again: float = 0.0, **fields: Any) -> float:
    return elementwise_bytes(tuned(**fields).work, "dense", again)


def test_a_norm_that_is_written_out_moves_nine_times_what_a_kernel_moves() -> None:
    """Forward, an element: 36 B of a norm, 20 of a rotation, 10 of a gate and 12 of both sums."""
    eager, twice = moved(method="full"), moved(1.0, method="full")
    h, f, turned = 4096, 14336, 4096 + 1024
    assert twice - eager == pytest.approx(2 * 36 * h + 20 * turned + 10 * f + 12 * h)
    kernels = moved(1.0, method="full", fused_ce="liger") - moved(method="full", fused_ce="liger")
    assert kernels == pytest.approx(2 * 4 * h + 4 * turned + 6 * f + 12 * h)


def test_each_adapted_layer_reads_its_input_and_writes_its_output_once_more() -> None:
    lora: dict[str, Any] = {"method": "lora", "lora_targets": ["q", "v"]}

    def beyond(**fields: Any) -> float:
        return moved(**lora, **fields) - moved(method="full", **fields)

    # Back and forth: 2 + 10 B an element of the input in 16 bits, 14 + 22 in fp32 under autocast; 12 + 8 of the output.
    outputs = 20 * (4096 + 1024)
    assert beyond(precision="pure bf16") == pytest.approx(2 * 12 * 4096 + outputs)
    assert beyond() == pytest.approx(2 * 36 * 4096 + outputs)


def test_four_bit_weights_are_unpacked_in_each_pass() -> None:
    work = tuned(method="qlora").work
    weights = 4096 * (2 * 4096 + 2 * 1024) + 3 * 4096 * 14336
    assert unpacked_bytes(work, "dense", 1.0) == pytest.approx(3 * weights * (4.127 / 8 + 2))
    assert unpacked_bytes(tuned(method="lora").work, "dense", 1.0) == 0.0


def test_mistral_is_tuned_as_fast_as_published() -> None:
    """foundation-model-stack/fms-acceleration, a100_80gb.csv: one A100, eight sequences of 4,096, torch 2.4."""
    lora = tuned(method="lora", optimizer="adamw_torch", lora_targets=["q", "k", "v", "o"])
    assert lora.speed.tokens_per_s_per_gpu == pytest.approx(3354, rel=0.1)
    full = tuned(method="full", precision="pure bf16", optimizer="adamw_torch")
    assert full.speed.tokens_per_s_per_gpu == pytest.approx(3143, rel=0.1)


def test_megatron_computes_attention_again_whatever_its_kernel() -> None:
    base = {"model": "llama-3.1-8b", "seq": 8192, "framework": "megatron", "parallel": {"tp": 1, "dp": 8}}
    none, again = (solve(changed(**base, recompute=one)).speed for one in ("none", "selective"))
    assert none is not None and again is not None
    # One of 3.5 forward passes more: the kernel itself runs twice in the backward pass.
    assert again.attention / none.attention == pytest.approx(4.5 / 3.5)
    titan = {**base, "framework": "torchtitan", "parallel": {"fsdp": 8}}
    plain, selective = (solve(changed(**titan, recompute=one)).speed for one in ("none", "selective"))
    assert plain is not None and selective is not None and plain.attention == selective.attention
