"""What an estimate does not see is said beside it."""

from __future__ import annotations

from typing import Any

import pytest

from rocdoctor.train.recommend.errors import SpecError
from rocdoctor.train.recommend.estimate import solve
from rocdoctor.train.recommend.explain.cautions import cautions
from rocdoctor.train.recommend.model.models import presets, read_model
from tests.train.recommend.spec_kit import changed


def said(packages: dict[str, str] | None = None, **fields: Any) -> str:
    """All cautions of a specification, with these libraries installed."""
    told = solve(changed(**fields))
    return " ".join(cautions(told.work, told.memory, packages))


def config(**more: Any) -> dict[str, Any]:
    """A small ``config.json`` of a Llama."""
    sizes = {"num_hidden_layers": 2, "hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 512}
    return {"model_type": "llama", "vocab_size": 1000, **sizes, "max_position_embeddings": 4096, **more}


@pytest.mark.parametrize(
    ("scaling", "positions"),
    [
        ({}, 4096),
        # Linear and dynamic scaling stretch what stands there; YaRN what the model had before.
        ({"rope_scaling": {"type": "linear", "factor": 4.0}}, 16384),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 2048}}, 8192),
        ({"rope_parameters": {"rope_type": "yarn", "factor": 8, "original_max_position_embeddings": 2048}}, 16384),
        # Llama 3.1 and Phi 3 print the stretched figure.
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 512}}, 4096),
        ({"rope_scaling": {"type": "longrope", "long_factor": [1.0]}}, 4096),
        ({"rope_scaling": {"type": "video_rope", "factor": None}}, 4096),
        # YaRN of a file that does not say what the model had before.
        ({"rope_scaling": {"type": "yarn", "factor": 4}}, 16384),
        # Biases of ALiBi go on, and odd values say nothing.
        ({"model_type": "falcon", "alibi": True}, None),
        ({"model_type": "bloom", "seq_length": 2048}, None),
        *(({"max_position_embeddings": odd}, None) for odd in (0, -1, 1e30, "many", [4096], True, 10**30)),
        ({"rope_scaling": {"type": "linear", "factor": float("nan")}}, 4096),
        ({"rope_scaling": {"type": "linear", "factor": float("inf")}}, 4096),
        ({"rope_scaling": [4.0]}, 4096),
    ],
)
def test_rotary_scaling_stretches_the_positions(scaling: dict[str, Any], positions: int | None) -> None:
    assert read_model(config(**scaling), []).positions == positions


def test_a_sequence_beyond_the_positions_is_said_with_the_factor() -> None:
    assert "exceed the 4096 positions" in said(model=config(), seq=16384)
    assert "positions 4 times" in said(model=config(), seq=16384)
    assert said(model=config(), seq=4096) == ""
    assert "131072 positions" in said(model="llama-3.1-8b", seq=262144)
    # Sizes alone say nothing of positions.
    assert said(model={"name": "own", "layers": 2, "hidden": 64, "heads": 4}, seq=10**6) == ""


def test_every_preset_with_a_last_position_says_it() -> None:
    silent = {name for name, row in presets().items() if not row.get("positions")}
    # MPT was trained with ALiBi, which has none.
    assert silent == {name for name, row in presets().items() if row.get("family") == "mpt"}
    assert "131072 positions" in said(model="gpt-oss-20b", seq=262144)


def test_bitsandbytes_is_not_planned_with_fsdp2() -> None:
    with pytest.raises(SpecError, match="FSDP2's sharded weights; nearest: torchao's adamw_8bit"):
        solve(changed(parallel={"fsdp": 8}, optimizer="paged_adamw_8bit"))
    assert "torchao" in said(parallel={"fsdp": 8}, optimizer="adamw_8bit")
    assert "torchao" not in said(parallel={"dp": 8}, framework="ddp", optimizer="adamw_8bit")
    # What the refusal names, and what the Trainer calls it, is what shall be used: nothing is said of it.
    for name in ("adamw_8bit of torchao", "adamw_torch_8bit"):
        assert said(parallel={"fsdp": 8}, optimizer=name) == ""


def test_copies_of_older_transformers_are_said_where_they_decide() -> None:
    fields: dict[str, Any] = {"method": "full", "framework": "ddp", "gpus": 1, "parallel": {}, "model": "llama-3.2-1b"}
    decides = [said(**fields, seq=1024, micro_batch=n, recompute="full") for n in range(1, 96)]
    assert any("Older versions make another copy of the logits" in one for one in decides)
    assert not decides[0] and not decides[-1]
    assert not any(said(**fields, seq=1024, micro_batch=n, recompute="full", fused_ce="liger") for n in range(1, 96))
    # An installed version settles it: 4.49 was the first that shifts labels.
    one = {
        **fields,
        "seq": 1024,
        "recompute": "full",
        "micro_batch": next(n for n, words in enumerate(decides, 1) if words),
    }
    assert "Transformers 4.48.3 is installed" in said({"transformers": "4.48.3"}, **one)
    assert said({"transformers": "4.49.0"}, **one) == said({"transformers": "5.16.1"}, **one) == ""
    assert said({"peft": "0.20"}, **one) == said(**one)


