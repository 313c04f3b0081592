from __future__ import annotations

from dataclasses import replace
from typing import Any

from rocdoctor.model.facts import Container, Gpu, LinkState, Machine
from rocdoctor.model.finding import Verdict
from tests.kit import amd_gpu, judge, k, machine, nvidia_gpu, severities, states
from tests.pcie_kit import board, hop, link, path


def _on(of: Machine) -> list[Verdict]:
    return judge("pcie-link-narrow", of)


def _radeon(slot: LinkState, root: LinkState | None = None, index: int = 0, **changes: Any) -> Gpu:
    return amd_gpu(index, pci_id="1002:73bf", gfx="gfx1030", pcie=board(slot, root, **changes))


def test_full_width_passes_and_a_card_built_with_eight_lanes_too() -> None:
    assert states(_on(machine(_radeon(link(16))))) == ["pass"]
    assert states(_on(machine(_radeon(link(8, 8), link(8, 16))))) == ["pass"]
    assert states(_on(machine(nvidia_gpu(pcie=path(link(8, 8)))))) == ["pass"]


def test_four_lanes_where_both_ends_have_sixteen_is_a_warning_with_both_figures() -> None:
    (verdict,) = _on(machine(_radeon(link(4))))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "width of x4, although both ends of the link can do x16" in verdict.finding.message
    assert verdict.finding.cause == "pcie-link-degraded"
    assert verdict.finding.confidence == "certain"


def test_eight_of_sixteen_is_a_note_on_a_desktop_and_a_warning_beside_wider_equals_or_in_a_server() -> None:
    assert severities(_on(machine(_radeon(link(8))))) == ["info"]
    mixed = machine(_radeon(link(8)), _radeon(link(16), index=1))
    assert severities(_on(mixed)) == ["warning"]
    alike = machine(_radeon(link(8)), _radeon(link(8), index=1))
    assert severities(_on(alike)) == ["info", "info"]
    assert severities(_on(machine(amd_gpu(pcie=board(link(8)))))) == ["warning"]


def test_the_uplink_of_a_switch_counts_too() -> None:
    uplink = path(link(), hop("0000:00:01.0", link(4)), hop("0000:01:00.0", link(4)), hop("0000:02:00.0"))
    assert severities(_on(machine(nvidia_gpu(pcie=uplink)))) == ["warning"]


def test_the_card_alone_is_noted_below_eight_lanes_only() -> None:
    old = amd_gpu(pci_id="1002:6617", gfx="gfx601", pcie=path(link(4, 8)))
    (verdict,) = _on(machine(old))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.cause) == ("info", "")
    assert states(_on(machine(nvidia_gpu(pcie=path(link(8, 16)))))) == ["unknown"]


def test_one_lane_is_narrow_whatever_else_is_unknown() -> None:
    alone = amd_gpu(pci_id="1002:6818", gfx="gfx600", pcie=path(link(1, None)))
    (verdict,) = _on(machine(alone))
    assert verdict.finding is not None
    assert verdict.finding.severity == "warning"
    assert "width of x1" in verdict.finding.message
    riser = _radeon(link(1), link(1, 1))
    assert severities(_on(machine(riser))) == ["warning"]


def test_a_slot_with_few_lanes_is_a_note() -> None:
    assert severities(_on(machine(_radeon(link(4), link(4, 4))))) == ["info"]
    assert states(_on(machine(_radeon(link(8), link(8, 8))))) == ["pass"]


def test_laptops_and_enclosures_get_a_note_and_guests_no_verdict() -> None:
    narrow = _radeon(link(4))
    assert severities(_on(machine(narrow, laptop=k(True)))) == ["info"]
    outside = replace(narrow, pcie=board(link(4), removable=k("removable")))
    assert severities(_on(machine(outside))) == ["info"]
    guest = machine(nvidia_gpu(pcie=path(link(1))), container=Container(virtual_machine=k("kvm")))
    assert states(_on(guest)) == ["not-applicable"]
    assert states(_on(machine(nvidia_gpu(bdf="0000:00:1e.0", pcie=path(link(8)))))) == ["not-applicable"]


def test_the_link_inside_a_card_says_nothing_of_the_slot() -> None:
    assert states(_on(machine(amd_gpu(pci_id="1002:73ff", gfx="gfx1032", pcie=path(link(16)))))) == ["unknown"]
    arc = replace(amd_gpu(pci_id="8086:e20b", gfx=k("xe"), pcie=path(link(1, 1, 2.5, 2.5))), vendor="intel")
    assert states(_on(machine(arc))) == ["unknown"]
    inside = board(link(16), inside=link(1, 1, 2.5, 2.5))
    hops = tuple(replace(one, vendor_id=k("8086")) for one in inside.hops)
    assert states(_on(machine(replace(arc, pcie=replace(inside, hops=hops))))) == ["pass"]


def test_unknown_and_not_applicable() -> None:
    assert states(_on(machine(nvidia_gpu()))) == ["unknown"]
    assert states(_on(machine(nvidia_gpu(pcie=path(link(4)), runtime_status="suspended")))) == ["unknown"]
    assert states(_on(machine())) == ["not-applicable"]
    assert states(_on(machine(amd_gpu(integrated=True, pcie=path(link(1)))))) == ["not-applicable"]
    disagreeing = path(link(4), hop("0000:00:01.0", link(16)))
    assert states(_on(machine(nvidia_gpu(pcie=disagreeing)))) == ["unknown"]


def test_a_card_with_a_switch_that_shows_itself_narrow_is_believed() -> None:
    narrow = amd_gpu(pci_id="1002:73ff", gfx="gfx1032", pcie=path(link(4, 16)))
    assert severities(_on(machine(narrow))) == ["info"]  # in an M.2 slot or an enclosure it is all there is
    fewer = amd_gpu(pci_id="1002:73ff", gfx="gfx1032", pcie=path(link(1, 16)))
    assert severities(_on(machine(fewer))) == ["warning"]


def test_the_lanes_of_the_slot_alone_do_not_tell_what_the_card_has() -> None:
    assert states(_on(machine(nvidia_gpu(pcie=path(link(8, None), hop("0000:00:01.0", link(8))))))) == ["unknown"]


def test_a_card_without_outputs_counts_as_a_server_card_outside_laptops_only() -> None:
    half = nvidia_gpu(pci_class="030200", pcie=path(link(8), hop("0000:00:01.0", link(8))))
    assert severities(_on(machine(half, laptop=k(False)))) == ["warning"]
    assert severities(_on(machine(half))) == ["info"]
