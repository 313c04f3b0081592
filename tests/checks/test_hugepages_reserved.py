from __future__ import annotations

from rocdoctor.model.facts import Machine, Memory
from tests.kit import amd_gpu, judge, k, machine, severities, states, u

NAME = "hugepages-reserved"
GIB = 1 << 30


def host(pages: int, left: int) -> Machine:
    memory = Memory(
        total_bytes=k(128 * GIB), available_bytes=k(left), hugepages_total=k(pages), hugepage_size_bytes=k(2 << 20)
    )
    return machine(amd_gpu(), memory=memory)


def test_none_or_a_small_part_passes() -> None:
    assert states(judge(NAME, host(0, GIB))) == ["pass"]
    assert states(judge(NAME, host(1024, GIB))) == ["pass"]


def test_a_host_of_virtual_machines_keeps_enough_for_itself() -> None:
    assert severities(judge(NAME, host(50 * 1024, 20 * GIB))) == ["info"]


def test_little_left_is_a_risk() -> None:
    (verdict,) = judge(NAME, host(60 * 1024, 4 * GIB))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "120 GiB of 128 GiB" in verdict.finding.message
    assert "4 GiB are left" in verdict.finding.message


def test_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, machine(amd_gpu(), memory=Memory(hugepages_total=u())))) == ["unknown"]
    assert states(judge(NAME, machine())) == ["not-applicable"]
