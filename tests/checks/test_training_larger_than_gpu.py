"""Training that needs more memory than the GPUs have, in pasted texts. The texts are constructed."""

from __future__ import annotations

import pytest

from tests.text_kit import diagnosed

NAME = "training-larger-than-gpu"


def said_of(text: str) -> list[str]:
    return [one.message for one in diagnosed(text).causes if one.check == NAME]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        # 8e9 x 8 and 7e9 x 16 bytes, in GiB
        (
            "I full fine-tune Llama-3 8B in bf16 with AdamW on one RTX 4090 (24 GB). It ends with "
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 224.00 MiB.\n",
            "at least 60 GiB (8 bytes each",
        ),
        (
            "I want to do full fine-tuning of a 7B model with AdamW in fp32 on 2x A6000 48GB with DDP. Training dies "
            "as soon as the optimizer makes its first step.\n",
            "at least 104 GiB (16 bytes each",
        ),
        ("I full fine-tune Mistral 7B in fp32 on an RTX 3090, it is killed out of GPU memory.\n", "at least 52 GiB"),
    ],
)
def test_what_cannot_fit(text: str, words: str) -> None:
    (message,) = said_of(text)
    assert words in message


@pytest.mark.parametrize(
    "text",
    [
        # it fits
        "Full fine-tuning of Qwen2.5 0.5B with AdamW in bf16 on one RTX 4090 dies at the first step.\n",
        "Full fine-tuning of a 7B model with AdamW in bf16 on 2x A6000 48GB dies at the first step.\n",
        # something makes it smaller or divides it
        "I fine-tune Llama 3 8B with LoRA and AdamW in bf16 on one RTX 4090. Training dies.\n",
        "Full fine-tuning of a 70B model with AdamW in bf16 on 8x H100 80GB with FSDP dies at step 100.\n",
        "Full fine-tuning of Llama 3 8B in bf16 with 8-bit AdamW on one RTX 4090 dies at step 100.\n",
        # two formats or models, or none
        "Full fine-tuning of Llama 3 8B and Mistral 7B with AdamW in bf16 on one RTX 4090 dies.\n",
        "Full fine-tuning of Llama 3 8B with AdamW in bf16 or fp32 on one RTX 4090 dies.\n",
        "Full fine-tuning with AdamW in bf16 on one RTX 4090 dies.\n",
        # another failure, a question, what is over
        "Full fine-tuning of Llama 3 8B with AdamW in bf16 on one RTX 4090 dies with ValueError: labels.\n",
        "How much memory does full fine-tuning of a 70B model with AdamW need? I have one RTX 4090.\n",
        "Full fine-tuning of Llama 3 8B with AdamW in bf16 on one RTX 4090 died. With a new recipe it works now.\n",
        "Full fine-tuning of Llama 3 8B with AdamW in bf16 on 8x MI300X crashes in the first all-reduce.\n",
    ],
)
def test_what_accuses_nobody(text: str) -> None:
    assert said_of(text) == []
