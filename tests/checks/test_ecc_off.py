from __future__ import annotations

from tests.kit import judge, machine, nvidia_gpu, severities, states, u

NAME = "ecc-off"


def test_on_passes() -> None:
    assert states(judge(NAME, machine(nvidia_gpu(ecc_enabled=True, ecc_pending=True)))) == ["pass"]
    assert states(judge(NAME, machine(nvidia_gpu(ecc_enabled=True)))) == ["pass"]


def test_off_on_a_data_center_gpu_is_worth_knowing() -> None:
    (verdict,) = judge(NAME, machine(nvidia_gpu(ecc_enabled=False, ecc_pending=False, smi_index=2)))
    assert verdict.finding is not None and verdict.finding.fix is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("info", "")
    assert "ECC is off" in verdict.finding.message
    assert verdict.finding.fix.command == "sudo nvidia-smi -i 2 -e 1"


def test_a_pending_change_is_told_on_any_gpu() -> None:
    for now, words in ((True, "ECC is on and will be off"), (False, "ECC is off and will be on")):
        (verdict,) = judge(NAME, machine(nvidia_gpu(name="NVIDIA RTX A6000", ecc_enabled=now, ecc_pending=not now)))
        assert verdict.finding is not None and verdict.finding.severity == "info"
        assert words in verdict.finding.message


def test_workstation_cards_are_delivered_with_it_off() -> None:
    assert severities(judge(NAME, machine(nvidia_gpu(name="NVIDIA RTX A6000", ecc_enabled=False)))) == []


def test_cards_without_ecc_and_unread_modes() -> None:
    assert states(judge(NAME, machine(nvidia_gpu(name="NVIDIA GeForce RTX 3080")))) == ["not-applicable"]
    assert states(judge(NAME, machine(nvidia_gpu(ecc_enabled=u())))) == ["unknown"]
