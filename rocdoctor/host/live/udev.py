"""What udev keeps of a device node: who may open it, where the device sits, which driver has it.

pyudev asks libudev, which reads /run/udev/data and sysfs. Containers have no such records: there the answer is absent.

pyudev has ctypes look for libudev, which starts ldconfig at each look and, where that finds none, gcc and ld by PATH:
root would run what lies there. So the library is named, and the loader looks for it where it looks for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocdoctor.host.base import Answer

if TYPE_CHECKING:
    from pyudev import Context, Device

# Of some fifty properties those that a check reads; serial numbers and times of the start are not among them.
KEPT = ("CURRENT_TAGS", "DEVNAME", "DRIVER", "ID_PATH", "ID_SEAT", "PCI_SLOT_NAME", "SUBSYSTEM", "TAGS")
_MAX_VALUE = 500
_LIBRARY = "libudev.so.1"


def connection() -> Context:
    """A connection to libudev, for one thread; raises ImportError without pyudev or libudev, OSError where it fails."""
    import ctypes

    try:
        ctypes.CDLL(_LIBRARY)
    except OSError as error:
        raise ImportError(str(error)) from None
    import pyudev
    from pyudev._ctypeslib import utils

    if not hasattr(utils, "find_library"):  # another pyudev, which may start programs in some other place
        raise ImportError("this release of pyudev looks for libudev in an unknown way")
    utils.find_library = lambda _: _LIBRARY
    return pyudev.Context()


def describe(question: str) -> Answer:
    """Answer ``udev PATH``: the records of the node's device and of the PCI device that it belongs to.

    Lines and blank lines are those of ``udevadm info`` (P: path below /sys, E: property).
    """
    try:
        context = connection()
        import pyudev
    except ImportError as error:  # not installed, or a machine without libudev
        return Answer(question, "absent", note=str(error))
    try:
        device = pyudev.Devices.from_device_file(context, question.split(" ", 1)[1])
    except pyudev.DeviceNotFoundError as error:
        return Answer(question, "absent", note=str(error))
    if not device.is_initialized:
        return Answer(question, "absent", note="udev has no record of this device")
    slot = device.find_parent("pci")
    records = ["\n".join(record_lines(one)) for one in (device, slot) if one is not None]
    return Answer(question, "ok", "\n\n".join(records).encode("utf-8", errors="replace"))


def record_lines(device: Device) -> Iterator[str]:
    """The lines of one record."""
    yield f"P: {device.device_path}"
    for name in KEPT:
        value = device.properties.get(name)
        if value and name.endswith("TAGS"):  # libudev tells them in another order each time
            value = f":{':'.join(sorted(tag for tag in value.split(':') if tag))}:"
        if value:
            yield f"E: {name}={' '.join(value.split())[:_MAX_VALUE]}"
