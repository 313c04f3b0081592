"""GPUs that the libraries of a ROCm release have no files for, in pasted texts. The texts are constructed."""

from __future__ import annotations

import pytest

from rocdoctor.model.facts import TorchBuild
from tests.kit import amd_gpu, judge, k, states
from tests.message_kit import pasted
from tests.text_kit import diagnosed

NAME = "rocm-libraries-without-gpu"


def said_of(text: str) -> list[str]:
    return [one.message for one in diagnosed(text).causes if one.check == NAME]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "Radeon VII (gfx906) with ROCm 7.0: rocBLAS crashes at start.\n",
            "rocBLAS of ROCm 7.0 has no files for gfx906",
        ),
        ("MI50 with ROCm 6.4 and vLLM wheel: the server exits at once.\n", "ROCm 6.4"),
        ("Radeon VII, torch 2.9.0+rocm6.4, every matmul fails.\n", "torch's build for ROCm 6.4"),
    ],
)
def test_a_gpu_without_files(text: str, words: str) -> None:
    (message,) = said_of(text)
    assert words in message


@pytest.mark.parametrize(
    "text",
    [
        "Radeon VII with ROCm 6.3: rocBLAS crashes at start.\n",
        "RX 7900 XTX with ROCm 7.0: rocBLAS crashes at start.\n",
        "There are a MI50 and an RX 7900 XTX here. With ROCm 7.0 my program crashes.\n",
        "Radeon VII with ROCm 7.0. My script fails with FileNotFoundError: data.csv\n",
        "Unable to build for gfx906 on rocm 6.4:\nargmax.cu:184:29: error: use of undeclared identifier 'shfl'\n",
        "On a Radeon VII with ROCm 7.0 I use a rebuilt rocBLAS. The web server crashes.\n",
        "Is a Radeon VII supported by ROCm 7.0? I want to buy one.\n",
        "The Radeon VII crashed with ROCm 7.0. I installed ROCm 6.3, now it works.\n",
        "# Release notes\n\n- ROCm 6.4: rocBLAS crashes on gfx906, which is no longer supported\n",
        "Radeon VII with ROCm 7.0.\n",
        "Vega 64 in the old PC with ROCm 5.7, and the new PC has ROCm 7.1. On the new one PyTorch crashes.\n",
        "MI60 with ROCm 7.1.0: my script fails with ModuleNotFoundError: No module named 'datasets'.\n",
        "MI60 with ROCm 7.1.0: training is slow.\n",
    ],
)
def test_what_accuses_nobody(text: str) -> None:
    assert said_of(text) == []


def test_a_torch_that_works_is_left_alone() -> None:
    text = "It crashes at start.\n"
    torch = TorchBuild(version=k("2.9.0+rocm6.4"), hip=k("6.4"), cuda=k(None))
    working = TorchBuild(
        version=k("2.9.0+rocm6.4"), hip=k("6.4"), cuda=k(None), import_error=k(None), device_count=k(1)
    )
    old = amd_gpu(gfx="gfx906")
    assert states(judge(NAME, pasted(text, old, torch=torch))) == ["fail"]
    assert states(judge(NAME, pasted(text, old, torch=working))) == ["not-applicable"]
    assert states(judge(NAME, pasted(text, old))) == ["not-applicable"]
    assert states(judge(NAME, pasted(text, torch=torch))) == ["not-applicable"]
