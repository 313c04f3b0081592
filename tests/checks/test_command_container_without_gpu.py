"""Containers started without the GPU. The texts are constructed command lines and manifests."""

from __future__ import annotations

import pytest

from rocdoctor.model.finding import Finding
from tests.message_kit import words_of
from tests.text_kit import diagnosed

CHECK = "command-container-without-gpu"
NO_HIP = "\n\nRuntimeError: No HIP GPUs are available\n"
NO_CUDA = "\n\nRuntimeError: Found no NVIDIA driver on your system.\n"
NO_GPUS = "\n\nRuntimeError: No CUDA GPUs are available\n"
LIGHTNING = "\n\nMisconfigurationException: You requested GPUs: [0]\n But your machine only has: []\n"
DENIED = "\n\nROCk module is loaded\nUnable to open /dev/kfd read-write: Permission denied\n"


def _finding(text: str) -> Finding | None:
    return next((one.finding for one in diagnosed(text).verdicts if one.check == CHECK and one.finding), None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("$ docker run --gpus all rocm/vllm:latest", "/dev/kfd and /dev/dri"),
        ("$ docker run -it rocm/pytorch" + NO_HIP, "--device=/dev/kfd"),
        ("$ docker run --device=/dev/dri rocm/pytorch" + NO_HIP, "without /dev/kfd:"),
        ("$ docker run --device=/dev/kfd rocm/pytorch" + NO_HIP, "without /dev/dri:"),
        ("GPU: AMD Instinct MI210\n$ docker run my/image" + NO_HIP, "without /dev/kfd and /dev/dri"),
        ("services:\n  a:\n    image: ollama/ollama:rocm\n" + NO_HIP, "group_add"),
        ("$ apptainer exec torch_rocm.sif python a.py" + NO_HIP, "--rocm"),
        ("$ docker run -it nvcr.io/nvidia/pytorch:24.01-py3" + NO_CUDA, "--gpus all"),
        ("$ podman run -it nvidia/cuda:12.4.0-base-ubuntu22.04" + NO_CUDA, "nvidia.com/gpu=all"),
        ("$ singularity run docker://x/cuda12 python a.py" + NO_CUDA, "--nv"),
        ("singularity shell a.sif\nSingularity> python3 t.py" + LIGHTNING, "--nv (NVIDIA) and --rocm (AMD)"),
        ("$ apptainer run a.sif python a.py" + NO_GPUS, "--nv (NVIDIA) and --rocm (AMD)"),
        ("$ singularity instance start a.sif one\n$ singularity exec instance://one python a.py" + NO_GPUS, "--nv"),
        ("$ singularity instance.start a.sif one" + NO_GPUS, "--nv"),
        ("$ docker run --device=/dev/kfd --device=/dev/dri rocm/pytorch rocminfo" + DENIED, "without --group-add"),
        ("$ podman run --device=/dev/kfd --device=/dev/dri rocm/rocm-terminal" + DENIED, "keep-groups"),
    ],
)
def test_what_is_missing_is_named(text: str, said: str) -> None:
    found = _finding(text)
    assert found is not None and found.severity == "error" and found.confidence == "likely"
    assert said in words_of(found)


def test_a_pod_without_the_resource() -> None:
    pod = "```yaml\nkind: Pod\nspec:\n  containers:\n  - name: a\n    image: rocm/pytorch\n{}```\n" + NO_HIP
    assert "amd.com/gpu" in words_of(_finding(pod.format("")))
    assert _finding(pod.format("    resources: {limits: {amd.com/gpu: 1}}\n")) is None


@pytest.mark.parametrize(
    "text",
    [
        "$ docker run -it rocm/pytorch",  # nothing says that it finds no GPU
        "$ docker run --device=/dev/kfd --device=/dev/dri rocm/pytorch" + NO_HIP,
        "$ docker run --privileged rocm/pytorch" + NO_HIP,
        "$ docker run $GPU_OPTIONS --device $NODES rocm/pytorch" + NO_HIP,
        "$ docker run ... rocm/pytorch" + NO_HIP,
        "$ docker run --runtime=amd -e AMD_VISIBLE_DEVICES=all rocm/pytorch" + NO_HIP,
        "$ docker run -e NVIDIA_VISIBLE_DEVICES=all nvidia/cuda:12.4.0-base-ubuntu22.04" + NO_CUDA,
        "$ docker run --gpus all nvidia/cuda:12.4.0-base-ubuntu22.04" + NO_CUDA,
        "$ apptainer shell --nv a.sif" + NO_GPUS,
        "$ apptainer run --rocm a.sif" + NO_GPUS,
        "$ SINGULARITY_NV=1 singularity shell a.sif" + NO_GPUS,
        "export APPTAINER_ROCM=1\n$ apptainer exec a.sif python a.py" + NO_GPUS,
        "$ apptainer exec instance://one python a.py" + NO_GPUS,  # its start is not shown
        "$ singularity shell a.sif",  # nothing says that it finds no GPU
        "$ docker run --device=/dev/kfd --device=/dev/dri --group-add 992 rocm/pytorch" + DENIED,
        "$ docker run my/image" + NO_HIP,  # nothing says whose GPU it wants
        "On WSL:\n$ docker run rocm/pytorch" + NO_HIP,
        "$ docker run rocm/pytorch" + NO_HIP + "$ docker run --device=/dev/kfd --device=/dev/dri rocm/pytorch\nworks",
        'The section says "run rocm/pytorch with --gpus all".' + NO_HIP,
    ],
)
def test_other_launches_are_not_accused(text: str) -> None:
    assert _finding(text) is None


def test_a_launch_in_a_sentence_is_only_possible() -> None:
    found = _finding("I start it with docker run --gpus all rocm/vllm:latest and it is slow on the RX 7900 XTX.")
    assert found is not None and found.confidence == "possible"
