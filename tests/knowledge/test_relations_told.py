"""Two things that do not go together, as people tell of them: a card and what runs on it, a setting and a network, an
override and a second card; and the sound texts that come nearest to each. The texts are constructed."""

from __future__ import annotations

import pytest

from tests.text_kit import diagnosed, first_cause

_TRITON = (
    "Model has kind KIND_GPU but no GPUs are available. tritonserver 21.12 on Ubuntu 18.04, the card is {card}. "
    "nvidia-smi lists it in the container.\n"
)
_CONDA = "{command}\n    pytorch            pytorch/win-64::pytorch-1.10.0-py3.8_{build}\n"
_TWO_CARDS = "GPU_0: {one}\nGPU_1: {two}\nollama, HSA_OVERRIDE_GFX_VERSION=10.3.0: {outcome}\n"
_BANNER = (
    "CUDA SETUP: libcudart.so path is None\nCUDA SETUP: Detected CUDA version 00\n"
    "CUDA SETUP: Loading binary /venv/{file}...\n"
)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (_TRITON.format(card="an NVIDIA GeForce GTX TITAN X"), "gpu-not-supported"),
        (_TRITON.format(card="a Tesla M40"), "gpu-not-supported"),
        (
            _CONDA.format(command="conda install pytorch cudatoolkit=11.3 -c pytorch", build="cpu_0"),
            "wrong-backend-build",
        ),
        (
            _TWO_CARDS.format(one="RX 9060 XT 16GB", two="RX 6700 XT 12GB", outcome="only the 6700 XT works"),
            "mixed-gpu-archs",
        ),
        (_BANNER.format(file="libbitsandbytes_cpu.so"), "missing-shared-library"),
        ("WSL 2, Ubuntu 22.04. No program sees the GPU, and /dev/dxg is not available.\n", "wsl-unsupported"),
        (
            "The process dies when it comes to net.cuda() on my RTX 4090, the same code runs fine on a 1080 Ti.\n",
            "gpu-arch-not-built",
        ),
        (
            "Outside of ros2 the inference succeeds. Started by run.sh, which sets many LD_LIBRARY_PATH entries, it "
            "fails with CUDA error code=999.\n",
            "driver-library-mismatch",
        ),
        (
            "Our nodes have InfiniBand. The job script sets NCCL_IB_DISABLE=1 and runs on two nodes are 40% slower.\n",
            "debug-env-left-on",
        ),
        (
            "The webui tries to use xformers on my system, which has an RX 6800 with ROCm. That fails.\n",
            "wrong-backend-build",
        ),
        (
            "RX 7800 XT, Windows 11. The model fails to load: RAM fills up and it seems that it uses my iGPU.\n",
            "igpu-shadows-dgpu",
        ),
        (
            "'CMAKE_ARGS' is not recognized as an internal or external command,\noperable program or batch file.\n",
            "not-environment",
        ),
        ('RuntimeError: Native API returns: -996\ninvalid_kernel("uses-fp64-math")\n', "not-environment"),
    ],
)
def test_what_does_not_go_together_is_said(text: str, cause: str) -> None:
    assert first_cause(text) == cause


@pytest.mark.parametrize(
    "text",
    [
        # A TITAN X without GTX may be of Pascal, which Triton takes, and so may a text name both kinds of card.
        _TRITON.format(card="an NVIDIA TITAN X"),
        _TRITON.format(card="an RTX 3090"),
        _TRITON.format(card="a Tesla M40 beside an RTX 3090"),
    ],
)
def test_triton_takes_newer_cards(text: str) -> None:
    assert "gpu-not-supported" not in [one.cause for one in diagnosed(text).causes]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (_CONDA.format(command="conda install pytorch cpuonly -c pytorch", build="cpu_0"), "wrong-backend-build"),
        (
            _CONDA.format(command="conda install pytorch -c pytorch", build="cuda11.3_cudnn8.2.0_0"),
            "wrong-backend-build",
        ),
        (_TWO_CARDS.format(one="RX 6800", two="RX 6700 XT", outcome="only the 6700 XT works"), "mixed-gpu-archs"),
        (_TWO_CARDS.format(one="RX 9060 XT", two="RX 6700 XT", outcome="both cards work"), "mixed-gpu-archs"),
        (_BANNER.format(file="libbitsandbytes_cuda117.so"), "missing-shared-library"),
        ("WSL 2: in the docker container /dev/dxg is missing.\n", "wsl-unsupported"),
        (
            "The process dies at net.cuda() on my RTX 4090, CUDA out of memory; it runs fine on a 1080 Ti.\n",
            "gpu-arch-not-built",
        ),
        ("run.sh sets LD_LIBRARY_PATH. CUDA error code=999, with and without it.\n", "driver-library-mismatch"),
        ("We have no InfiniBand and set NCCL_IB_DISABLE=1. Two nodes are 40% slower than one.\n", "debug-env-left-on"),
        ("I have an RX 6800 and installed xformers from whl/rocm6.3. Another node fails.\n", "wrong-backend-build"),
        ("xformers works on my RX 7900 XTX, but the server crashes with a KeyError.\n", "wrong-backend-build"),
        ("RX 7800 XT. It looks like the desktop uses the iGPU, as intended, no error.\n", "igpu-shadows-dgpu"),
    ],
)
def test_what_looks_like_it_is_not_blamed(text: str, cause: str) -> None:
    assert cause not in [one.cause for one in diagnosed(text).causes]


def test_a_container_that_lost_its_gpu_is_started_again_first() -> None:
    text = "nvidia-smi in docker shows the GPU. After a few hours the container loses its GPU: NVML unknown error.\n"
    (first, *_) = diagnosed(text).causes
    fix = first.remedy
    assert fix.startswith("Start the container again"), fix


def test_what_root_sees_in_the_container_was_passed_in() -> None:
    text = (
        "In my lxc container nvidia-smi works as root. As user ubuntu: nvidia-smi: No devices were found, so the GPU "
        "cannot be used.\n"
    )
    (first, *_) = diagnosed(text).causes
    assert first.cause == "container-device-access"
    assert "started without the GPU" not in str(first)
