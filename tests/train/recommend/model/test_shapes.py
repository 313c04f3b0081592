from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import pytest

from rocdoctor.train.recommend.errors import SpecError
from rocdoctor.train.recommend.model.hugging_face import fields_of
from rocdoctor.train.recommend.model.megatron_code import other_code
from rocdoctor.train.recommend.model.models import preset, presets, read_model
from rocdoctor.train.recommend.model.shapes import (
    active_parameters,
    attention_flops,
    counted_parameters,
    layer_parameters,
)

# Totals as the model cards and the stored tensors of the public repositories have them.
PUBLISHED = {
    "llama-2-7b": 6_738_415_616,
    "llama-2-13b": 13_015_864_320,
    "llama-2-70b": 68_976_648_192,
    "codellama-34b": 33_743_970_304,
    "llama-3.1-8b": 8_030_261_248,
    "llama-3.1-70b": 70_553_706_496,
    "llama-3.1-405b": 405_853_388_800,
    "llama-3.2-1b": 1_235_814_400,
    "llama-3.2-3b": 3_212_749_824,
    "tinyllama-1.1b": 1_100_048_384,
    "mistral-7b": 7_248_023_552,
    "phi-4": 14_659_507_200,
    "smollm2-135m": 134_515_008,
    "smollm2-1.7b": 1_711_376_384,
    "gemma-2b": 2_506_172_416,
    "gemma-7b": 8_537_680_896,
    "qwen2.5-0.5b": 494_032_768,
    "qwen2.5-7b": 7_615_616_512,
    "qwen2.5-72b": 72_706_203_648,
    "qwen3-0.6b": 596_049_920,
    "qwen3-4b": 4_022_468_096,
    "qwen3-8b": 8_190_735_360,
    "qwen3-32b": 32_762_123_264,
    "qwen3-30b-a3b": 30_532_122_624,
    "qwen3-235b-a22b": 235_093_634_560,
    "mixtral-8x7b": 46_702_792_704,
    "mixtral-8x22b": 140_630_071_296,
    "deepseek-v2-lite": 15_706_484_224,
    "deepseek-v2": 235_741_434_880,
    "deepseek-v3": 671_026_419_200,
    "gpt-oss-20b": 20_914_757_184,
    "gpt-oss-120b": 116_829_156_672,
    # The text part as transformers 5.23.0 builds it on torch's meta device.
    "llama-4-scout": 107_769_861_120,
    "llama-4-maverick": 400_711_848_960,
    "gemma-2-2b": 2_614_341_888,
    "gemma-2-9b": 9_241_705_984,
    "gemma-2-27b": 27_227_128_320,
    "gemma-3-1b": 999_885_952,
    "gemma-3-4b": 3_880_263_168,
    "gemma-3-12b": 11_766_034_176,
    "gemma-3-27b": 27_009_346_304,
    "mistral-nemo-12b": 12_247_782_400,
    "mistral-small-24b": 23_572_403_200,
    "mistral-large-123b": 122_610_069_504,
    "ministral-3-8b": 8_489_553_920,
    "phi-3-mini": 3_821_079_552,
    "phi-4-mini": 3_836_021_760,
    "smollm2-360m": 361_821_120,
    "pythia-1.4b": 1_414_647_808,
    "pythia-6.9b": 6_857_302_016,
    "pythia-12b": 11_846_072_320,
    "mpt-7b": 6_649_286_656,
    # As transformers 5.16.1 builds them there, with the biases of routers, which are buffers.
    "smollm3-3b": 3_075_098_624,
    "glm-4.5-air": 106_852_251_264,
    "qwen3-coder-480b-a35b": 480_154_875_392,
    "kimi-k2": 1_026_408_232_448,
}


@pytest.mark.parametrize(("name", "wanted"), PUBLISHED.items())
def test_parameters_are_exact(name: str, wanted: int) -> None:
    assert counted_parameters(read_model(name, [])) == wanted


