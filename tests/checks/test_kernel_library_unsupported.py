"""Kernel libraries on GPUs that they do not support. The texts are constructed from the programs' formats."""

from __future__ import annotations

import pytest

from tests.kit import amd_gpu, judge, nvidia_gpu, states
from tests.message_kit import finding_of, pasted, words_of

CHECK = "kernel-library-unsupported"


def test_flash_attention_says_what_it_needs() -> None:
    found = finding_of(
        CHECK, "RuntimeError: FlashAttention only supports Ampere GPUs or newer.", nvidia_gpu(compute_capability="7.5")
    )
    assert found is not None and found.severity == "error"
    assert "7.5" in found.message and "Ampere" in found.message and "sdpa" in words_of(found)


def test_a_question_about_flash_attention_on_an_old_amd_gpu() -> None:
    found = finding_of(CHECK, "How do I install flash attention on my card?", amd_gpu(gfx="gfx906"))
    assert found is not None and found.severity == "warning" and "gfx906" in found.message


def test_hipblaslt_falls_back_and_is_a_note_only() -> None:
    text = "UserWarning: Attempting to use hipBLASLt on a unsupported architecture! Overriding blas backend to hipblas"
    found = finding_of(CHECK, text, amd_gpu(gfx="gfx1030"))
    assert found is not None and found.severity == "info" and "gfx1030" in found.message


def test_a_data_type_of_newer_gpus() -> None:
    text = "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0."
    found = finding_of(CHECK, text, nvidia_gpu(compute_capability="7.5"))
    assert found is not None and "Bfloat16" in found.message and "float16" in words_of(found)


def test_a_supported_gpu_and_silence() -> None:
    assert states(judge(CHECK, pasted("I use flash attention and it is fast", amd_gpu()))) == ["pass"]
    assert states(judge(CHECK, pasted("loss 1.0", amd_gpu()))) == ["not-applicable"]


def test_a_quantisation_that_needs_a_newer_gpu() -> None:
    text = (
        "The quantization method awq is not supported for the current GPU. Minimum capability: 75. Current capability: "
    )
    found = finding_of(CHECK, text + "70.")
    assert found is not None and "awq" in found.message and "another quantisation" in words_of(found)


@pytest.mark.parametrize(
    "text", ["Using Flash Attention", "llama_context: flash_attn    = 0", "Flash Attention not available, using SDPA"]
)
def test_what_a_program_chose_is_no_complaint(text: str) -> None:
    assert finding_of("kernel-library-unsupported", text, amd_gpu(1, gfx="gfx906")) is None
