"""What users say of their training."""

from __future__ import annotations

import pytest

from rocdoctor.train.recommend.errors import SpecError
from rocdoctor.train.recommend.model.shapes import parameters
from rocdoctor.train.recommend.model.workload import read_workload


def test_a_repository_name_means_its_preset() -> None:
    one = read_workload("meta-llama/Llama-3.1-8B-Instruct", "lora")
    assert one.model_id == "llama-3.1-8b"
    assert one.model.layers == 32
    assert one.seq == 2048
    assert any("gave no sequence length" in line for line in one.derived)


def test_sizes_in_one_word() -> None:
    one = read_workload("layers=2,hidden=64,heads=4,ffn=256,vocab=1000,gated=false,tied=true", "full", 128)
    # Counted by hand: embedding 64,000; a layer 4 x 64 x 64 + 2 x 64 x 256 and two norms of 64; the last norm.
    assert parameters(one.model) == 64_000 + 2 * (4 * 64 * 64 + 2 * 64 * 256 + 128) + 64
    assert one.model_id is None


def test_a_configuration_of_a_model() -> None:
    config = {
        "name": "mine",
        "num_hidden_layers": 4,
        "hidden_size": 128,
        "num_attention_heads": 4,
        "vocab_size": 500,
        "intermediate_size": 512,
    }
    assert read_workload(config, "full", 64).model.layers == 4


def test_without_a_method_all_weights_are_trained_and_that_is_said() -> None:
    one = read_workload("llama-3.2-1b")
    assert (one.method, one.seq) == ("pretrain", 4096)
    assert any("gave no method" in line for line in one.derived)


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        ("llama-3.1-8", {}, "llama-3.1-8b"),
        ("layrs=2,hidden=64", {}, "did you mean 'layers'"),
        ("layers=2,hidden", {}, "is not a size"),
        ("llama-3.1-8b", {"seq": 0}, "seq must be between"),
        ("llama-3.1-8b", {"global_batch": 0}, "global batch must be between"),
        ("llama-3.1-8b", {"lora_rank": 0}, "LoRA rank"),
        ("llama-3.1-8b", {"method": "dpo"}, "there are pretrain, full, lora, qlora"),
    ],
)
def test_what_cannot_be_read_names_what_would(model: str, options: dict[str, object], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        read_workload(model, **options)  # type: ignore[arg-type]
