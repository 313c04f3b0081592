"""Commands that install torch for another kind of GPU. The texts are constructed sessions."""

from __future__ import annotations

import pytest

from rocdoctor.model.finding import Finding
from tests.message_kit import words_of
from tests.text_kit import diagnosed

CHECK = "command-installs-other-backend"
AMD, NVIDIA = "GPU: AMD Instinct MI210\n\n", "GPU: NVIDIA GeForce RTX 4090\n\n"
FALSE = "\n>>> torch.cuda.is_available()\nFalse\n"
INDEX = "https://download.pytorch.org/whl/"


def _finding(text: str) -> Finding | None:
    return next((one.finding for one in diagnosed(text).verdicts if one.check == CHECK and one.finding), None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (AMD + f"$ pip install torch --index-url {INDEX}cu121" + FALSE, "installs a CUDA build"),
        (AMD + f"$ pip install torch --index-url {INDEX}cpu" + FALSE, "installs a CPU-only build"),
        (AMD + "$ conda install pytorch cudatoolkit=11.3 -c pytorch" + FALSE, "pip inside the environment"),
        (AMD + "$ uv pip install torch" + FALSE, "ROCm"),
        (NVIDIA + f"$ pip3 install torch --index-url {INDEX}rocm6.2" + FALSE, "installs a ROCm build"),
        (NVIDIA + "$ conda install pytorch cpuonly -c pytorch" + FALSE, "CPU-only"),
    ],
)
def test_the_build_is_named(text: str, said: str) -> None:
    found = _finding(text)
    assert found is not None and found.cause == "wrong-backend-build" and said in words_of(found)
    assert "--index-url" in words_of(found)


@pytest.mark.parametrize(
    "text",
    [
        AMD + f"$ pip install torch --index-url {INDEX}cu121",  # nothing says that it does not work
        AMD + f"$ pip install torch --index-url {INDEX}rocm6.2" + FALSE,
        AMD + f"$ pip install torch --index-url {INDEX}cu121\n$ pip install torch --index-url {INDEX}rocm6.2" + FALSE,
        AMD + "$ pip install -r requirements.txt" + FALSE,
        AMD + "$ pip install ./torch-2.8.0+git-cp312-cp312-linux_x86_64.whl" + FALSE,
        AMD + "$ uv add torch --torch-backend=rocm6.3" + FALSE,
        NVIDIA + "$ pip install torch" + FALSE,
        NVIDIA + AMD + f"$ pip install torch --index-url {INDEX}cu121" + FALSE,
        AMD + f"torch 2.5.0+rocm6.2\n$ pip install torch --index-url {INDEX}cu121" + FALSE,
        f"$ pip install torch --index-url {INDEX}cu121" + FALSE,
        AMD + "The page says: pip install torch --index-url .../cu121 is for NVIDIA and not for us." + FALSE,
    ],
)
def test_other_installations_are_not_accused(text: str) -> None:
    assert _finding(text) is None


_BESIDE = f"\n\n    --extra-index-url {INDEX}rocm5.2/\n    torch{{}}\n\nthe GPU is unused, it runs on the CPU."


def test_an_index_beside_pypi_and_no_exact_version() -> None:
    found = _finding(AMD + "The requirements:" + _BESIDE.format(">=1.13"))
    assert found is not None
    assert found.cause == "wrong-backend-build"
    assert "--extra-index-url" in words_of(found)
    assert _finding(AMD + f"$ pip install torch --extra-index-url {INDEX}rocm6.4" + FALSE) is not None


@pytest.mark.parametrize(
    "text",
    [
        AMD + "The requirements:" + _BESIDE.format("==1.13.1"),
        AMD + "The requirements:" + _BESIDE.format(">=1.13").replace("the GPU is unused, it runs on the CPU", "fine"),
        NVIDIA + "The requirements:" + _BESIDE.format(">=1.13"),
        AMD + "The requirements:" + _BESIDE.format(">=1.13").replace("--extra-index-url", "--index-url"),
    ],
)
def test_a_pin_or_an_index_of_its_own_or_no_symptom_says_nothing(text: str) -> None:
    found = _finding(text)
    assert found is None or "beside PyPI" not in words_of(found)