LORA: dict[str, Any] = {"method": "lora", "framework": "fsdp2", "parallel": {"fsdp": 8}, "model": "llama-3.1-70b"}


def test_frozen_weights_that_accelerate_casts_are_said() -> None:
    # 70.55 B parameters in two bytes more, over eight GPUs.
    old = said({"accelerate": "1.12.0"}, **LORA)
    assert "accelerate 1.12.0" in old and "16.4 GiB more" in old and "may not fit" not in old
    assert said({"accelerate": "1.14.0"}, **LORA) == said({"accelerate": "1.13.0"}, **LORA) == said(**LORA) == ""
    # Where nobody could list it, it is said where it decides.
    small = {**LORA, "gpu": "A100-40GB", "micro_batch": 1, "recompute": "full", "fused_ce": "liger"}
    assert "assumes accelerate 1.14" in said(**small)
    assert "the plan may not fit" in said({"accelerate": "1.10.1"}, **small)
    for other in (
        {"method": "qlora"},
        {"framework": "torchtune fsdp2"},
        {"precision": "pure bf16"},
        {"framework": "ddp"},
    ):
        assert "accelerate" not in said({"accelerate": "1.12.0"}, **{**LORA, **other})


def test_a_cast_of_accelerate_without_effect_is_said() -> None:
    full = {"method": "full", "framework": "fsdp2", "parallel": {"fsdp": 8}}
    assert "without fp32 weights" in said({"accelerate": "1.13.0"}, **full)
    assert not any(said({"accelerate": one}, **full) for one in ("1.12.0", "1.14.0"))
    assert "accelerate" not in said({"accelerate": "1.13.0"}, framework="torchtitan", parallel={"fsdp": 8})


def test_torchtitan_compiles_the_loss_with_the_model() -> None:
    named = {"framework": "torchtitan", "parallel": {"fsdp": 8}}
    assert solve(changed(**named, compile=True)).work.loss == "compiled"
    assert solve(changed(**named, compile=True, fused_ce="none")).work.loss == "plain"
    assert solve(changed(**named)).work.loss == "plain"
    assert solve(changed(parallel={"fsdp": 8}, compile=True)).work.loss == "plain"


def test_moments_in_bf16_need_a_release_that_does_not_copy_them() -> None:
    """32 of 126 layers and the embedding over 8 GPUs: 13.01 B parameters, 8 B each are 97.0 GiB beside the states."""
    fields: dict[str, Any] = {"framework": "megatron", "optimizer": "adamw_bf16_moments", "seq": 4096}
    parallel = {"tp": 8, "pp": 4, "dist_opt": True}
    large = said(**fields, model="llama-3.1-405b", gpu="mi300x", gpus=32, parallel=parallel)
    assert "2.14 or later" in large and "97.0 GiB more" in large
    small = said(**fields, model="llama-3.2-1b", gpus=8, parallel={"tp": 1, "dist_opt": True})
    assert "2.3 or later" in small and "2.14" not in small
    assert "TransformerEngine" not in said(**{**fields, "optimizer": "adamw"}, model="llama-3.2-1b")


@pytest.mark.parametrize(
    ("packages", "words"),
    [
        ({"transformer-engine": "2.14.0+rocm", "megatron-core": "0.19.2"}, ""),
        ({"transformer-engine-torch": "2.17.1"}, ""),
        ({"transformer-engine": "2.13.0"}, "TransformerEngine 2.13.0 is installed"),
        ({"transformer-engine": "2.13.0"}, "97.0 GiB more"),
        ({"transformer-engine": "2.14", "megatron-core": "0.12.3"}, "megatron-core 0.12.3 is installed"),
        ({"torch": "2.13"}, "the interpreter that was examined has none"),
    ],
)
def test_installed_versions_settle_what_moments_in_bf16_need(packages: dict[str, str], words: str) -> None:
    fields: dict[str, Any] = {"framework": "megatron", "optimizer": "adamw_bf16_moments", "seq": 4096}
    where = {"model": "llama-3.1-405b", "gpu": "mi300x", "gpus": 32, "parallel": {"tp": 8, "pp": 4, "dist_opt": True}}
    found = said(packages, **fields, **where)
    assert words in found if words else found == ""
