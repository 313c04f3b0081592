from __future__ import annotations

import pytest

from tests.kit import amd_gpu, judge, states
from tests.message_kit import finding_of, pasted

NAME = "built-for-other-target"


@pytest.mark.parametrize(
    ("name", "gfx"),
    [
        ("llama-b4730-bin-win-hip-x64-gfx1030", "gfx1103"),
        ("--index-url https://x.example/v2/gfx1151/", "gfx1152"),
        ("rocm-sdk-libraries-gfx110X-dgpu==7.12", "gfx1103"),
        ("rocm-sdk-libraries-gfx103X-dgpu==7.12", "gfx1035"),
    ],
)
def test_a_name_for_another_target(name: str, gfx: str) -> None:
    found = finding_of(NAME, f"{name} does not work on the GPU.", amd_gpu(gfx=gfx))
    assert found is not None
    assert (found.cause, found.confidence) == ("gpu-arch-not-built", "likely")
    assert gfx in found.message


@pytest.mark.parametrize(
    ("name", "gfx", "then"),
    [
        ("rocm-sdk-libraries-gfx110X-all==7.12", "gfx1103", "fails"),
        ("--index-url https://x.example/v2/gfx103X-dgpu/", "gfx1031", "fails"),
        ("--index-url https://x.example/v2/gfx103X-igpu/", "gfx1035", "fails"),
        ("--index-url https://x.example/v2/gfx90X-dcgpu/", "gfx90a", "fails"),
        ("llama-b4730-bin-win-hip-x64-gfx1030", "gfx1103", "runs"),
    ],
)
def test_the_own_family_or_no_failure_says_nothing(name: str, gfx: str, then: str) -> None:
    assert finding_of(NAME, f"{name} {then} on the GPU.", amd_gpu(gfx=gfx)) is None


def test_without_a_target_of_the_gpu_it_is_unknown() -> None:
    assert states(judge(NAME, pasted("win-hip-x64-gfx1030 fails"))) == ["unknown"]
