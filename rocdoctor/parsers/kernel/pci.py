"""Which PCI device this is: addresses, ids, classes, uevent and the path to the root port.

Formats: drivers/pci/pci-sysfs.c and Documentation/ABI/testing/sysfs-bus-pci of the kernel.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import format_pci, hex_int, lines_of, pci_address, value_of

_MAX_COMPONENTS = 64

_BDF_COMPONENT = regex(r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]\Z")
_ROOT_COMPONENT = regex(r"pci([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2})\Z")
_XORG = regex(r"PCI:([0-9]{1,3})(?:@([0-9]{1,5}))?:([0-9]{1,2}):([0-7])\Z", re.IGNORECASE)
_NO_FUNCTION = regex(r"(?:([0-9a-fA-F]{4,8}):)([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\Z")
_UNDERSCORED = regex(r"([0-9a-fA-F]{4,8})[_-]([0-9a-fA-F]{2})[_-]([0-9a-fA-F]{2})[_.-]([0-7])\Z")
_ID_PAIR = regex(r"([0-9A-Fa-f]{1,4}):([0-9A-Fa-f]{1,4})\Z")

# Vendors whose devices exist only where a hypervisor or a cloud provides them (pci.ids).
_VIRTUAL_VENDORS = {
    0x1B36: "QEMU",
    0x1234: "QEMU",
    0x1AF4: "Red Hat virtio",
    0x15AD: "VMware",
    0x1414: "Microsoft Hyper-V",
    0x1D0F: "Amazon",
    0x1AE0: "Google",
    0x80EE: "VirtualBox",
    0x5853: "Xen",
    0x1AB8: "Parallels",
}
_ALSO_REAL_HARDWARE = frozenset({0x1414, 0x1D0F, 0x1AE0})


@dataclass(frozen=True, slots=True)
class PciClass:
    """A PCI class: ``base``, ``subclass``, ``interface`` (None in a 16-bit code)."""

    base: int
    subclass: int
    interface: int | None

    @property
    def is_display(self) -> bool:
        """VGA, 3D and other display controllers."""
        return self.base == 0x03

    @property
    def is_gpu_like(self) -> bool:
        """Display controllers and processing accelerators; whether it is a GPU the vendor decides."""
        return self.base in (0x03, 0x12)


@dataclass(frozen=True, slots=True)
class PciUevent:
    """The uevent file of a PCI device; ``lines`` has the line of each field."""

    driver: str | None = None
    pci_class: PciClass | None = None
    vendor_id: int | None = None
    device_id: int | None = None
    subsystem_vendor_id: int | None = None
    subsystem_device_id: int | None = None
    address: str | None = None
    lines: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PciPath:
    """Where a device hangs: ``root`` is "0000:00", ``bridges`` from the root port down."""

    root: str | None
    bridges: tuple[str, ...]


def parse_bdf(text: object) -> str | None:
    """A PCI address in any spelling as "0000:03:00.0".

    Understood: with and without domain, 8-digit domains, upper case, "pci@0000:03:00.0", "pci-0000:03:00.0",
    Xorg's decimal "PCI:3@0:0:0", "0000_03_00_0", and "0000:03:00" (function 0). No address is None.
    """
    if not isinstance(text, str):
        return None
    return _bdf(text.strip()[:512])


@lru_cache(maxsize=4096)  # a machine names each of its devices dozens of times
def _bdf(word: str) -> str | None:
    if match := _XORG.match(word):
        bus, domain, device, function = match.groups()
        return format_pci(int(domain or "0"), int(bus), int(device), int(function))
    if found := pci_address(word):
        return found
    for pattern in (_NO_FUNCTION, _UNDERSCORED):
        if match := pattern.match(word):
            parts = [int(part, 16) for part in match.groups()]
            return format_pci(parts[0], parts[1], parts[2], parts[3] if len(parts) > 3 else 0)
    return None


def parse_nccl_busid(text: object) -> str | None:
    """The address in NCCL's packed "busId 3000": domain << 20 | bus << 12 | device << 4 | function, in hexadecimal."""
    value = hex_int(text)
    if value is None or value < 0:
        return None
    return format_pci(value >> 20, (value >> 12) & 0xFF, (value >> 4) & 0xFF, value & 0xF)


