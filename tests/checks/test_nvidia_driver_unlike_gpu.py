"""NVIDIA drivers of a branch that does not support the GPU, in pasted texts. The texts are constructed."""

from __future__ import annotations

import pytest

from tests.kit import judge, k, nvidia_gpu, states
from tests.message_kit import pasted
from tests.text_kit import diagnosed

NAME = "nvidia-driver-unlike-gpu"


def said_of(text: str) -> list[str]:
    return [one.message for one in diagnosed(text).causes if one.check == NAME]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Tesla K80 with driver 535.161: no devices were found.\n", "branch 470"),
        ("Tesla K80 with NVIDIA driver 550: nvidia-smi finds no devices.\n", "branch 470"),
        ("RTX 5090 with NVIDIA driver 550.54: nvidia-smi finds no devices.\n", "branch 570"),
        ("GTX 1080 Ti with NVIDIA driver 595.45: nvidia-smi finds no devices.\n", "branch 580"),
    ],
)
def test_a_driver_of_another_branch(text: str, words: str) -> None:
    (message,) = said_of(text)
    assert words in message


@pytest.mark.parametrize(
    "text",
    [
        "Tesla K80 with driver 470.256.02: no devices were found.\n",
        "RTX 5090 with NVIDIA driver 570.86: nvidia-smi finds no devices.\n",
        "GTX 1080 Ti with NVIDIA driver 580.95: nvidia-smi finds no devices.\n",
        "RTX 5090 with NVIDIA driver 550.54 in the plan. Is it enough?\n",
        "There are a Tesla K80 and an RTX 3090 with driver 535.161: nvidia-smi cannot talk to them.\n",
        "The Tesla K80 did not work with driver 535.161. I installed 470.256.02, and now everything works.\n",
        "RTX 5090, NVIDIA driver 550: my training fails with KeyError: 'labels'.\n",
        "Tesla K80, no devices were found.\n",
    ],
)
def test_what_accuses_nobody(text: str) -> None:
    assert said_of(text) == []


def test_a_bound_driver_is_left_alone() -> None:
    text, drivers = "no driver is loaded\n", {"nvidia": {"version": k("550.54")}}
    gone = nvidia_gpu(driver=None, compute_capability="3.7")
    assert states(judge(NAME, pasted(text, gone, drivers=drivers))) == ["fail"]
    bound = nvidia_gpu(driver="nvidia", compute_capability="3.7")
    assert states(judge(NAME, pasted(text, bound, drivers=drivers))) == ["not-applicable"]
    assert states(judge(NAME, pasted(text, gone))) == ["not-applicable"]