def test_every_preset_reads_and_there_are_enough() -> None:
    assert len(presets()) >= 25
    for name in presets():
        model = read_model(name, [])
        assert 0 < active_parameters(model) <= counted_parameters(model)


def test_experts_count_once_stored_and_top_k_active() -> None:
    # 3.3 B are said to be active: 3.04 B in matrices here, the embedding's look-up makes the rest.
    model = read_model("qwen3-30b-a3b", [])
    assert active_parameters(model) + model.vocab * model.hidden == pytest.approx(3.35e9, rel=0.01)
    assert active_parameters(read_model("mixtral-8x7b", [])) == pytest.approx(12.9e9, rel=0.02)
    assert active_parameters(read_model("deepseek-v3", [])) == pytest.approx(37e9, rel=0.02)


def test_attention_flops_are_half_of_the_square() -> None:
    model = read_model("llama-3.1-8b", [])
    # PaLM counts 12 L h s for forward and backward: 4 h s a layer forward, of which the causal half is done.
    assert attention_flops(model, 8192) == 4 * 4096 * 8192 / 2


@pytest.mark.parametrize(
    "name", ["meta-llama/Llama-3.1-8B-Instruct", "llama3.1_8B", "Llama-3-8B", "meta_llama/Meta-Llama-3-8B"]
)
def test_names_as_people_write_them(name: str) -> None:
    assert counted_parameters(read_model(name, [])) == PUBLISHED["llama-3.1-8b"]


def test_names_of_the_repositories() -> None:
    names = {
        "google/gemma-3-27b-it": "gemma-3-27b",
        "google/gemma-3-4b-pt": "gemma-3-4b",
        "meta-llama/Llama-4-Scout-17B-16E-Instruct": "llama-4-scout",
        "mistralai/Mistral-Small-3.2-24B-Instruct-2506": "mistral-small-24b",
        "mistralai/Mistral-Nemo-Base-2407": "mistral-nemo-12b",
        "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B": "qwen2.5-32b",
        "microsoft/Phi-4-mini-instruct": "phi-4-mini",
        "Qwen/Qwen3-30B-A3B-Instruct-2507": "qwen3-30b-a3b",
        "Qwen/Qwen3-Coder-30B-A3B-Instruct": "qwen3-30b-a3b",
        "moonshotai/Kimi-K2-Instruct-0905": "kimi-k2",
        "HuggingFaceTB/SmolLM3-3B": "smollm3-3b",
    }
    assert {name: (preset(name) or {}).get("id") for name in names} == names


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(SpecError, match="qwen3-32b"):
        read_model("qwen3-33b", [])
    assert difflib.get_close_matches("nothing like it", list(presets())) == []
    with pytest.raises(SpecError, match="and others"):
        read_model({"name": "zzzzzz"}, [])


@pytest.mark.parametrize("name", ["flux.1-dev", "stabilityai/stable-diffusion-xl", "wan2.1-t2v-14b", "google/vit-base"])
def test_models_of_pictures_are_named_as_such(name: str) -> None:
    with pytest.raises(SpecError, match="makes or reads images"):
        read_model(name, [])
    with pytest.raises(SpecError, match="is not known"):
        read_model("vitesse-7b", [])


HF_LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
}
HF_DEEPSEEK = {
    "model_type": "deepseek_v3",
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "num_attention_heads": 128,
    "num_hidden_layers": 61,
    "num_key_value_heads": 128,
    "vocab_size": 129280,
    "n_routed_experts": 256,
    "num_experts_per_tok": 8,
    "n_shared_experts": 1,
    "first_k_dense_replace": 3,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "tie_word_embeddings": False,
}


def test_hugging_face_configurations() -> None:
    assert counted_parameters(read_model(HF_LLAMA, [])) == PUBLISHED["llama-3.1-8b"]
    # A configuration does not tell of the router's correction bias (58 layers of 256); the preset of its type does.
    own = {**HF_DEEPSEEK, "model_type": "own"}
    assert counted_parameters(read_model(own, [])) == PUBLISHED["deepseek-v3"] - 58 * 256
    assert counted_parameters(read_model(HF_DEEPSEEK, [])) == PUBLISHED["deepseek-v3"]
    inner = {"model_type": "llava", "text_config": HF_LLAMA}
    assert counted_parameters(read_model(inner, [])) == PUBLISHED["llama-3.1-8b"]