def parse_hex_id(text: str) -> int | None:
    """The number in ``vendor``, ``device``, ``subsystem_*``, ``revision`` ("0x1002" or "1002", always hexadecimal)."""
    value = value_of(text)
    number = hex_int(value) if value is not None else None
    return number if number is not None and 0 <= number <= 0xFFFF else None


def parse_class(text: object) -> PciClass | None:
    """A class from "0x030000", "030000", "30000" (24 bits) or from "0300", "[0302]" (16 bits, at most 4 digits)."""
    if not isinstance(text, str):
        return None
    word = text.strip().strip("[]").strip()
    number = hex_int(word)
    if number is None or number < 0:
        return None
    digits = len(word.lower().removeprefix("0x"))
    if digits <= 4:
        return _pci_class(number << 8, False)
    return _pci_class(number, True) if number <= 0xFFFFFF else None


def _pci_class(code: int, has_interface: bool) -> PciClass:
    base, subclass = code >> 16, (code >> 8) & 0xFF
    return PciClass(base, subclass, code & 0xFF if has_interface else None)


def parse_uevent(text: str) -> PciUevent:
    """The uevent file of a PCI device: "PCI_ID=1002:73BF" and the like."""
    found: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(lines_of(text, 1000), start=1):
        key, separator, value = line.partition("=")
        if separator and value_of(value) is not None:
            found.setdefault(key.strip(), (value.strip(), number))
    vendor_id, device_id = _id_pair(found, "PCI_ID")
    subsystem_vendor_id, subsystem_device_id = _id_pair(found, "PCI_SUBSYS_ID")
    # The kernel prints %04X: leading zeros are missing, so the number of digits says nothing here.
    class_code = hex_int(found["PCI_CLASS"][0]) if "PCI_CLASS" in found else None
    return PciUevent(
        driver=found["DRIVER"][0] if "DRIVER" in found else None,
        pci_class=_pci_class(class_code, True) if class_code is not None and 0 <= class_code <= 0xFFFFFF else None,
        vendor_id=vendor_id,
        device_id=device_id,
        subsystem_vendor_id=subsystem_vendor_id,
        subsystem_device_id=subsystem_device_id,
        address=parse_bdf(found["PCI_SLOT_NAME"][0]) if "PCI_SLOT_NAME" in found else None,
        lines={name: found[key][1] for name, key in _UEVENT_FIELDS.items() if key in found},
    )


_UEVENT_FIELDS = {
    "driver": "DRIVER",
    "pci_class": "PCI_CLASS",
    "vendor_id": "PCI_ID",
    "device_id": "PCI_ID",
    "subsystem_vendor_id": "PCI_SUBSYS_ID",
    "subsystem_device_id": "PCI_SUBSYS_ID",
    "address": "PCI_SLOT_NAME",
}


def _id_pair(found: dict[str, tuple[str, int]], key: str) -> tuple[int | None, int | None]:
    match = _ID_PAIR.match(found[key][0]) if key in found else None
    return (int(match.group(1), 16), int(match.group(2), 16)) if match else (None, None)


def parse_device_path(path: str) -> PciPath:
    """The bridges above a device from its real path under /sys/devices, the root port first.

    Example: /sys/devices/pci0000:00/0000:00:01.1/0000:01:00.0/drm/card0. What follows the last PCI address is ignored.
    """
    root = None
    addresses: list[str] = []
    for component in path[:4096].split("/")[:_MAX_COMPONENTS]:
        match = _ROOT_COMPONENT.match(component)
        if match and root is None:
            root = match.group(1).lower()
        elif _BDF_COMPONENT.match(component) and (address := pci_address(component)):
            addresses.append(address)
    return PciPath(root, tuple(addresses[:-1]))


def is_virtual_bridge(vendor_id: int | None) -> bool | None:
    """True for a bridge that a hypervisor or a cloud provides: its link figures say nothing about lanes."""
    return None if vendor_id is None else vendor_id in _VIRTUAL_VENDORS


def is_emulated_device(vendor_id: int | None) -> bool | None:
    """True for a device of any class that only a virtual machine has.

    Amazon, Google and Microsoft also build real cards, which stand in rented machines without a hypervisor: False.
    """
    return None if vendor_id is None else vendor_id in _VIRTUAL_VENDORS and vendor_id not in _ALSO_REAL_HARDWARE
