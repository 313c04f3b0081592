"""Words that were taken for the wrong memory, vendor, system or number of machines."""

from __future__ import annotations

import pytest

from rocdoctor.model.finding import Cause
from tests.text_kit import diagnosed


def _first(text: str) -> Cause:
    return diagnosed(text).causes[0]


@pytest.mark.parametrize(
    "text",
    [
        "# oom-kill error in the captioning task\n\nThe training of the model ends with it.\n",
        "After an hour the training worker was oom-killed.\n",
    ],
)
def test_the_killer_of_processes_looks_at_main_memory(text: str) -> None:
    found = _first(text)
    assert found.cause == "out-of-memory"
    assert "main memory (RAM, not GPU memory)" in found.message


def test_memory_of_the_gpu_stays_memory_of_the_gpu() -> None:
    assert "GPU memory is exhausted" in _first("The training job dies with a CUDA OOM error.\n").message
    assert not diagnosed("There was no oom-kill in the training job.\n").causes


def test_a_mac_that_reached_its_limit_says_what_it_holds() -> None:
    found = _first(
        "RuntimeError: MPS backend out of memory (MPS allocated: 8.10 GB, other allocations: 120.00 MB, "
        "max allowed: 9.07 GB). Tried to allocate 20.00 MB on private pool.\n"
    )
    assert found.cause == "out-of-memory"
    assert "holds 8.10 GB" in found.message and "9.07 GB are allowed" in found.message


_NO_HEADER = (
    "/opt/conda/lib/python3.10/site-packages/torch/include/ATen/cuda/CUDAContext.h:5:10: "
    "fatal error: 'cuda_runtime_api.h' file not found\n"
)


@pytest.mark.parametrize(
    "text",
    [
        f"docker run -it rocm/pytorch:latest\n{_NO_HEADER}",
        f"I build the ops in a ROCm environment.\n\n{_NO_HEADER}",
    ],
)
def test_a_header_of_cuda_that_a_build_for_rocm_asks_for_is_no_missing_toolkit(text: str) -> None:
    found = _first(text)
    assert found.cause == "not-environment"
    assert "not translated for ROCm" in found.message


@pytest.mark.parametrize(
    "text",
    [
        _NO_HEADER,
        f"I am not in a ROCm environment.\n\n{_NO_HEADER}",
        f"c++ -I/usr/local/cuda/include -I/opt/x -c a.cpp # not with the ROCm build\n{_NO_HEADER}",
    ],
)
def test_the_same_header_elsewhere_is_a_missing_toolkit(text: str) -> None:
    assert _first(text).cause == "cuda-toolkit-mismatch"


_MULTI_GPU = "Training with multi gpu stops after the first message and my computer starts to freeze."


def test_two_computers_that_are_compared_are_no_job_on_two_machines() -> None:
    compared = "The only difference between the two computers is the cpu, intel in one and AMD in the other."
    found = diagnosed(f"On the A6000 it hangs, on the RTX 8000 not. {compared}\n\n{_MULTI_GPU}\n").causes
    assert [one.cause for one in found] == ["iommu-acs-p2p"]
    several = _first("Training on two nodes hangs at the first step, one node works.\n")
    assert several.cause == "network-interface-wrong"


def test_windows_is_not_asked_for_device_nodes() -> None:
    said = "ComfyUI does not use my Radeon RX 7800 XT, everything runs on the CPU."
    there = _first(f"I use Windows 11. {said}\n")
    assert there.cause == "wrong-backend-build"
    assert "/dev/kfd" not in there.remedy + str(there.finding)
    here = _first(f"I use Ubuntu 24.04. {said}\n")
    assert "/dev/kfd" in str(here)
