from __future__ import annotations

from tests.kit import amd_gpu, judge, k, machine, nvidia_gpu, severities, states

NAME = "performance-level-not-auto"


def test_auto_in_every_spelling_passes() -> None:
    for level in ("auto", "AUTO", "AMDSMI_DEV_PERF_LEVEL_AUTO", "perf_determinism"):
        assert states(judge(NAME, machine(amd_gpu(performance_level=level)))) == ["pass"]


def test_low_keeps_the_card_slow_and_warns() -> None:
    for level in ("low", "AMDSMI_DEV_PERF_LEVEL_LOW", "profile_min_sclk"):
        (verdict,) = judge(NAME, machine(amd_gpu(performance_level=level)))
        assert verdict.finding is not None
        assert verdict.finding.severity == "warning"
        assert verdict.finding.cause == "thermal-or-power-limit"
        assert "lowest" in verdict.finding.message


def test_low_in_a_laptop_or_an_apu_is_a_note() -> None:
    assert severities(judge(NAME, machine(amd_gpu(performance_level="low"), laptop=k(True)))) == ["info"]
    assert severities(judge(NAME, machine(amd_gpu(performance_level="low", integrated=True)))) == ["info"]


def test_high_manual_and_profiles_are_notes_without_a_cause() -> None:
    for level in ("high", "manual", "profile_peak", "profile_standard"):
        (verdict,) = judge(NAME, machine(amd_gpu(performance_level=level)))
        assert verdict.finding is not None
        assert (verdict.finding.severity, verdict.finding.cause) == ("info", "")
        assert level in verdict.finding.message


def test_an_unread_level_is_unknown_and_nvidia_has_none() -> None:
    assert states(judge(NAME, machine(amd_gpu()))) == ["unknown"]
    assert states(judge(NAME, machine(nvidia_gpu(performance_level="P8")))) == ["not-applicable"]
