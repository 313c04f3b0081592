from __future__ import annotations

from rocdoctor.model.facts import Machine, Memory
from tests.kit import amd_gpu, judge, k, machine, severities, states, u

NAME = "swap-heavy"
GIB = 1 << 30


def host(swap: int, free: int, left: int) -> Machine:
    memory = Memory(total_bytes=k(64 * GIB), available_bytes=k(left), swap_total_bytes=k(swap), swap_free_bytes=k(free))
    return machine(amd_gpu(), memory=memory)


def test_no_swap_or_little_use_passes() -> None:
    assert states(judge(NAME, host(0, 0, GIB))) == ["pass"]
    assert states(judge(NAME, host(8 * GIB, 4 * GIB, GIB))) == ["pass"]


def test_a_full_swap_with_memory_to_spare_is_healthy() -> None:
    assert severities(judge(NAME, host(8 * GIB, 0, 40 * GIB))) == []


def test_a_full_swap_and_no_memory_is_a_risk() -> None:
    (verdict,) = judge(NAME, host(8 * GIB, 0, GIB))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "8 GiB of 8 GiB" in verdict.finding.message


def test_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, machine(amd_gpu(), memory=Memory(swap_total_bytes=u())))) == ["unknown"]
    assert states(judge(NAME, machine())) == ["not-applicable"]
