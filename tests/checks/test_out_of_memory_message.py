"""Exhausted GPU memory. The texts are constructed from the formats of torch."""

from __future__ import annotations

import pytest

from tests.kit import amd_gpu, judge, states
from tests.message_kit import finding_of, pasted, words_of

CHECK = "out-of-memory-message"
OLD = (
    "RuntimeError: CUDA out of memory. Tried to allocate 96.00 MiB (GPU 0; 7.79 GiB total capacity; 5.10 GiB already "
    "allocated; 61.25 MiB free; 5.30 GiB reserved in total by PyTorch)"
)
NEW = (
    "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.98 GiB of "
    "which 3.10 GiB is free. Of the allocated memory 12.00 GiB is allocated by PyTorch, and 8.20 GiB is reserved by "
    "PyTorch but unallocated."
)


def test_figures_are_told() -> None:
    found = finding_of(CHECK, OLD)
    assert found is not None and found.confidence == "certain"
    assert "96.00 MiB" in found.message and "7.79 GiB" in found.message and "batch" in words_of(found)


def test_fragmentation_on_amd() -> None:
    found = finding_of(CHECK, NEW, amd_gpu())
    assert found is not None and "pieces" in found.message
    assert "PYTORCH_HIP_ALLOC_CONF=expandable_segments:True" in words_of(found)


def test_one_allocation_larger_than_the_gpu() -> None:
    text = (
        "CUDA out of memory. Tried to allocate 40.00 GiB (GPU 0; 23.69 GiB total capacity; 1.00 GiB already allocated)"
    )
    assert "larger than the whole GPU" in words_of(finding_of(CHECK, text))


def test_words_and_a_card_that_is_full() -> None:
    text = "My training dies with out-of-memory errors although nothing runs."
    alone = finding_of(CHECK, text)
    full = finding_of(CHECK, text, amd_gpu(vram_bytes=64 << 30, vram_used_bytes=60 << 30))
    assert alone is not None and (alone.severity, alone.confidence) == ("warning", "possible")
    assert full is not None and full.severity == "error" and "60 GiB" in full.message and "process" in full.message
    assert finding_of(CHECK, "kernel: Out of memory: Killed process 4242 (python3)") is None


def test_silence() -> None:
    assert states(judge(CHECK, pasted("max memory allocated: 10.2 GiB, no problem"))) == ["not-applicable"]


def test_what_a_program_caught_is_no_fault() -> None:
    text = "W guard: CUDA out of memory. Tried to allocate 2.00 GiB. Skipping batch 7"
    assert finding_of("out-of-memory-message", text) is None
    assert finding_of("out-of-memory-message", text + "\nCUDA error: out of memory") is not None


def test_an_integrated_gpu_can_be_given_more() -> None:
    text = "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2 GiB. GPU 0 has a total capacity of 15.5 GiB"
    apu = finding_of(CHECK, text, amd_gpu(gfx="gfx1151", integrated=True))
    card = finding_of(CHECK, text, amd_gpu(gfx="gfx1100", integrated=False))
    assert "ttm.pages_limit" in words_of(apu)
    assert "BIOS" in words_of(apu)
    assert "BIOS" not in words_of(card)


FULL = (
    "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 136.00 MiB. GPU 0 has a total capacity of 15.98 GiB "
    "of which 60.00 MiB is free."
)


def test_weights_larger_than_the_gpu_are_said_as_arithmetic() -> None:
    words = words_of(finding_of(CHECK, f"I load Llama-2-13b in float16.\n{FULL}"))
    # 13e9 parameters of 2 bytes are 24.2 GiB, of half a byte 6.1 GiB.
    assert "Llama-2-13b alone are 24.2 GiB in 16 bit" in words and "16.0 GiB" in words and "about 6.1 GiB" in words


@pytest.mark.parametrize(
    "beside",
    [
        "I load Llama-2-7b in float16.",  # 13.0 GiB
        "I load Llama-2-13b with load_in_8bit.",  # 12.1 GiB
        "I compare Llama-2-13b in float16 and with load_in_4bit.",
        "I compare Llama-2-13b with Qwen2.5-32B in float16.",
        "I load Mixtral 8x7B in float16.",
    ],
)
def test_weights_that_fit_or_are_not_clear_are_not_said(beside: str) -> None:
    assert "alone are" not in words_of(finding_of(CHECK, f"{beside}\n{FULL}"))


def test_two_gpus_hold_more_than_one() -> None:
    text = f"I load Llama-2-13b in float16.\n{FULL}"
    assert "alone are" not in words_of(finding_of(CHECK, text, amd_gpu(), amd_gpu(index=1)))


def _torch(asked: str, held: str, free: str, kept: str) -> str:
    return (
        f"CUDA out of memory. Tried to allocate {asked} (GPU 0; 6.00 GiB total capacity; {held} already allocated; "
        f"{free} free; {kept})"
    )


def test_much_free_memory_and_little_kept_is_no_fragmentation() -> None:
    old = _torch("50.00 MiB", "693.78 MiB", "3.91 GiB", "18.22 MiB cached")
    later = _torch("50.00 MiB", "693.78 MiB", "3.91 GiB", "712.00 MiB reserved in total by PyTorch")
    none_kept = _torch("500.00 MiB", "0 bytes", "2.80 GiB", "0 bytes reserved in total by PyTorch")
    for text in (old, later, none_kept):
        found = finding_of(CHECK, text)
        assert found is not None and "pieces" not in found.message and "page file" in found.message, text
        assert (found.confidence, found.finer) == ("possible", "host-memory"), text


def test_fragmentation_where_more_is_kept_than_was_asked_for() -> None:
    for kept, pieces in (
        ("2.00 GiB cached", True),
        ("100.00 MiB cached", False),
        ("3.00 GiB reserved in total by PyTorch", True),
        ("1.20 GiB reserved in total by PyTorch", False),
    ):
        found = finding_of(CHECK, _torch("500.00 MiB", "1.00 GiB", "600.00 MiB", kept))
        assert found is not None and ("pieces" in found.message) is pieces, kept
        assert (found.confidence, found.finer) == ("certain", ""), kept


def test_a_limit_of_the_process_is_named() -> None:
    text = (
        "CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 23.98 GiB of which 20.10 GiB is "
    )
    text += "free. 4.00 GiB allowed; Of the allocated memory 3.60 GiB is allocated by PyTorch"
    words = words_of(finding_of(CHECK, text))
    assert (
        "allows it only 4.00 GiB" in words and "set_per_process_memory_fraction" in words and "page file" not in words
    )
