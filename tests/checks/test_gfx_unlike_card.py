from __future__ import annotations

import pytest

from tests.kit import amd_gpu, environment
from tests.message_kit import finding_of

NAME = "gfx-unlike-card"
LLAMA = "  Device 0: AMD Radeon 8060S Graphics, {gfx} (0x1100), VMM: no, Wave Size: 32"
ROCMINFO = (
    "  Name:                    {gfx}\n  Uuid:                    GPU-1\n  Marketing Name:          AMD Instinct MI210"
)


def test_a_target_of_another_group_is_an_error() -> None:
    found = finding_of(NAME, ROCMINFO.format(gfx="gfx1030"), amd_gpu(gfx="gfx90a"))
    assert found is not None
    assert (found.severity, found.confidence, found.cause) == ("error", "likely", "hsa-override-wrong")
    assert "gfx90a" in found.message
    assert "gfx1030" in found.message


def test_a_neighbour_in_common_use_is_a_note_until_programs_crash() -> None:
    text = LLAMA.format(gfx="gfx1100")
    quiet = finding_of(NAME, text, amd_gpu(gfx="gfx1151"))
    crashed = finding_of(NAME, f"{text}\nSegmentation fault (core dumped)", amd_gpu(gfx="gfx1151"))
    assert quiet is not None
    assert quiet.severity == "info"
    assert crashed is not None
    assert (crashed.severity, crashed.confidence) == ("warning", "possible")


@pytest.mark.parametrize(
    "text",
    [
        LLAMA.format(gfx="gfx1151"),
        ROCMINFO.format(gfx="gfx90a"),
        "  Device 0: AMD Radeon Graphics, gfx1103 (0x1103)",  # a name that says nothing
    ],
)
def test_the_own_target_or_a_card_that_is_not_known_says_nothing(text: str) -> None:
    assert finding_of(NAME, text, amd_gpu()) is None


def test_an_override_that_is_shown_is_left_to_its_own_check() -> None:
    given = environment({"HSA_OVERRIDE_GFX_VERSION": "11.0.0"})
    assert finding_of(NAME, LLAMA.format(gfx="gfx1100"), amd_gpu(gfx="gfx1151"), environment=given) is None
