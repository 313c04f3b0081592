"""A CUDA release of a command against the driver. The texts are constructed; the floors are NVIDIA's."""

from __future__ import annotations

import pytest

from rocdoctor.model.finding import Finding
from tests.text_kit import diagnosed

CHECK = "command-cuda-newer-than-driver"
FALSE = "\nGPU available: False\n"


def _finding(text: str) -> Finding | None:
    return next((one.finding for one in diagnosed(text).verdicts if one.check == CHECK and one.finding), None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("$ conda install pytorch pytorch-cuda=12.1 -c pytorch\n", "CUDA 12.1, which needs driver 525"),
        ("$ pip install torch --index-url https://download.pytorch.org/whl/cu118\n", "CUDA 11.8"),
        (
            "$ pip install torch===1.7.1 -f https://download.pytorch.org/whl/torch_stable.html\n",
            "CUDA 10.2, which needs driver 440.33",
        ),
        ("$ pip install torch==2.9.1\n", "CUDA 12.8, which needs driver 525"),
    ],
)
def test_the_release_and_the_floor_are_named(text: str, said: str) -> None:
    found = _finding("NVIDIA driver version: 418.67\n" + text + FALSE)
    assert found is not None and said in found.message and "418.67" in found.message


@pytest.mark.parametrize(
    "text",
    [
        "NVIDIA driver version: 550.54.14\n$ conda install pytorch pytorch-cuda=12.1 -c pytorch\n" + FALSE,
        "NVIDIA driver version: 418.67\n$ conda install pytorch pytorch-cuda=12.1 -c pytorch\n",
        "NVIDIA driver version: 418.67\n$ pip install torch\n" + FALSE,
        "NVIDIA driver version: 418.67\n$ pip install torch==1.4.0\n" + FALSE,
        "NVIDIA driver version: 418.67\n$ pip install torch==1.7.1+cpu\n" + FALSE,
        "NVIDIA driver version: 418.67\n$ pip install torch==2.9.1 --index-url https://download.pytorch.org/whl/cpu\n"
        + FALSE,
        "$ conda install pytorch pytorch-cuda=12.1 -c pytorch\n" + FALSE,
    ],
)
def test_a_driver_that_fits_or_is_not_known(text: str) -> None:
    assert _finding(text) is None


def test_a_driver_at_the_end_of_a_sentence() -> None:
    text = (
        "$ pip install torch===1.3.0\n>>> torch.cuda.is_available()\nFalse\n\nnvidia-smi shows driver version 410.48.\n"
    )
    found = _finding(text)
    assert found is not None and "CUDA 10.1, which needs driver 418.39" in found.message
