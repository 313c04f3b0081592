"""Class, vendor and device names as lspci prints them, and the ids that stand beside or inside them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from rocdoctor.model.lazy_re import regex

# Class names of pci.ids with their codes: lspci prints the name alone unless -n or -nn is given.
CLASS_CODES = {
    "Non-VGA unclassified device": "0000",
    "SCSI storage controller": "0100",
    "RAID bus controller": "0104",
    "SATA controller": "0106",
    "Serial Attached SCSI controller": "0107",
    "Non-Volatile memory controller": "0108",
    "Mass storage controller": "0180",
    "Ethernet controller": "0200",
    "Infiniband controller": "0207",
    "Fabric controller": "0208",
    "Network controller": "0280",
    "VGA compatible controller": "0300",
    "XGA compatible controller": "0301",
    "3D controller": "0302",
    "Display controller": "0380",
    "Multimedia audio controller": "0401",
    "Audio device": "0403",
    "Host bridge": "0600",
    "ISA bridge": "0601",
    "PCI bridge": "0604",
    "Bridge": "0680",
    "Communication controller": "0780",
    "System peripheral": "0880",
    "IOMMU": "0806",
    "USB controller": "0c03",
    "SMBus": "0c05",
    "Encryption controller": "1080",
    "Processing accelerators": "1200",
    "Non-Essential Instrumentation": "1300",
}

# Vendor names of pci.ids, longest first where one begins another; a name is not split where none of them fits.
VENDOR_IDS = {
    "Advanced Micro Devices, Inc. [AMD/ATI]": "1002",
    "Advanced Micro Devices, Inc. [AMD]": "1022",
    "Advanced Micro Devices [AMD] nee ATI": "1002",
    "Advanced Micro Devices [AMD]": "1022",
    "ATI Technologies Inc": "1002",
    "NVIDIA Corporation": "10de",
    "Intel Corporation": "8086",
    "Mellanox Technologies": "15b3",
    "Broadcom Inc. and subsidiaries": "14e4",
    "Broadcom / LSI": "1000",
    "PLX Technology, Inc.": "10b5",
    "ASPEED Technology, Inc.": "1a03",
    "ASMedia Technology Inc.": "1b21",
    "Matrox Electronics Systems Ltd.": "102b",
    "Red Hat, Inc.": "1af4",
    "Microsoft Corporation": "1414",
    "Amazon.com, Inc.": "1d0f",
    "VMware": "15ad",
    "Xilinx Corporation": "10ee",
    "Pensando Systems": "1dd8",
    "Realtek Semiconductor Co., Ltd.": "10ec",
    "Huawei Technologies Co., Ltd.": "19e5",
    "Habana Labs Ltd.": "1da3",
    "Cray Inc": "17db",
    "IBM": "1014",
    "Hygon": "1d94",
    "Microchip Technology": "1055",
    "Cirrus Logic": "1013",
}
# Names that two vendors share or that pci.ids gives to several ids are only a text.
_TEXT_ONLY = {"Red Hat, Inc.", "Microchip Technology"}

_TRAILER = regex(r"[ \t]\((rev|prog-if|subsys) ([0-9a-fA-F]{2,8})(?: \[[^\]]{0,80}\])?\)")
_ONE_ID = regex(r"\[([0-9a-fA-F]{4})\]\Z")
_NAMELESS = regex(r"(?:^|.*[ \t])Device ([0-9a-fA-F]{4})\Z")
_QUOTED = regex(r'"((?:[^"\\]|\\.)*)(?:"|\\?\Z)|-([rp])([0-9a-fA-F]{2})(?=\s|\Z)')


def without_trailers(values: dict[str, Any], name: str) -> str:
    """The name without "(rev a1) (prog-if 00 [VGA controller])"; the revision goes into ``values``."""
    for trailer in _TRAILER.finditer(name):
        if trailer.group(1) == "rev" and len(trailer.group(2)) == 2:
            values["revision"] = trailer.group(2).lower()
    return _TRAILER.sub("", name).strip()


def set_class(values: dict[str, Any], name: str, code: str | None) -> None:
    """Puts class name and code; the code follows from the name where lspci prints the name alone."""
    if re.match(r"[0-9A-Fa-f]{4}\Z", name):
        values["class_code"] = name.lower()
        return
    values["class_name"] = name.strip()
    values["class_code"] = code.lower() if code else CLASS_CODES.get(name.strip())


def set_name(values: dict[str, Any], name: str) -> None:
    """Puts vendor and device: names, and ids from "[1002:74a1]", from "Device 74a1" or from the vendor's name."""
    ids = re.search(r"\[?\b([0-9a-fA-F]{4}):([0-9a-fA-F]{4})\]?\Z", name)
    if ids:
        values["vendor_id"], values["device_id"] = ids.group(1).lower(), ids.group(2).lower()
        name = name[: ids.start()].strip()
    if not name:
        return
    values["name"] = name
    for vendor, vendor_id in VENDOR_IDS.items():
        if name.startswith(vendor):
            values["vendor_name"] = vendor
            device = name[len(vendor) :].strip()
            values["device_name"] = device if device not in ("", "Device") else None
            if vendor not in _TEXT_ONLY:
                values.setdefault("vendor_id", vendor_id)
            break
    nameless = _NAMELESS.match(name)
    if nameless:
        # A device that the local pci.ids does not know is printed with its id in place of a name.
        values.setdefault("device_id", nameless.group(1).lower())
        values["device_name"] = None


