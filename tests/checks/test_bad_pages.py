from __future__ import annotations

from tests.kit import amd_gpu, judge, machine, nvidia_gpu, severities, states

NAME = "bad-pages"


def test_no_bad_pages_pass() -> None:
    assert states(judge(NAME, machine(amd_gpu(bad_pages=0)))) == ["pass"]
    assert states(judge(NAME, machine(nvidia_gpu(bad_pages_pending=False, remap_failure=False)))) == ["pass"]


def test_retired_pages_are_handled_and_a_note() -> None:
    (verdict,) = judge(NAME, machine(nvidia_gpu(bad_pages=2, bad_pages_pending=False)))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("info", "")
    assert "2 memory pages were retired" in verdict.finding.message


def test_pending_pages_warn_and_ask_for_a_reset() -> None:
    (verdict,) = judge(NAME, machine(nvidia_gpu(bad_pages=2, bad_pages_pending=True)))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert verdict.finding.cause == "gpu-hardware-fault"
    assert verdict.finding.fix is not None
    assert "reset" in verdict.finding.fix.text


def test_a_failed_remapping_is_an_error() -> None:
    assert severities(judge(NAME, machine(nvidia_gpu(bad_pages_pending=True, remap_failure=True)))) == ["error"]


def test_nothing_read_is_unknown() -> None:
    assert states(judge(NAME, machine(amd_gpu()))) == ["unknown"]
    assert states(judge(NAME, machine())) == ["not-applicable"]


def test_any_of_the_three_counts_is_an_answer() -> None:
    assert states(judge(NAME, machine(nvidia_gpu(remap_failure=False)))) == ["pass"]
    assert states(judge(NAME, machine(nvidia_gpu(bad_pages_pending=False)))) == ["pass"]
