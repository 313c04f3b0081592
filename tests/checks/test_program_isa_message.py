from __future__ import annotations

from rocdoctor.model.finding import Finding
from tests.kit import amd_gpu
from tests.message_kit import finding_of, words_of

NAME = "program-isa-message"
TEXT = (
    "Error: The program ISA amdgcn-amd-amdhsa--{} is not compatible with the device ISA amdgcn-amd-amdhsa--{}\n"
    "Error: create kernel metadata map using COMgr"
)


def _found(program: str, device: str, *here: str) -> Finding | None:
    cards = [amd_gpu(number, gfx=gfx) for number, gfx in enumerate(here)]
    return finding_of(NAME, TEXT.format(program, device), *cards)


def test_both_targets_in_the_machine_are_mixed_architectures() -> None:
    found = _found("gfx908:xnack-", "gfx1030", "gfx908", "gfx1030")
    assert found is not None
    assert found.cause == "mixed-gpu-archs"


def test_a_target_that_no_card_has_is_a_build_for_another_gpu() -> None:
    found = _found("gfx1030", "gfx1031", "gfx1031")
    assert found is not None
    assert found.cause == "gpu-arch-not-built"
    assert "gfx1031" in words_of(found)


def test_unlike_modes_of_one_target_are_named() -> None:
    found = _found("gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack+", "gfx90a")
    assert found is not None
    assert "HSA_XNACK" in words_of(found)


def test_other_texts_say_nothing() -> None:
    assert finding_of(NAME, "The program works on gfx908 and gfx1030", amd_gpu()) is None
