from __future__ import annotations

from rocdoctor.model.evidence import Fact
from rocdoctor.model.facts import Machine, Memory
from tests.kit import amd_gpu, judge, k, machine, severities, states, u

NAME = "cgroup-memory-limit"
GIB = 1 << 30


def host(limit: Fact[int | None], total: int = 512 * GIB, vram: int = 64 * GIB) -> Machine:
    return machine(amd_gpu(vram_bytes=vram), memory=Memory(total_bytes=k(total), cgroup_limit_bytes=limit))


def test_no_limit_or_a_fair_share_passes() -> None:
    assert states(judge(NAME, host(k(None)))) == ["pass"]
    assert states(judge(NAME, host(k(64 * GIB)))) == ["pass"]
    assert states(judge(NAME, host(k(31 * GIB), total=32 * GIB))) == ["pass"]  # nearly all of the machine


def test_less_than_a_gpu_holds_is_a_note() -> None:
    (verdict,) = judge(NAME, host(k(16 * GIB)))
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert "16 GiB of main memory of the machine's 512 GiB, less than the 64 GiB of one GPU" in verdict.finding.message


def test_very_little_is_a_note_whatever_the_gpu() -> None:
    assert severities(judge(NAME, host(k(6 * GIB), vram=4 * GIB))) == ["info"]


def test_an_integrated_gpu_sets_no_measure() -> None:
    shared = amd_gpu(vram_bytes=96 * GIB, integrated=True)
    memory = Memory(total_bytes=k(128 * GIB), cgroup_limit_bytes=k(64 * GIB))
    assert states(judge(NAME, machine(shared, memory=memory))) == ["pass"]


def test_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, host(u()))) == ["unknown"]
    assert states(judge(NAME, machine(memory=Memory(cgroup_limit_bytes=k(GIB))))) == ["not-applicable"]
