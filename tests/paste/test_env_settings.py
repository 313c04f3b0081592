"""Variables that a writer sets in words: what is a value, and what is a noun. The texts are constructed."""

from __future__ import annotations

import pytest

from rocdoctor.collect import collect
from rocdoctor.paste import open_text


def _environment(text: str) -> dict[str, str]:
    return {name: one.value for name, one in collect(open_text(text, "test")).environment.variables.items()}


@pytest.mark.parametrize(
    "words",
    [
        "The plugin sets the variable `ROCR_VISIBLE_DEVICES` to GPU indices of the last socket only.",
        "Our launcher sets CUDA_VISIBLE_DEVICES to one index per rank, and the job trains.",
        "We looked at HIP_VISIBLE_DEVICES: nothing unusual, and the cards are all there.",
        "Slurm sets GPU_DEVICE_ORDINAL to whatever it gave the job.",
    ],
)
def test_a_noun_is_no_list_of_gpus(words: str) -> None:
    assert _environment(words) == {}


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        ("On that node ROCR_VISIBLE_DEVICES is set to 3 and torch finds nothing.", "ROCR_VISIBLE_DEVICES", "3"),
        ("On that node CUDA_VISIBLE_DEVICES was set to -1.", "CUDA_VISIBLE_DEVICES", "-1"),
        ("Here HIP_VISIBLE_DEVICES is set to GPU-9f3a7c1d2b4e5f60.", "HIP_VISIBLE_DEVICES", "GPU-9f3a7c1d2b4e5f60"),
        ("My shell has CUDA_VISIBLE_DEVICES=cuda:0 and torch finds nothing.", "CUDA_VISIBLE_DEVICES", "cuda:0"),
    ],
)
def test_a_value_in_words_is_read(words: str, name: str, value: str) -> None:
    assert _environment(words) == {name: value}
