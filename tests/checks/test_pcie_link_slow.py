from __future__ import annotations

from typing import Any

from rocdoctor.model.facts import Container, Gpu, LinkState, Machine
from rocdoctor.model.finding import Verdict
from tests.kit import amd_gpu, judge, k, machine, nvidia_gpu, severities, states
from tests.message_kit import finding_of
from tests.pcie_kit import board, link, path


def _on(of: Machine) -> list[Verdict]:
    return judge("pcie-link-slow", of)


def _radeon(slot: LinkState, root: LinkState | None = None, **changes: Any) -> Gpu:
    return amd_gpu(pci_id="1002:73bf", gfx="gfx1030", pcie=board(slot, root), **changes)


def test_full_speed_passes_and_so_does_a_fast_card_in_an_older_slot() -> None:
    assert states(_on(machine(_radeon(link())))) == ["pass"]
    assert states(_on(machine(_radeon(link(speed=8.0), link(speed=8.0, max_speed=8.0), busy_percent=99)))) == ["pass"]


def test_a_slow_link_of_a_busy_gpu_is_a_warning() -> None:
    (verdict,) = _on(machine(_radeon(link(speed=2.5), busy_percent=97)))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.confidence) == ("warning", "likely")
    assert "2.5 GT/s" in verdict.finding.message
    assert "16 GT/s" in verdict.finding.message


def test_an_idle_gpu_or_an_unknown_load_is_never_accused() -> None:
    slow = link(speed=2.5)
    assert states(_on(machine(_radeon(slow, busy_percent=0)))) == ["unknown"]
    assert states(_on(machine(_radeon(slow)))) == ["unknown"]


def test_the_maximum_of_the_card_alone_does_not_tell_the_slot() -> None:
    alone = nvidia_gpu(pcie=path(link(speed=8.0, max_speed=32.0)), busy_percent=90)
    assert states(_on(machine(alone))) == ["unknown"]
    inside = amd_gpu(pci_id="1002:73ff", gfx="gfx1032", pcie=path(link()), busy_percent=90)
    assert states(_on(machine(inside))) == ["unknown"]


def test_the_maximum_of_nvidia_smi_counts_the_slot_in() -> None:
    pcie = path(LinkState(k(2.5), k(16), k(16.0, "run nvidia-smi -q -x"), k(16)))
    assert severities(_on(machine(nvidia_gpu(pcie=pcie, busy_percent=90)))) == ["warning"]


def test_guests_enclosures_and_sleepers() -> None:
    slow = _radeon(link(speed=2.5), busy_percent=97)
    assert states(_on(machine(slow, container=Container(virtual_machine=k("kvm"))))) == ["not-applicable"]
    outside = amd_gpu(pcie=board(link(speed=2.5), removable=k("removable")), busy_percent=97)
    assert states(_on(machine(outside))) == ["not-applicable"]
    assert states(_on(machine(_radeon(link(speed=2.5), runtime_status="suspended")))) == ["unknown"]
    assert states(_on(machine())) == ["not-applicable"]


def test_a_laptop_that_saves_power_is_a_note() -> None:
    (verdict,) = _on(machine(_radeon(link(speed=8.0), busy_percent=97), laptop=k(True)))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("info", "")


def test_a_slow_link_beside_a_fast_one_is_possible_where_somebody_finds_the_card_slow() -> None:
    slow, fast = link(speed=2.5, max_speed=8.0), link(speed=8.0, max_speed=8.0)
    cards = (amd_gpu(0, gfx="gfx803", pcie=path(slow)), amd_gpu(1, gfx="gfx900", pcie=path(fast)))
    quiet, told = "The driver is loaded.", "Gromacs is much slower on this card than before."
    found = finding_of("pcie-link-slow", told, *cards)
    assert found is not None
    assert (found.severity, found.confidence) == ("warning", "possible")
    assert finding_of("pcie-link-slow", quiet, *cards) is None
    alone = finding_of("pcie-link-slow", told, cards[0])
    assert alone is not None
    assert alone.severity == "info"