def machine_line(rest: str, values: dict[str, Any]) -> bool:
    """Reads the quoted words of one -mm line; False where it is none."""
    words: list[str] = []
    for match in _QUOTED.finditer(rest):
        if match.group(2):
            if match.group(2) == "r":
                values["revision"] = match.group(3).lower()
        else:
            words.append(match.group(1).replace('\\"', '"').replace("\\\\", "\\"))
    if len(words) < 3:
        return False
    for key, word in zip(("Class", "Vendor", "Device", "SVendor", "SDevice"), words, strict=False):
        machine_value(values, key, word)
    return True


def machine_value(values: dict[str, Any], key: str, word: str) -> None:
    """Puts one field of -mm or -vmm: a name, an id, or a name with its id in brackets."""
    match = _ONE_ID.search(word)
    code = match.group(1).lower() if match else None
    plain = word[: match.start()].strip() if match else word.strip()
    if code is None and re.match(r"[0-9a-fA-F]{4}\Z", plain):
        code, plain = plain.lower(), ""
    if key == "Class":
        set_class(values, plain or code or "", code)
    elif key == "Vendor":
        values["vendor_name"] = plain or None
        values["vendor_id"] = code or (None if plain in _TEXT_ONLY else VENDOR_IDS.get(plain))
    elif key == "Device":
        nameless = _NAMELESS.match(plain)
        values["device_id"] = code or (nameless.group(1).lower() if nameless else None)
        values["device_name"] = None if nameless else plain or None
        names = [name for name in (values.get("vendor_name"), plain) if name]
        values["name"] = " ".join(names) or None
    elif key == "SVendor":
        values["subsystem_vendor_id"] = code or VENDOR_IDS.get(plain)
    elif key == "SDevice":
        nameless = _NAMELESS.match(plain)
        values["subsystem_device_id"] = code or (nameless.group(1).lower() if nameless else None)


def subsystem(text: str, put: Callable[[str, object, int], None], number: int) -> None:
    """Puts the ids of a "Subsystem:" line."""
    ids = re.search(r"\[?\b([0-9a-fA-F]{4}):([0-9a-fA-F]{4})\]?\Z", text)
    if ids:
        put("subsystem_vendor_id", ids.group(1).lower(), number)
        put("subsystem_device_id", ids.group(2).lower(), number)
    else:
        nameless = _NAMELESS.match(text)
        put("subsystem_device_id", nameless.group(1).lower() if nameless else None, number)
        vendor = next((VENDOR_IDS[name] for name in VENDOR_IDS if text.startswith(name)), None)
        put("subsystem_vendor_id", vendor, number)
