"""CUDA builds of torch that leave a GPU out, in pasted texts. The texts are constructed."""

from __future__ import annotations

import pytest

from rocdoctor.model.facts import TorchBuild
from tests.kit import judge, k, nvidia_gpu, states
from tests.message_kit import pasted
from tests.text_kit import diagnosed

NAME = "torch-cuda-unlike-gpu"


def said_of(text: str) -> list[str]:
    return [one.message for one in diagnosed(text).causes if one.check == NAME]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Tesla V100 with torch 2.9.0+cu130: every op fails.\n", "compute capability 7.0"),
        ("GTX 1080 Ti, torch 2.8.0+cu129. Training fails in the first step.\n", "CUDA 12.8 and newer"),
        ("Tesla K80 with torch 2.1.0+cu121: every op fails.\n", "CUDA 12.0 and newer"),
    ],
)
def test_a_build_that_leaves_the_gpu_out(text: str, words: str) -> None:
    (message,) = said_of(text)
    assert words in message


@pytest.mark.parametrize(
    "text",
    [
        "Tesla V100 with torch 2.9.0+cu128: every op fails.\n",
        "GTX 1080 Ti, torch 2.8.0+cu126. Training fails in the first step.\n",
        "Tesla K80 with torch 2.1.0+cu118: every op fails.\n",  # that build had code for it, as far as is known
        "RTX 4090 with torch 2.9.0+cu130: every op fails.\n",
        "Will a V100 work with torch 2.9.0+cu130?\n",
        "V100 with torch 2.9.0+cu130. Training fails: ValueError: too many values to unpack\n",
        "There are a V100 and an RTX 3090. With torch 2.9.0+cu130 training fails.\n",
        "torch 2.9.0+cu130 failed on the V100. I installed torch 2.9.0+cu126, and now it works.\n",
        "# Changelog\n\n- torch 2.9.0+cu130: kernels fail on a V100, which it no longer supports\n",
    ],
)
def test_what_accuses_nobody(text: str) -> None:
    assert said_of(text) == []


def test_a_printed_list_is_for_other_checks() -> None:
    text, gpu = "Every op fails.\n", nvidia_gpu(compute_capability="7.0")
    build = TorchBuild(version=k("2.9.0+cu130"), cuda=k("13.0"), hip=k(None))
    listed = TorchBuild(version=k("2.9.0+cu130"), cuda=k("13.0"), hip=k(None), arch_list=k(("sm_70",)))
    assert states(judge(NAME, pasted(text, gpu, torch=build))) == ["fail"]
    assert states(judge(NAME, pasted(text, gpu, torch=listed))) == ["not-applicable"]
    assert states(judge(NAME, pasted(text, nvidia_gpu(compute_capability="7.5"), torch=build))) == ["pass"]
    assert states(judge(NAME, pasted(text, torch=build))) == ["not-applicable"]
