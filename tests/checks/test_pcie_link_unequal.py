from __future__ import annotations

from rocdoctor.model.facts import Gpu, GpuLink, LinkState, Machine
from rocdoctor.model.finding import Verdict
from tests.kit import amd_gpu, judge, machine, nvidia_gpu, severities, states
from tests.pcie_kit import board, link, path


def _on(of: Machine) -> list[Verdict]:
    return judge("pcie-link-unequal", of)


def _radeon(index: int, root: LinkState) -> Gpu:
    return amd_gpu(index, pci_id="1002:73bf", gfx="gfx1030", pcie=board(link(), root))


def test_equal_slots_pass_also_when_one_of_them_idles() -> None:
    idle = _radeon(1, link(16, 16, 2.5, 16.0))
    assert states(_on(machine(_radeon(0, link()), idle))) == ["pass", "pass"]


def test_a_quarter_of_the_bandwidth_is_a_warning_and_half_of_it_a_note() -> None:
    verdicts = _on(machine(_radeon(0, link()), _radeon(1, link(4, 4))))
    assert states(verdicts) == ["pass", "fail"]
    finding = verdicts[1].finding
    assert finding is not None
    assert finding.severity == "warning"
    assert "16 GT/s x4" in finding.message
    assert "16 GT/s x16" in finding.message
    half = _on(machine(_radeon(0, link()), _radeon(1, link(8, 8))))
    assert severities(half) == ["info"]
    assert half[1].finding is not None
    assert half[1].finding.cause == ""


def test_with_xgmi_between_them_it_is_a_note() -> None:
    linked = machine(_radeon(0, link()), _radeon(1, link(4, 4)), links=(GpuLink(0, 1, "xgmi"),))
    assert severities(_on(linked)) == ["info"]


def test_unlike_cards_and_unknown_paths() -> None:
    assert states(_on(machine(amd_gpu(0), nvidia_gpu(1)))) == ["not-applicable", "not-applicable"]
    assert states(_on(machine(amd_gpu(0), amd_gpu(1)))) == ["unknown", "unknown"]
    assert states(_on(machine(nvidia_gpu(0), nvidia_gpu(1)))) == ["unknown", "unknown"]
    known_path = nvidia_gpu(0, pcie=board(link(), link(4, 4)))
    assert states(_on(machine(known_path, nvidia_gpu(1, pcie=path(link()))))) == ["pass", "pass"]
    assert states(_on(machine())) == ["not-applicable"]
