from __future__ import annotations

from rocdoctor.insight.links.pcie_path import (
    capable,
    ends_at_the_card,
    equal_gpus,
    has_board_switch,
    hypervisor_sign,
    narrowest,
    path_links,
    slot_links,
    wired_on_purpose,
)
from rocdoctor.model.evidence import Known, Unknown, value_or
from rocdoctor.model.facts import Container
from tests.kit import amd_gpu, k, machine, nvidia_gpu
from tests.pcie_kit import board, hop, link, path


def test_links_are_pairs_of_ends_from_the_gpu_upwards() -> None:
    through_a_switch = path(link(16), hop("0000:00:01.0", link(8)), hop("0000:01:00.0", link(8)), hop("0000:02:00.0"))
    links = path_links(through_a_switch)
    assert [value_or(one.width, None) for one in links] == [16, 8]
    assert [one.upper.bdf if one.upper else None for one in links] == ["0000:02:00.0", "0000:00:01.0"]


def test_a_switch_whose_port_above_is_not_shown_keeps_its_own_end() -> None:
    links = path_links(path(link(16), hop("0000:01:00.0", link(4)), hop("0000:02:00.0")))
    assert [value_or(one.width, None) for one in links] == [16, 4]
    assert links[1].upper is None
    assert not links[1].both_ends


def test_the_link_inside_a_card_is_no_link_of_the_slot() -> None:
    radeon = amd_gpu(pci_id="1002:73bf", gfx="gfx1030", pcie=board(link(4)))
    assert [value_or(one.width, None) for one in slot_links(radeon)] == [4]
    assert narrowest(radeon) == k(4)


def test_ends_that_disagree_make_the_state_unknown_but_not_the_capability() -> None:
    (one,) = path_links(path(link(16, 16), hop("0000:00:01.0", link(8, 8))))
    assert isinstance(one.width, Unknown)
    assert value_or(one.capable_width, 0) == 8
    assert one.both_ends


def test_which_boards_hold_a_switch() -> None:
    assert has_board_switch(amd_gpu(pci_id="1002:73ff", gfx="gfx1032"))
    assert has_board_switch(amd_gpu(pci_id="1002:687f", gfx="gfx900"))
    assert not has_board_switch(amd_gpu(pci_id="1002:67df", gfx="gfx803"))
    assert not has_board_switch(amd_gpu(pci_id="1002:6818", gfx="gfx600"))
    assert not has_board_switch(nvidia_gpu())
    assert ends_at_the_card(amd_gpu(pci_id="1002:73ff", gfx="gfx1032"))
    assert not ends_at_the_card(amd_gpu(pci_id="1002:73ff", gfx="gfx1032", pcie=board(link())))


def test_signs_of_a_hypervisor() -> None:
    gpu = nvidia_gpu()
    assert hypervisor_sign(machine(gpu), gpu) is None
    assert hypervisor_sign(machine(gpu, container=Container(virtual_machine=k(None))), gpu) is None
    assert "kvm" in (hypervisor_sign(machine(gpu, container=Container(virtual_machine=k("kvm"))), gpu) or "")
    assert hypervisor_sign(machine(), nvidia_gpu(bdf="0000:00:1e.0"))
    assert hypervisor_sign(machine(), nvidia_gpu(pcie=path(link(), hop("0000:00:02.0", virtual=True))))
    assert hypervisor_sign(machine(), amd_gpu(bdf="0000:00:02.0", integrated=True)) is None


def test_laptops_and_enclosures_are_wired_on_purpose() -> None:
    assert wired_on_purpose(machine(laptop=k(True)), amd_gpu()) == "laptop"
    assert wired_on_purpose(machine(), nvidia_gpu(name="NVIDIA GeForce RTX 4070 Laptop GPU")) == "laptop"
    assert wired_on_purpose(machine(), amd_gpu(pcie=path(link(), removable=k("removable")))) == "external enclosure"
    assert wired_on_purpose(machine(), amd_gpu(pcie=path(link(), removable=k("fixed")))) is None


def test_equal_gpus_share_vendor_and_device_id() -> None:
    one, two, other = amd_gpu(0), amd_gpu(1), amd_gpu(2, pci_id="1002:744c")
    assert equal_gpus(machine(one, two, other), one) == [two]


def test_what_a_path_can_do_is_its_weakest_link() -> None:
    gpu = nvidia_gpu(pcie=path(link(), hop("0000:00:01.0", link(4, 4, 2.5, 8.0))))
    lanes, speed = capable(gpu)
    assert isinstance(lanes, Known)
    assert (lanes.value, value_or(speed, 0.0)) == (4, 8.0)
