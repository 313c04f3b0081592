from __future__ import annotations

from tests.kit import amd_gpu, environment, judge, machine, nvidia_gpu, severities, states, u
from tests.message_kit import messages

NAME = "mixed-gpu-architectures"


def test_unlike_amd_and_unlike_nvidia_gpus_are_notes() -> None:
    (verdict,) = judge(NAME, machine(amd_gpu(), amd_gpu(1, gfx="gfx1030"), amd_gpu(2)))
    assert verdict.finding is not None
    assert verdict.finding.severity == "info"
    assert "one GPU gfx1030, two GPUs gfx90a" in verdict.finding.message
    assert severities(judge(NAME, machine(nvidia_gpu(), nvidia_gpu(1, compute_capability="8.0")))) == ["info"]


def test_equal_gpus_two_vendors_and_an_integrated_gpu_are_silent() -> None:
    assert states(judge(NAME, machine(amd_gpu(), amd_gpu(1)))) == ["pass"]
    assert states(judge(NAME, machine(amd_gpu(), nvidia_gpu()))) == ["pass"]
    assert states(judge(NAME, machine(amd_gpu(), amd_gpu(1), amd_gpu(2, gfx="gfx1036", integrated=True)))) == ["pass"]
    reserved = machine(amd_gpu(), amd_gpu(1), amd_gpu(2, gfx="gfx1030", driver="vfio-pci"))
    assert states(judge(NAME, reserved)) == ["pass"]


def test_unknown_and_not_applicable() -> None:
    assert states(judge(NAME, machine(amd_gpu(), amd_gpu(1, gfx=u())))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu()))) == ["not-applicable"]


def test_unlike_cards_are_suspected_where_programs_crash() -> None:
    crash = messages("Segmentation fault (core dumped)")
    cards = (amd_gpu(), amd_gpu(1, gfx="gfx1030"))
    (verdict,) = judge(NAME, machine(*cards, messages=crash))
    assert verdict.finding is not None
    assert (verdict.finding.cause, verdict.finding.confidence) == ("mixed-gpu-archs", "possible")
    chosen = environment({"HIP_VISIBLE_DEVICES": "0"})
    assert severities(judge(NAME, machine(*cards, messages=crash, environment=chosen))) == ["info"]
    released = messages("Segmentation fault, bisected to commit 1a2b3c4d")
    assert severities(judge(NAME, machine(*cards, messages=released))) == ["info"]
