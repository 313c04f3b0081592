"""Extensions without a library for the GPU. The texts are constructed from the programs' formats."""

from __future__ import annotations

from tests.kit import amd_gpu, judge, nvidia_gpu, states
from tests.message_kit import finding_of, pasted, words_of

CHECK = "extension-without-gpu-build"


def test_bitsandbytes_by_vendor() -> None:
    text = "UserWarning: The installed version of bitsandbytes was compiled without GPU support."
    assert "ROCm" in words_of(finding_of(CHECK, text, amd_gpu()))
    assert "CUDA" in words_of(finding_of(CHECK, text, nvidia_gpu()))
    alone = finding_of(CHECK, text)
    assert alone is not None and alone.severity == "warning"


def test_onnxruntime_names_the_provider() -> None:
    text = "UserWarning: Specified provider 'ROCMExecutionProvider' is not in available provider names."
    assert "ROCMExecutionProvider" in words_of(finding_of(CHECK, text, amd_gpu()))


def test_silence() -> None:
    assert states(judge(CHECK, pasted("bitsandbytes 0.45 loaded", amd_gpu()))) == ["not-applicable"]


def test_a_jaxlib_without_cuda() -> None:
    text = (
        "An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed. Falling back to cpu."
    )
    found = finding_of(CHECK, text)
    assert found is not None and found.cause == "wrong-backend-build" and "jaxlib" in found.message
    assert "jax[cuda12]" in words_of(found)
