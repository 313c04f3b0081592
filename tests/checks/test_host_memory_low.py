from __future__ import annotations

from rocdoctor.model.evidence import Fact
from rocdoctor.model.facts import Machine, Memory
from tests.kit import amd_gpu, judge, k, machine, severities, states, u

NAME = "host-memory-low"
GIB = 1 << 30


def host(total: Fact[int], left: int = 20 * GIB, integrated: bool = False) -> Machine:
    memory = Memory(total_bytes=total, available_bytes=k(left))
    return machine(amd_gpu(integrated=integrated, vram_bytes=24 * GIB), memory=memory)


def test_enough_passes() -> None:
    assert states(judge(NAME, host(k(32 * GIB)))) == ["pass"]


def test_less_than_the_gpu_is_a_note() -> None:
    (verdict,) = judge(NAME, host(k(16 * GIB)))
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert "16 GiB of main memory, less than the 24 GiB" in verdict.finding.message


def test_hardly_any_left_is_a_note() -> None:
    (verdict,) = judge(NAME, host(k(64 * GIB), GIB))
    assert verdict.finding is not None
    assert "Only 1 GiB of 64 GiB" in verdict.finding.message


def test_an_integrated_gpu_shares_main_memory() -> None:
    assert severities(judge(NAME, host(k(16 * GIB), integrated=True))) == []


def test_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, host(u()))) == ["unknown"]
    assert states(judge(NAME, machine(memory=Memory(total_bytes=k(GIB))))) == ["not-applicable"]
