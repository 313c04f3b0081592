from __future__ import annotations

from tests.kit import amd_gpu, judge, machine, states

NAME = "apu-carve-out"


def test_a_small_carve_out_is_a_note_with_both_sizes() -> None:
    (verdict,) = judge(NAME, machine(amd_gpu(integrated=True, vram_bytes=512 << 20, gtt_bytes=31 << 30)))
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert "0.5 GiB" in verdict.finding.message
    assert "31 GiB" in verdict.finding.message


def test_a_big_carve_out_passes_and_a_discrete_card_is_not_judged() -> None:
    assert states(judge(NAME, machine(amd_gpu(integrated=True, vram_bytes=96 << 30, gtt_bytes=16 << 30)))) == ["pass"]
    assert states(judge(NAME, machine(amd_gpu(gtt_bytes=500 << 30)))) == ["not-applicable"]


def test_an_unknown_size_is_unknown() -> None:
    assert states(judge(NAME, machine(amd_gpu(integrated=True)))) == ["unknown"]
    assert states(judge(NAME, machine())) == ["not-applicable"]