DSA = {"index_n_heads": 64, "index_head_dim": 128, "index_topk": 2048}
DELTA = {
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 128,
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
    "linear_value_head_dim": 128,
}
# Sizes as the repositories of these models have them, counted by transformers 5.23.0 on the meta device (the
# correction biases of routers, which are buffers there, on top).
TODAY: Mapping[str, tuple[Mapping[str, Any], int]] = {
    "deepseek_v32": ({**HF_DEEPSEEK, **DSA}, 671_877_929_216 + 58 * 256),
    "glm_moe_dsa": (
        {
            **HF_DEEPSEEK,
            **DSA,
            "vocab_size": 154880,
            "hidden_size": 6144,
            "intermediate_size": 12288,
            "num_hidden_layers": 78,
            "num_attention_heads": 64,
            "num_key_value_heads": 64,
            "q_lora_rank": 2048,
            "qk_nope_head_dim": 192,
            "v_head_dim": 256,
            "index_n_heads": 32,
        },
        743_911_199_232 + 75 * 256,
    ),
    "qwen3_next": (
        {
            **DELTA,
            "hidden_size": 2048,
            "intermediate_size": 5120,
            "num_hidden_layers": 48,
            "num_attention_heads": 16,
            "num_key_value_heads": 2,
            "head_dim": 256,
            "full_attention_interval": 4,
            "moe_intermediate_size": 512,
            "num_experts": 512,
            "num_experts_per_tok": 10,
            "shared_expert_intermediate_size": 512,
            "decoder_sparse_step": 1,
            "vocab_size": 151936,
            "tie_word_embeddings": False,
        },
        79_674_391_296,
    ),
}


@pytest.mark.parametrize("kind", TODAY)
def test_indexers_and_linear_attention_are_counted(kind: str) -> None:
    raw, wanted = TODAY[kind]
    why: list[str] = []
    model = read_model({**raw, "model_type": kind}, why)
    assert counted_parameters(model) == wanted
    assert not why  # a kind that is known
    # What a plan carries of the file gives the same model, and Megatron's GPT is not said to compute it.
    assert read_model({**fields_of(raw), "model_type": kind}, []) == model
    assert "indexer or linear attention" in str(other_code(model))


def test_linear_attention_does_not_look_at_all_tokens() -> None:
    raw = {**TODAY["qwen3_next"][0], "model_type": "qwen3_next"}
    quarter = read_model(raw, [])
    every = read_model({**raw, "layer_types": ["full_attention"] * 48}, [])
    assert attention_flops(quarter, 8192) * 4 == attention_flops(every, 8192)
    assert counted_parameters(every) < counted_parameters(quarter)  # its gates are less than linear attention


def test_missing_sizes_follow_the_parameters_given_and_are_named() -> None:
    why: list[str] = []
    gpt = read_model({"name": "own", "layers": 32, "hidden": 4096, "params": 6_658_859_008}, why)
    assert (gpt.gated, gpt.tied, gpt.ffn, gpt.vocab) == (False, True, 16384, 50368)
    assert any("ffn" in line and "vocab" in line for line in why)
    own = read_model({"layers": 32, "hidden": 4096, "ffn": 11008, "heads": 32, "vocab": 32000, "params": 6.738}, [])
    assert own.gated and not own.tied
    assert counted_parameters(own) == PUBLISHED["llama-2-7b"]


def test_a_preset_fills_only_what_is_not_given() -> None:
    why: list[str] = []
    cut = read_model({"name": "llama-3.1-8b", "layers": 4}, why)
    assert (cut.layers, cut.hidden, cut.kv_heads) == (4, 4096, 8)
    other = read_model({"name": "llama-3.1-8b", "layers": 4, "hidden": 1024, "heads": 8}, [])
    assert other.vocab != 128_256


