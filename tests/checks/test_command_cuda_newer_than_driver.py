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
        "$ conda install pytorch pytorch-cuda=12.1 -c pytorch\n" + FALSE,
    ],
)
def test_a_driver_that_fits_or_is_not_known(text: str) -> None:
    assert _finding(text) is None
