"""Packages that do not fit, from what programs say. The texts are constructed from the programs' formats."""

from __future__ import annotations

from tests.kit import judge, states
from tests.message_kit import finding_of, pasted, words_of

CHECK = "package-mismatch-message"


def test_torchvision_without_its_operators() -> None:
    found = finding_of(CHECK, "RuntimeError: operator torchvision::nms does not exist")
    assert found is not None and found.severity == "error" and "torchvision" in found.message
    assert "together" in words_of(found)


def test_two_cuda_releases_are_named() -> None:
    text = (
        "RuntimeError: Detected that PyTorch and torchvision were compiled with different CUDA major versions. PyTorch "
        "has CUDA Version=11.8 and torchvision has CUDA Version=12.1."
    )
    found = finding_of(CHECK, text)
    assert found is not None and "11.8" in found.message and "12.1" in found.message


def test_an_extension_of_another_torch() -> None:
    text = (
        "ImportError: /x/flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so: undefined symbol: _ZN3c104cuda9SetDeviceEi"
    )
    found = finding_of(CHECK, text)
    assert found is not None and "flash_attn_2_cuda" in found.message and "ebuild" in words_of(found)


def test_pip_says_what_it_wanted() -> None:
    text = "torchaudio 2.1.0 requires torch==2.1.0, but you have torch 2.2.1 which is incompatible."
    found = finding_of(CHECK, text)
    assert found is not None and found.severity == "warning" and "2.2.1" in found.message


def test_numpy_and_xformers() -> None:
    numpy = finding_of(CHECK, "A module that was compiled using NumPy 1.x cannot be run in NumPy 2.0.0")
    assert "numpy<2" in words_of(numpy)
    text = "xFormers was built for:\n    PyTorch 2.1.0+cu121 with CUDA 1201 (you have 2.0.1+cu118)"
    assert "2.0.1+cu118" in words_of(finding_of(CHECK, text))


def test_healthy_output_and_user_code_stay_silent() -> None:
    for text in (
        "Successfully installed torch-2.3.0 torchvision-0.18.0",
        "ModuleNotFoundError: No module named 'my_model'",
        "AttributeError: 'Net' object has no attribute 'foo'",
    ):
        assert states(judge(CHECK, pasted(text))) == ["not-applicable"]


def test_ranks_with_different_nccl() -> None:
    text = "NCCL WARN Mismatched NCCL version detected : rank 0 version 22005 rank 1 version 21805"
    found = finding_of(CHECK, text)
    assert found is not None and (found.severity, found.confidence) == ("error", "certain")
    assert "22005 and 21805" in found.message and "every node" in words_of(found)


def test_an_extension_for_the_other_vendor_is_a_wrong_build() -> None:
    text = "xFormers was built for:\n    PyTorch 2.10.0+cu128 with CUDA 1208 (you have 2.11.0+rocm7.13.0)"
    found = finding_of(CHECK, text)
    assert found is not None and found.cause == "wrong-backend-build" and "is a build for CUDA" in found.message
    text = "xFormers was built for:\n    PyTorch 2.10.0+cu128 with CUDA 1208 (you have 2.11.0+cpu)"
    found = finding_of(CHECK, text)
    assert found is not None and found.cause == "wrong-backend-build" and "is the CPU build" in found.message
    text = "xFormers was built for:\n    PyTorch 2.10.0+cu128 with CUDA 1208 (you have 2.11.0+cu128)"
    found = finding_of(CHECK, text)
    assert found is not None and found.cause == "python-package-mismatch"