@pytest.mark.parametrize("kind", ["mamba", "bert", "roberta", "t5", "mt5", "umt5", "bart", "whisper", "rwkv", "vit"])
def test_what_is_no_decoder_is_refused(kind: str) -> None:
    with pytest.raises(SpecError, match="not a decoder"):
        read_model({**HF_LLAMA, "model_type": kind}, [])


def test_a_kind_that_nobody_checked_is_said_to_be_counted_as_a_llama() -> None:
    for kind, words in (("llama", 0), ("gpt_neox", 0), ("gpt_oss", 0), ("own", 1), ("barthez", 1)):
        why: list[str] = []
        read_model({**HF_LLAMA, "model_type": kind}, why)
        assert len([one for one in why if "is not known: its layers are counted" in one]) == words, kind


def test_one_wide_shared_expert_is_counted() -> None:
    """Qwen1.5-MoE-A2.7B: 14.3 B parameters (its model card); the shared expert is four times as wide as the others."""
    config = {
        "model_type": "qwen2_moe",
        "num_hidden_layers": 24,
        "hidden_size": 2048,
        "num_attention_heads": 16,
        "num_key_value_heads": 16,
        "intermediate_size": 5632,
        "moe_intermediate_size": 1408,
        "num_experts": 60,
        "num_experts_per_tok": 4,
        "shared_expert_intermediate_size": 5632,
        "vocab_size": 151936,
    }
    assert counted_parameters(read_model(config, [])) == pytest.approx(14.3e9, rel=0.01)


def test_what_a_configuration_leaves_out_is_that_of_its_class() -> None:
    """Published files of Gemma 3 name no heads and no vocabulary where they are the class's own."""
    text = {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34}
    both = read_model({"name": "folder", "model_type": "gemma3", "text_config": text}, [])
    assert counted_parameters(both) == PUBLISHED["gemma-3-4b"]
    given = {**text, "vocab_size": 1000, "tie_word_embeddings": False, "num_attention_heads": 4}
    assert (read_model(given, []).vocab, read_model(given, []).tied, read_model(given, []).heads) == (1000, False, 4)
    oss = {"model_type": "gpt_oss", "num_hidden_layers": 24, "hidden_size": 2880, "intermediate_size": 2880}
    oss |= {"num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 201088}
    oss |= {"num_local_experts": 32, "num_experts_per_tok": 4, "attention_bias": True, "name": "folder"}
    assert counted_parameters(read_model(oss, [])) == PUBLISHED["gpt-oss-20b"]


def test_experts_in_every_second_layer() -> None:
    config = {
        "model_type": "llama4_text",
        "num_hidden_layers": 48,
        "hidden_size": 5120,
        "intermediate_size": 8192,
        "intermediate_size_mlp": 16384,
        "interleave_moe_layer_step": 2,
        "num_local_experts": 128,
    }
    why: list[str] = []
    model = read_model({"name": "folder", "text_config": config}, why)
    assert (counted_parameters(model), why) == (PUBLISHED["llama-4-maverick"], [])
    assert model.kinds == (("dense", 24), ("moe", 24))
    assert model.kinds_between(0, 3) == (("dense", 2), ("moe", 1))
    assert model.kinds_between(1, 2) == (("moe", 1),)
    # 17 B are said to be active: the shared expert and one of 128.
    assert active_parameters(model) + model.vocab * model.hidden == pytest.approx(17.2e9, rel=0.01)
    first = read_model({**HF_DEEPSEEK, "model_type": "own"}, [])
    assert first.kinds_between(0, 4) == (("dense", 3), ("moe", 1))


def test_four_norms_a_layer_are_counted() -> None:
    two, four = (read_model({"name": "x", "layers": 1, "hidden": 64, "heads": 4, "norms": one}, []) for one in (2, 4))
    assert layer_parameters(four, "dense") - layer_parameters(two, "dense") == 2 * 64
