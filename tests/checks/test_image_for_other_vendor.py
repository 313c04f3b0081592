"""Container images for the other vendor's GPUs, in pasted texts. The texts are constructed."""

from __future__ import annotations

import pytest

from tests.text_kit import diagnosed

NAME = "image-for-other-vendor"


def said_of(text: str) -> list[str]:
    return [one.message for one in diagnosed(text).causes if one.check == NAME]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "My card is an RTX 4080. I started docker run -it rocm/pytorch:latest bash and torch sees no GPU.\n",
            "rocm/pytorch:latest is made for AMD GPUs, and the GPU here is RTX 4080",
        ),
        (
            "On my RX 6800 XT I run nvcr.io/nvidia/pytorch:24.05-py3 and it says: WARNING: The NVIDIA Driver was not "
            "detected. GPU functionality will not be available.\n",
            "is made for NVIDIA GPUs",
        ),
        ("I pulled rocm/pytorch:rocm6.4_ubuntu24.04 for my RTX 4090. No GPU is found in it.\n", "is RTX 4090"),
        ("docker run --gpus all rocm/vllm:latest on my RTX 4090: vLLM finds no GPU.\n", "rocm/vllm:latest"),
    ],
)
def test_an_image_for_the_other_vendor(text: str, words: str) -> None:
    (message,) = said_of(text)
    assert words in message


@pytest.mark.parametrize(
    "text",
    [
        "My card is an RTX 4080. I started docker run -it nvcr.io/nvidia/pytorch:24.05-py3 and torch sees no GPU.\n",
        "My card is an RX 7900 XTX. I started docker run -it rocm/pytorch:latest bash and torch sees no GPU.\n",
        "We publish rocm/pytorch images. My laptop with an RTX 4060 finds no GPU since the update.\n",
        "My notebook with an RTX 4060 builds the rocm/pytorch image for the MI300X cluster. No GPU is found by CI.\n",
        "My card is an RTX 4080. I started docker run -it ubuntu:24.04 bash and torch sees no GPU.\n",
        "I have an RTX 4080 and an RX 7900 XTX. After docker run -it rocm/pytorch:latest torch sees no GPU.\n",
        "My card is an RTX 4080. docker run -it rocm/pytorch:latest works, but the loss becomes NaN.\n",
        "My card is an RTX 4080. Can docker run -it rocm/pytorch:latest use it, or does it see no GPU?\n",
    ],
)
def test_what_accuses_nobody(text: str) -> None:
    assert said_of(text) == []
