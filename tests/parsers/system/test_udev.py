"""Records of udev in the form of `udevadm info --export-db`: a Radeon's render node and its PCI device, shortened."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.parsers.system.udev import device_of_node, parse_udevadm, pci_device_of

SLOT = "/devices/pci0000:00/0000:00:01.1/0000:03:00.0"
EXPORT = f"""\
P: /devices/pci0000:00/0000:00:01.1
M: 0000:00:01.1
E: SUBSYSTEM=pci
E: DRIVER=pcieport

P: {SLOT}
M: 0000:03:00.0
V: amdgpu
E: DEVPATH={SLOT}
E: DRIVER=amdgpu
E: SUBSYSTEM=pci

P: {SLOT}/drm/renderD128
N: dri/renderD128
S: dri/by-path/pci-0000:03:00.0-render
E: DEVNAME=/dev/dri/renderD128
E: ID_PATH=pci-0000:03:00.0
E: TAGS=:seat:master-of-seat:uaccess:
E: CURRENT_TAGS=:seat:uaccess:
E: SUBSYSTEM=drm
"""


def test_a_node_has_its_tags_its_seat_and_its_pci_device() -> None:
    devices = parse_udevadm(EXPORT)
    node = device_of_node(devices, "/dev/dri/renderD128")
    assert node is not None
    assert (node.tags, node.tags_line, node.seat) == (("seat", "uaccess"), 19, "seat0")
    assert (node.properties["ID_PATH"], node.lines["ID_PATH"]) == ("pci-0000:03:00.0", 17)
    slot = pci_device_of(devices, node)
    assert slot is not None
    assert (slot.path, slot.properties["DRIVER"]) == (SLOT, "amdgpu"), "the nearest one, not the bridge above it"
    assert device_of_node(devices, "/dev/kfd") is None
    assert pci_device_of(devices, devices[0]) is None


def test_an_old_udev_has_no_current_tags_and_a_device_may_have_none() -> None:
    old, bare = parse_udevadm("P: /devices/a\nE: TAGS=:uaccess:\nE: ID_SEAT=seat-2\n\nP: /devices/b\n")
    assert (old.tags, old.seat) == (("uaccess",), "seat-2")
    assert (bare.tags, bare.tags_line, bare.seat) == ((), 5, None)


def test_a_seat_is_a_plain_word() -> None:
    for hostile in ("seat0; rm", "seat0 `id`", "$(id)", "table0", "seat" + "x" * 99):
        (device,) = parse_udevadm(f"P: /devices/a\nE: TAGS=:seat:\nE: ID_SEAT={hostile}\n")
        assert device.seat is None, hostile


@given(st.text())
def test_any_text_never_raises(text: str) -> None:
    for device in (*parse_udevadm(text), *parse_udevadm(f"P: {text}\nE: TAGS={text}\nE: ID_SEAT={text}")):
        assert isinstance(device.tags, tuple)
        assert device.seat is None or device.seat.startswith("seat")
