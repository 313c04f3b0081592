"""PCI files: transcribed from sysfs of a workstation card (uevent, modalias, resource, AER); paths are constructed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.parsers.kernel import pci, pci_link

UEVENT = """DRIVER=amdgpu
PCI_CLASS=30000
PCI_ID=1002:73BF
PCI_SUBSYS_ID=1DA2:440E
PCI_SLOT_NAME=0000:0c:00.0
MODALIAS=pci:v00001002d000073BFsv00001DA2sd0000440Ebc03sc00i00
"""
RESOURCE = """0x000000f800000000 0x000000fbffffffff 0x000000000014220c
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x000000fc00000000 0x000000fc0fffffff 0x000000000014220c
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x000000000000e000 0x000000000000e0ff 0x0000000000040101
0x00000000fcb00000 0x00000000fcbfffff 0x0000000000040200
0x00000000fcc00000 0x00000000fcc1ffff 0x0000000000046200
"""
AER = (
    "RxErr 12\nBadTLP 0\nBadDLLP 3\nRollover 0\nTimeout 0\nNonFatalErr 0\nCorrIntErr 0\nHeaderOF 0\nTOTAL_ERR_COR 15\n"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0000:03:00.0", "0000:03:00.0"),
        ("C3:00.0", "0000:c3:00.0"),
        ("00000000:3B:00.0", "0000:3b:00.0"),
        ("00010000:E1:00.0", "10000:e1:00.0"),
        ("pci@0000:41:00.1", "0000:41:00.1"),
        ("pci-0000:41:00.0", "0000:41:00.0"),
        ("PCI:10:0:0", "0000:0a:00.0"),
        ("PCI:3@1:0:0", "0001:03:00.0"),
        ("0000_c3_00_0", "0000:c3:00.0"),
        ("0002:04:00", "0002:04:00.0"),
        ("0000:03:20.0", None),
        ("0000:03:00.8", None),
        ("12:34:56", None),
        ("", None),
        (None, None),
        (3, None),
    ],
)
def test_addresses_in_any_spelling(text: object, expected: str | None) -> None:
    assert pci.parse_bdf(text) == expected


def test_nccl_packs_four_bits_a_digit() -> None:
    assert pci.parse_nccl_busid("3000") == "0000:03:00.0"
    assert pci.parse_nccl_busid("c1000") == "0000:c1:00.0"
    assert pci.parse_nccl_busid("101000") == "0001:01:00.0"
    assert pci.parse_nccl_busid("busId") is None


def test_uevent() -> None:
    found = pci.parse_uevent(UEVENT)
    assert found.driver == "amdgpu"
    assert found.pci_class == pci.PciClass(3, 0, 0)
    assert (found.vendor_id, found.device_id) == (0x1002, 0x73BF)
    assert (found.subsystem_vendor_id, found.subsystem_device_id) == (0x1DA2, 0x440E)
    assert found.address == "0000:0c:00.0"
    assert found.lines["address"] == 5
    assert found.lines["vendor_id"] == 3


def test_uevent_without_a_driver_or_of_another_bus() -> None:
    assert pci.parse_uevent("PCI_ID=1002:74A1\n").driver is None
    assert pci.parse_uevent("MAJOR=226\nMINOR=1\nDEVNAME=dri/card1\n") == pci.PciUevent()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0x030000", (3, 0, 0)),
        ("0x038000", (3, 0x80, 0)),
        ("0x120000", (0x12, 0, 0)),
        ("0x060400", (6, 4, 0)),
        ("30000", (3, 0, 0)),
        ("0302", (3, 2, None)),
        ("[1200]", (0x12, 0, None)),
        ("0207", (2, 7, None)),
        ("0x010802", (1, 8, 2)),
        ("0xff0000", (0xFF, 0, 0)),
    ],
)
def test_classes(text: str, expected: tuple[int, int, int | None]) -> None:
    assert pci.parse_class(text) == pci.PciClass(*expected)


def test_class_properties() -> None:
    accelerator = pci.parse_class("0x120000")
    bridge = pci.parse_class("0604")
    assert accelerator is not None
    assert accelerator.is_gpu_like
    assert not accelerator.is_display
    assert bridge is not None
    assert bridge.interface is None
    assert pci.parse_class("vga") is None


def test_ids() -> None:
    assert pci.parse_hex_id("0x1002\n") == 0x1002
    assert pci.parse_hex_id("73bf") == 0x73BF
    assert pci.parse_hex_id("0x123456") is None


def test_path_to_the_root_port() -> None:
    path = "/sys/devices/pci0000:00/0000:00:01.1/0000:01:00.0/0000:02:00.0/0000:03:00.0/drm/card0"
    assert pci.parse_device_path(path) == pci.PciPath("0000:00", ("0000:00:01.1", "0000:01:00.0", "0000:02:00.0"))


def test_paths_of_other_machines() -> None:
    power9 = pci.parse_device_path("/sys/devices/pci0004:00/0004:00:00.0/0004:04:00.0")
    assert power9 == pci.PciPath("0004:00", ("0004:00:00.0",))
    hyper_v = "/sys/devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/47505500-0001/pcic7f1:00/c7f1:00:00.0"
    assert pci.parse_device_path(hyper_v) == pci.PciPath("c7f1:00", ())
    vmd = pci.parse_device_path("/sys/devices/pci0000:80/0000:80:05.5/pci10000:00/10000:00:02.0/10000:01:00.0")
    assert vmd == pci.PciPath("0000:80", ("0000:80:05.5", "10000:00:02.0"))
    assert pci.parse_device_path("/sys/class/net/lo") == pci.PciPath(None, ())


def test_virtual_hardware() -> None:
    assert pci.is_virtual_bridge(0x1414) is True
    assert pci.is_virtual_bridge(0x1022) is False
    assert pci.is_virtual_bridge(None) is None
    # An Amazon card is no proof of a hypervisor: rented bare metal has them as well.
    assert pci.is_emulated_device(0x1D0F) is False
    assert pci.is_emulated_device(0x1AF4) is True


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("16.0 GT/s PCIe\n", 16.0),
        ("8 GT/s", 8.0),
        ("2.5 GT/s", 2.5),
        ("32.0 GT/s PCIe", 32.0),
        ("Unknown", None),
        ("Unknown speed", None),
        ("66 MHz PCI", None),
        ("8x AGP", None),
        ("17.3 GT/s", None),
        ("", None),
    ],
)
def test_link_speed(text: str, expected: float | None) -> None:
    assert pci_link.parse_link_speed(text) == expected


@pytest.mark.parametrize(("text", "expected"), [("16\n", 16), ("1", 1), ("0", None), ("255", None), ("", None)])
def test_link_width(text: str, expected: int | None) -> None:
    assert pci_link.parse_link_width(text) == expected


def test_numa_node() -> None:
    assert pci_link.parse_numa_node("1\n") == 1
    assert pci_link.parse_numa_node("0") == 0
    assert pci_link.parse_numa_node("-1\n") is None


def test_resource() -> None:
    regions = pci_link.parse_resource(RESOURCE)
    assert [one.index for one in regions] == [0, 2, 4, 5, 6]
    assert [one.size_bytes for one in regions] == [16 << 30, 256 << 20, 256, 1 << 20, 128 << 10]
    bar = pci_link.largest_memory_bar(regions)
    assert bar is not None
    assert (bar.index, bar.size_bytes, bar.line) == (0, 17179869184, 1)
    assert bar.prefetchable
    assert bar.is_64bit
    assert not regions[3].prefetchable


def test_a_bar_that_the_firmware_did_not_place() -> None:
    text = "0x0000000000000000 0x00000003ffffffff 0x000000002014220c\n"
    (region,) = pci_link.parse_resource(text)
    assert region.size_bytes == 16 << 30
    assert len(pci_link.parse_resource("0x000000f800000000 0x000000fbffffffff 0x000000002014220c\n")) == 1


def test_virtual_function_bars_are_not_the_devices_own() -> None:
    text = "\n" * 7 + "0x0000010000000000 0x000001ffffffffff 0x000000000014220c\n"
    assert pci_link.largest_memory_bar(pci_link.parse_resource(text)) is None


def test_aer() -> None:
    assert pci_link.parse_aer(AER) == 15
    assert pci_link.parse_aer(AER[:20]) is None
    assert pci_link.parse_aer("") is None


@given(st.integers(0, len(RESOURCE)))
def test_half_a_list_of_regions_has_a_largest_one_or_none(end: int) -> None:
    pci_link.largest_memory_bar(pci_link.parse_resource(RESOURCE[:end]))
