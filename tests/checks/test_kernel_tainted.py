from __future__ import annotations

import pytest

from rocdoctor.model.facts import Kernel
from tests.kit import amd_gpu, judge, k, machine, nvidia_gpu, severities, states, u

NAME = "kernel-tainted"


@pytest.mark.parametrize("taint", [0, 1 | 1 << 12 | 1 << 13, 1 << 9, 1 << 2])
def test_modules_and_warnings_are_normal(taint: int) -> None:
    assert states(judge(NAME, machine(nvidia_gpu(), kernel=Kernel(taint=k(taint))))) == ["pass"]


def test_serious_marks_are_named() -> None:
    of = machine(amd_gpu(), kernel=Kernel(taint=k(1 << 7 | 1 << 4 | 1 << 12)))
    (verdict,) = judge(NAME, of)
    assert verdict.finding is not None
    assert severities([verdict]) == ["info"]
    assert "machine check (M), oops (D)" in verdict.finding.message


def test_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, machine(amd_gpu(), kernel=Kernel(taint=u())))) == ["unknown"]
    assert states(judge(NAME, machine(kernel=Kernel(taint=k(1 << 7))))) == ["not-applicable"]
